"""The dedicated process that watches: scan, deliver, heartbeat. Never part of a web process."""
