"""People by name, so that a test reads like a story."""

from argon2 import PasswordHasher

OFFICER = "ana@acme.example"  # Ana, compliance officer, sees all sites.
STAFF = "bruno@acme.example"  # Bruno, shift supervisor.
INSPECTOR = "dana@acme.example"  # Dana, inspector.
ADMIN = "adela@acme.example"  # Adela manages people, sites and settings.
OUTSIDER = "omar@other.example"  # Omar belongs to another organisation.

PASSWORD = "correct horse battery"
# Every sign-in checks it by the real code, with the cost that stands in the hash: not 64 MB for each of 600 tests.
HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
