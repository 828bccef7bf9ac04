"""The replay buffer and the targets computed from it."""
