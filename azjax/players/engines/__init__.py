"""External engines as players, over their protocols: GTP, UCI and USI."""
