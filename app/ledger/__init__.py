"""The ledger: the only writer of claims, deliveries, answers and watermarks, in a dozen set-based statements."""
