"""Networks: their interface, the two-headed one of the configs, and those of Flax modules."""

from typing import TYPE_CHECKING

from azjax import lazy_names

if TYPE_CHECKING:
    from azjax.network.flax_network import flax_network as flax_network
    from azjax.network.network import Network as Network
    from azjax.network.network import Prediction as Prediction
    from azjax.network.network import Variables as Variables
    from azjax.network.network import count_parameters as count_parameters
    from azjax.network.two_headed import make_network as make_network

__getattr__, __dir__ = lazy_names(__name__, __file__)
__all__ = __dir__()
