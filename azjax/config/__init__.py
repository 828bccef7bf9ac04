"""Everything that decides a run: the sections, their checks, and TOML files."""

from azjax.config.schema import (
    CheckpointConfig,
    Config,
    EvaluationConfig,
    GameConfig,
    GateConfig,
    GumbelConfig,
    LearningConfig,
    NetworkConfig,
    Option,
    PUCTConfig,
    ReplayConfig,
    SearchConfig,
    SelfPlayConfig,
)
from azjax.config.toml import config_from_dict, config_to_dict, load_config, save_config

__all__ = [
    "CheckpointConfig",
    "Config",
    "EvaluationConfig",
    "GameConfig",
    "GateConfig",
    "GumbelConfig",
    "LearningConfig",
    "NetworkConfig",
    "Option",
    "PUCTConfig",
    "ReplayConfig",
    "SearchConfig",
    "SelfPlayConfig",
    "config_from_dict",
    "config_to_dict",
    "load_config",
    "save_config",
]
