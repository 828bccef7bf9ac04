"""Losses, the optimizer and one update."""
