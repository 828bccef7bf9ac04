"""A run on this machine: the host loop around the cycle, from the first state to the last plot."""
