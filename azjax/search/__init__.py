"""Batched tree search: Gumbel and PUCT, and a search that can be stopped at any time."""

from azjax.search.model import Evaluate, mask_logits, network_evaluate, transition
from azjax.search.search import Exploration, SearchResult, search

__all__ = [
    "Evaluate",
    "Exploration",
    "SearchResult",
    "mask_logits",
    "network_evaluate",
    "search",
    "transition",
]
