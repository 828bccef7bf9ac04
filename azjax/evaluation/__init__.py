"""Matches, ratings and reports: how strong a player is."""
