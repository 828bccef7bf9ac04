"""A player as a UCI or USI engine."""
