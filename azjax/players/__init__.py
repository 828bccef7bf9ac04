"""Players: `player(key, states) -> actions` for a batch of positions."""
