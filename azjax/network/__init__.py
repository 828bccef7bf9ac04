"""Networks: their interface, the two-headed one of the configs, and those of Flax modules."""

from azjax.network.flax_network import flax_network as flax_network
from azjax.network.network import Network as Network
from azjax.network.network import Prediction as Prediction
from azjax.network.network import Variables as Variables
from azjax.network.network import count_parameters as count_parameters
from azjax.network.two_headed import make_network as make_network
