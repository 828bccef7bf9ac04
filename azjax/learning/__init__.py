"""Losses, the optimizer and one update."""

from azjax.learning.batch import Batch as Batch
from azjax.learning.batch import make_batch as make_batch
from azjax.learning.loss import Loss as Loss
from azjax.learning.loss import alphazero_loss as alphazero_loss
from azjax.learning.state import LearnerState as LearnerState
from azjax.learning.update import Optimizer as Optimizer
from azjax.learning.update import make_optimizer as make_optimizer
from azjax.learning.update import update as update
