"""Exact values: the solver, tables of endgames, and published values."""
