"""Batched tree search: Gumbel and PUCT, and a search that can be stopped at any time."""
