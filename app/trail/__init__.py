"""The trail: append-only evidence of what happened, when, and through whom."""
