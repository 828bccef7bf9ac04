"""A whole run: its game, its parts, and what is measured and kept on the way."""

from __future__ import annotations

from dataclasses import dataclass, field

from azjax.config.checks import at_least
from azjax.config.learning import LearningConfig
from azjax.config.network import NetworkConfig
from azjax.config.search import SearchConfig
from azjax.config.selfplay import GateConfig, ReplayConfig, SelfPlayConfig
from azjax.errors import UserError

Option = bool | int | float | str


@dataclass(frozen=True)
class EvaluationConfig:
    """What is measured while the run goes on."""

    every: int = 50
    """Cycles between two evaluations; 0 for none."""
    games: int = 64
    """Paired games against each opponent."""
    opponents: tuple[str, ...] = ("random",)
    """Players to meet, as `azjax eval --against` names them."""
    num_simulations: int = 32
    """Simulations of the trained player, without noise."""
    opening_plies: int = 2
    """Random plies before the players start, the same for both games of a pair."""
    report: bool = False
    """Also count mistakes with the game's exact ruler, where it has one."""

    def __post_init__(self) -> None:
        at_least(self, 0, "every", "opening_plies")
        at_least(self, 2, "games")
        at_least(self, 1, "num_simulations")


@dataclass(frozen=True)
class CheckpointConfig:
    """When the whole training state is saved."""

    every: int = 50
    """Cycles between two checkpoints; the last cycle is always saved."""
    keep: int = 3
    """Newest checkpoints kept, besides the one that evaluated best."""

    def __post_init__(self) -> None:
        at_least(self, 1, "every", "keep")


@dataclass(frozen=True)
class GameConfig:
    """The game: its name for `azjax_envs.make`, and that game's own options."""

    name: str = "tic_tac_toe"
    options: tuple[tuple[str, Option], ...] = ()


@dataclass(frozen=True)
class Config:
    """One training run."""

    game: GameConfig = field(default_factory=GameConfig)
    seed: int = 0
    """Seed of every random choice."""
    cycles: int = 400
    """Cycles of the run: self-play, then updates."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    def __post_init__(self) -> None:
        at_least(self, 1, "cycles")
        if self.replay.plies % self.selfplay.plies_per_cycle:
            raise UserError(
                f"replay.plies = {self.replay.plies}: a multiple of selfplay.plies_per_cycle = "
                f"{self.selfplay.plies_per_cycle} is wanted"
            )
        if self.gate.games % 2 or self.evaluation.games % 2:
            raise UserError(
                "gate.games and evaluation.games: even numbers are wanted, one game from each seat"
            )
        room = self.replay.plies * self.selfplay.games
        if self.replay.min_positions > room // 2:
            raise UserError(
                f"replay.min_positions = {self.replay.min_positions}: at most half of the "
                f"{room} positions that replay.plies x selfplay.games hold is wanted"
            )
