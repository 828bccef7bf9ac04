"""Programs of others as players, over the protocols that they speak: GTP, UCI and USI."""
