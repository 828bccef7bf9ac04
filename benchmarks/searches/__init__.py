"""Searches that benchmarks compare with that of azjax."""
