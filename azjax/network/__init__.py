"""The two-headed network: its trunks, its heads, and how it is applied."""

from azjax.network.network import Network, Prediction, Variables, count_parameters, make_network

__all__ = ["Network", "Prediction", "Variables", "count_parameters", "make_network"]
