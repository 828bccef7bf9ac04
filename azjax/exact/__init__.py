"""Exact values: the solver, endgame tables, published values."""
