"""Batched tree search: Gumbel and PUCT, and a search that can be stopped at any time."""

from azjax.search.model import (
    Evaluate,
    make_recurrent_fn,
    mask_logits,
    network_evaluate,
    transition,
)
from azjax.search.search import Exploration, Search, SearchResult, search, search_result

__all__ = [
    "Evaluate",
    "Exploration",
    "Search",
    "SearchResult",
    "make_recurrent_fn",
    "mask_logits",
    "network_evaluate",
    "search",
    "search_result",
    "transition",
]
