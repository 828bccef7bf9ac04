from .flax_network import flax_network as flax_network
from .network import Network as Network
from .network import Prediction as Prediction
from .network import Variables as Variables
from .network import count_parameters as count_parameters
from .two_headed import make_network as make_network
