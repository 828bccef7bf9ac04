"""Everything that decides a run, as frozen dataclasses.

Values are checked when a dataclass is made, so a config that exists is a config that can run.
"""

from azjax.config.learning import LearningConfig
from azjax.config.network import NetworkConfig
from azjax.config.run import CheckpointConfig, Config, EvaluationConfig, GameConfig, Option
from azjax.config.search import SearchConfig
from azjax.config.selfplay import GateConfig, ReplayConfig, SelfPlayConfig

__all__ = [
    "CheckpointConfig",
    "Config",
    "EvaluationConfig",
    "GameConfig",
    "GateConfig",
    "LearningConfig",
    "NetworkConfig",
    "Option",
    "ReplayConfig",
    "SearchConfig",
    "SelfPlayConfig",
]
