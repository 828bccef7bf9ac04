"""Networks: their interface, the two-headed one of the configs, and those of Flax modules."""

from azjax.network.flax_network import flax_network
from azjax.network.network import Network, Prediction, Variables, count_parameters
from azjax.network.two_headed import make_network

__all__ = [
    "Network",
    "Prediction",
    "Variables",
    "count_parameters",
    "flax_network",
    "make_network",
]
