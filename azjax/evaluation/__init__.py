"""Measurements of a player's strength: matches, ratings and reports."""
