"""Engines: a search of one position that keeps a clock, and the protocols GTP, UCI and USI."""
