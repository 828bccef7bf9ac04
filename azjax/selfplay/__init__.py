"""Self-play: openings, the games in progress, resignation."""
