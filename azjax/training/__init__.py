"""The training state, and the cycle and the gate as pure functions of it."""
