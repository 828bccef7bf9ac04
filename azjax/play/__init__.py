"""Ways to play against a player."""
