"""The training state, and the cycle and the gate as pure functions of it."""

from azjax.training.opponents import with_opponents as with_opponents
from azjax.training.state import TrainState as TrainState
from azjax.training.trainer import Trainer as Trainer
from azjax.training.trainer import divisible_by_devices as divisible_by_devices
from azjax.training.trainer import make_trainer as make_trainer
