"""azjax: a JAX-native, functional AlphaZero.

This is the table of contents. The names are imported when they are first used, so that importing
the package stays cheap; type checkers and editors see all of them.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azjax import search as search
    from azjax.analysis.analyse import analyse as analyse
    from azjax.analysis.game_analysis import GameAnalysis as GameAnalysis
    from azjax.config import CheckpointConfig as CheckpointConfig
    from azjax.config import Config as Config
    from azjax.config import EvaluationConfig as EvaluationConfig
    from azjax.config import GameConfig as GameConfig
    from azjax.config import GateConfig as GateConfig
    from azjax.config import GumbelConfig as GumbelConfig
    from azjax.config import LearningConfig as LearningConfig
    from azjax.config import NetworkConfig as NetworkConfig
    from azjax.config import PUCTConfig as PUCTConfig
    from azjax.config import ReplayConfig as ReplayConfig
    from azjax.config import SearchConfig as SearchConfig
    from azjax.config import SelfPlayConfig as SelfPlayConfig
    from azjax.config.toml import load_config as load_config
    from azjax.errors import UserError as UserError
    from azjax.evaluation.match import MatchResult as MatchResult
    from azjax.evaluation.match import play_match as play_match
    from azjax.evaluation.rating import Rating as Rating
    from azjax.evaluation.report import Report as Report
    from azjax.evaluation.report import report as report
    from azjax.exact.solver import Solution as Solution
    from azjax.exact.solver import solve as solve
    from azjax.learning.batch import Batch as Batch
    from azjax.learning.loss import Loss as Loss
    from azjax.learning.loss import alphazero_loss as alphazero_loss
    from azjax.network.flax_network import flax_network as flax_network
    from azjax.network.network import Network as Network
    from azjax.network.network import Prediction as Prediction
    from azjax.onnx_export.network import export_onnx as export_onnx
    from azjax.players.base import Player as Player
    from azjax.players.base import act as act
    from azjax.players.load import load_player as load_player
    from azjax.players.network_players import SearchPlayer as SearchPlayer
    from azjax.players.uct import UCTPlayer as UCTPlayer
    from azjax.players.weights_file import save_player as save_player
    from azjax.runs.loggers import Logger as Logger
    from azjax.runs.metrics import read_metrics as read_metrics
    from azjax.runs.progress import Progress as Progress
    from azjax.sharding import make_mesh as make_mesh
    from azjax.training.loop import resume as resume
    from azjax.training.loop import train as train
    from azjax.training.state import TrainState as TrainState
    from azjax.training.trainer import Trainer as Trainer
    from azjax.training.trainer import make_trainer as make_trainer

    __version__: str

_HOMES = {
    "Batch": "learning.batch",
    "CheckpointConfig": "config",
    "Config": "config",
    "EvaluationConfig": "config",
    "GameAnalysis": "analysis.game_analysis",
    "GameConfig": "config",
    "GateConfig": "config",
    "GumbelConfig": "config",
    "LearningConfig": "config",
    "Logger": "runs.loggers",
    "Loss": "learning.loss",
    "MatchResult": "evaluation.match",
    "Network": "network.network",
    "NetworkConfig": "config",
    "PUCTConfig": "config",
    "Player": "players.base",
    "Prediction": "network.network",
    "Progress": "runs.progress",
    "Rating": "evaluation.rating",
    "ReplayConfig": "config",
    "Report": "evaluation.report",
    "SearchConfig": "config",
    "SearchPlayer": "players.network_players",
    "SelfPlayConfig": "config",
    "Solution": "exact.solver",
    "TrainState": "training.state",
    "Trainer": "training.trainer",
    "UCTPlayer": "players.uct",
    "UserError": "errors",
    "act": "players.base",
    "analyse": "analysis.analyse",
    "alphazero_loss": "learning.loss",
    "export_onnx": "onnx_export.network",
    "flax_network": "network.flax_network",
    "load_config": "config.toml",
    "load_player": "players.load",
    "make_mesh": "sharding",
    "make_trainer": "training.trainer",
    "play_match": "evaluation.match",
    "read_metrics": "runs.metrics",
    "report": "evaluation.report",
    "resume": "training.loop",
    "save_player": "players.weights_file",
    "solve": "exact.solver",
    "train": "training.loop",
}
__all__ = sorted([*_HOMES, "__version__", "search"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("azjax")
    if name == "search":
        return importlib.import_module("azjax.search")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
