"""The replay buffer: what it keeps, the targets computed from it, and the examples drawn."""

from azjax.network.results import expected_result as expected_result
from azjax.replay.auxiliary import final_points as final_points
from azjax.replay.buffer import BeforeDice as BeforeDice
from azjax.replay.buffer import Replay as Replay
from azjax.replay.buffer import TopPolicy as TopPolicy
from azjax.replay.buffer import Transition as Transition
from azjax.replay.buffer import add as add
from azjax.replay.buffer import init as init
from azjax.replay.buffer import pack_actions as pack_actions
from azjax.replay.buffer import pack_policy as pack_policy
from azjax.replay.custom_targets import RunTargets as RunTargets
from azjax.replay.custom_targets import TargetFunction as TargetFunction
from azjax.replay.ring import ReplayBuffer as ReplayBuffer
from azjax.replay.ring import Ring as Ring
from azjax.replay.sampling import Sample as Sample
from azjax.replay.sampling import examples_at as examples_at
from azjax.replay.sampling import sample as sample
from azjax.replay.targets import Targets as Targets
from azjax.replay.targets import project as project
from azjax.replay.targets import value_targets as value_targets
