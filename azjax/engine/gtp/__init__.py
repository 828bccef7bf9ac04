"""A player as a GTP engine."""
