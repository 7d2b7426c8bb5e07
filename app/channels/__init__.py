"""The ways by which a message leaves: composing, handing over, and reading what comes back. Never the database."""
