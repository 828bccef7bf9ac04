"""azjax: a JAX-native, functional AlphaZero.

This is the table of contents. The names are imported when they are first used, so that importing
the package stays cheap; type checkers and editors see all of them.
"""

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
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
    from azjax.files.played_game import PlayedGame as PlayedGame
    from azjax.files.read import read_games as read_games
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
    from azjax.runs.wandb_logger import WandbLogger as WandbLogger
    from azjax.sharding import make_mesh as make_mesh
    from azjax.training.loop import resume as resume
    from azjax.training.loop import train as train
    from azjax.training.state import TrainState as TrainState
    from azjax.training.trainer import Trainer as Trainer
    from azjax.training.trainer import make_trainer as make_trainer

    __version__: str


def lazy_names(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` of a package, whose source lists its names once.

    The lines under `if TYPE_CHECKING:`, which type checkers and editors read, are read here, too.
    """
    homes: dict[str, str] = {}
    for block in ast.parse(Path(file).read_text(encoding="utf-8")).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom):
                    homes |= {alias.name: str(line.module) for alias in line.names}
                else:
                    homes["__version__"] = "importlib.metadata"

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name == "__version__":
            return importlib.import_module(homes[name]).version(package)
        if homes[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(homes[name]), name)

    return get, lambda: sorted(homes)


__getattr__, __dir__ = lazy_names(__name__, __file__)
__all__ = __dir__()
