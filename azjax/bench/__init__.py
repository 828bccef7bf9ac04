"""Benchmarks: games, search and training."""
