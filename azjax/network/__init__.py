"""The network: trunks, heads and how they are applied."""
