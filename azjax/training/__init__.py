"""The training state, the cycle, and the loop that runs it."""
