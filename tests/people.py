"""People by name, so that a test reads like a story."""

OFFICER = "ana@acme.example"  # Ana, compliance officer, sees all sites.
STAFF = "bruno@acme.example"  # Bruno, shift supervisor.
INSPECTOR = "dana@acme.example"  # Dana, inspector.
OUTSIDER = "omar@other.example"  # Omar belongs to another organisation.
