"""Checks of a game against the contract."""
