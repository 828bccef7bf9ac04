"""Batched tree search: Gumbel and PUCT, and a search that can be stopped at any time."""

from azjax.search.model import Evaluate as Evaluate
from azjax.search.model import make_recurrent_fn as make_recurrent_fn
from azjax.search.model import mask_logits as mask_logits
from azjax.search.model import network_evaluate as network_evaluate
from azjax.search.model import transition as transition
from azjax.search.search import Exploration as Exploration
from azjax.search.search import Search as Search
from azjax.search.search import SearchResult as SearchResult
from azjax.search.search import TreeNodes as TreeNodes
from azjax.search.search import search as search
from azjax.search.search import search_result as search_result
from azjax.search.search import search_with_tree as search_with_tree
