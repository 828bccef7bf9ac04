"""Everything that decides a run: the sections, their checks, and TOML files."""

from azjax.config.checks import MOST_FLOAT as MOST_FLOAT
from azjax.config.custom_parts import report_command as report_command
from azjax.config.custom_parts import resume_command as resume_command
from azjax.config.custom_parts import with_given as with_given
from azjax.config.schema import MAX_SEED as MAX_SEED
from azjax.config.schema import CheckpointConfig as CheckpointConfig
from azjax.config.schema import Config as Config
from azjax.config.schema import EvaluationConfig as EvaluationConfig
from azjax.config.schema import GameConfig as GameConfig
from azjax.config.schema import GateConfig as GateConfig
from azjax.config.schema import GumbelConfig as GumbelConfig
from azjax.config.schema import LeagueConfig as LeagueConfig
from azjax.config.schema import LearningConfig as LearningConfig
from azjax.config.schema import NetworkConfig as NetworkConfig
from azjax.config.schema import Option as Option
from azjax.config.schema import PlayerConfig as PlayerConfig
from azjax.config.schema import PUCTConfig as PUCTConfig
from azjax.config.schema import ReplayConfig as ReplayConfig
from azjax.config.schema import SearchConfig as SearchConfig
from azjax.config.schema import SelfPlayConfig as SelfPlayConfig
from azjax.config.toml import config_from_dict as config_from_dict
from azjax.config.toml import config_to_dict as config_to_dict
from azjax.config.toml import load_config as load_config
from azjax.config.toml import player_from_dict as player_from_dict
from azjax.config.toml import save_config as save_config
from azjax.config.toml import shipped_configs as shipped_configs
