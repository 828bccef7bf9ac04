"""The training state, the cycle and the loop around it."""
