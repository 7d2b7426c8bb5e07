"""Benchmarks: ratios measured side by side in one run (`make bench`). Not part of `make test`, and no test of time."""
