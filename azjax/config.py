"""Everything that decides a run, as frozen dataclasses.

Values are checked when a dataclass is made, so a config that exists is a config that can run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from azjax.errors import UserError

Option = bool | int | float | str


@dataclass(frozen=True)
class NetworkConfig:
    """The two-headed tower (AlphaGo Zero, Silver et al. 2017, Methods)."""

    kind: Literal["resnet", "mlp"] = "resnet"
    """Residual convolution tower, or a dense tower for tiny boards."""
    blocks: int = 6
    """Residual blocks; dense layers of the MLP."""
    channels: int = 64
    """Filters of every convolution; units of every dense layer of the MLP."""
    norm: Literal["batch", "layer", "none"] = "batch"
    """Normalisation after each convolution (batch: the paper's)."""
    policy_head: Literal["dense", "planes"] = "dense"
    """A dense layer over all cells (AlphaGo Zero), or planes of moves (AlphaZero's for chess):
    `channels` filters of a 3x3 convolution, then of each cell the logits of its own actions.
    Wants actions numbered cell * planes + plane."""
    policy_channels: int = 2
    """Dense policy head: filters of its 1x1 convolution (paper: 2). Unused by the MLP."""
    value_channels: int = 1
    """Filters of the value head's convolution, which is the policy head's, 1x1 or 3x3 (paper: 1).
    Unused by the MLP."""
    value_hidden: int = 256
    """Units of the value head's hidden layer (paper: 256)."""
    value_head: Literal["tanh", "wdl"] = "tanh"
    """A scalar in [-1, 1], or the probabilities of win, draw and loss."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the tower's arithmetic. Parameters are float32 always."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "blocks", "channels", "policy_channels", "value_channels")
        _at_least(self, 1, "value_hidden")
        if self.kind == "mlp" and self.policy_head == "planes":
            raise UserError(
                'network.policy_head = "planes": a tower of convolutions is wanted, '
                'network.kind = "resnet", or network.policy_head = "dense"'
            )


@dataclass(frozen=True)
class SearchConfig:
    """Monte Carlo tree search through mctx."""

    algorithm: Literal["gumbel", "puct"] = "gumbel"
    """Gumbel AlphaZero (Danihelka et al. 2022), or AlphaZero's PUCT."""
    num_simulations: int = 32
    """Simulations for one move: evaluations of the network besides the root's."""
    max_considered_actions: int = 16
    """Gumbel: actions sampled at the root for sequential halving (paper: 16)."""
    value_scale: float = 0.1
    """Gumbel: c_scale, how strongly values move the policy (mctx: 0.1)."""
    rescale_values: bool = True
    """Gumbel: stretch the values of a position's moves to [0, 1] first (mctx: yes)."""
    pb_c_init: float = 1.25
    """PUCT: exploration constant c1 (AlphaZero, MuZero appendix B)."""
    pb_c_base: float = 19652.0
    """PUCT: growth constant c2 (AlphaZero, MuZero appendix B)."""
    dirichlet_fraction: float = 0.25
    """PUCT: share of the noise in the root's prior during self-play (AlphaZero: 0.25)."""
    dirichlet_alpha: float = 1.0
    """PUCT: concentration of the noise, about 10 / legal moves (chess 0.3, go 0.03)."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "num_simulations", "max_considered_actions")
        _between(self, 0.0, 1.0, "dirichlet_fraction")
        _above(self, 0.0, "dirichlet_alpha", "pb_c_init", "pb_c_base", "value_scale")


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games are played for training."""

    games: int = 256
    """Games in progress at once, over all devices."""
    plies_per_cycle: int = 16
    """Plies that each game advances in one cycle."""
    opening_plies: int = 0
    """Most uniformly random plies that a game opens with; each game draws its own number."""
    exploration_plies: int = 12
    """Plies of a game with a sampled move (PUCT: by visits; Gumbel: with Gumbel noise)."""
    temperature: float = 1.0
    """PUCT: temperature of the sampled moves, visits ** (1 / temperature)."""
    parameters: Literal["newest", "gated"] = "newest"
    """Who plays: the newest parameters (AlphaZero) or those that won the last gate."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "games", "plies_per_cycle")
        _at_least(self, 0, "exploration_plies", "opening_plies")
        _above(self, 0.0, "temperature")


@dataclass(frozen=True)
class GateConfig:
    """AlphaGo Zero's evaluator; used where `selfplay.parameters = "gated"`."""

    every: int = 10
    """Cycles between two gates."""
    games: int = 64
    """Games of a gate, half from each seat, over all devices."""
    threshold: float = 0.55
    """Score from which the newest parameters take over self-play (paper: 0.55)."""
    opening_plies: int = 2
    """Random plies before the players start, the same for both games of a pair."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "every")
        _at_least(self, 2, "games")
        _at_least(self, 0, "opening_plies")
        _between(self, 0.0, 1.0, "threshold")


@dataclass(frozen=True)
class ReplayConfig:
    """The window of positions that batches are drawn from."""

    plies: int = 256
    """Plies kept of each lane of games; a multiple of `selfplay.plies_per_cycle`."""
    min_positions: int = 4096
    """Positions of finished games, over all devices, before the first update."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "plies", "min_positions")


@dataclass(frozen=True)
class LearningConfig:
    """AlphaZero's loss and its optimizer."""

    batch_size: int = 256
    """Positions of one update, over all devices."""
    updates_per_cycle: int = 8
    """Gradient steps of one cycle."""
    optimizer: Literal["adamw", "sgd"] = "adamw"
    """AdamW, or SGD with momentum (AlphaZero)."""
    learning_rate: float = 1e-3
    """Peak learning rate."""
    schedule: Literal["constant", "cosine", "step"] = "cosine"
    """After the warm-up: constant, cosine to `final_fraction`, or drops by 10 at `drops`."""
    warmup_updates: int = 100
    """Updates of the linear warm-up from zero."""
    final_fraction: float = 0.05
    """Cosine: last learning rate as a share of the peak."""
    drops: tuple[float, ...] = (0.5, 0.75)
    """Step: shares of the run after which the learning rate falls to a tenth."""
    momentum: float = 0.9
    """SGD: momentum (AlphaZero: 0.9)."""
    l2: float = 0.0
    """Weight of the squared parameters in the loss (AlphaZero: 1e-4)."""
    weight_decay: float = 1e-4
    """AdamW: decoupled weight decay (Loshchilov and Hutter 2019)."""
    value_weight: float = 1.0
    """Weight of the value error in the loss (AlphaZero: 1)."""
    clip_norm: float = 10.0
    """Largest global norm of a gradient."""
    symmetries: bool = True
    """Show each position under a random symmetry of the game."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "batch_size", "updates_per_cycle")
        _at_least(self, 0, "warmup_updates")
        _at_least(self, 0.0, "l2", "weight_decay", "value_weight")
        _above(self, 0.0, "learning_rate", "clip_norm")
        _between(self, 0.0, 1.0, "final_fraction", "momentum")
        if list(self.drops) != sorted(self.drops) or any(not 0 < d < 1 for d in self.drops):
            raise UserError(
                f"learning.drops = {list(self.drops)}: rising numbers between 0 and 1 are wanted"
            )


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
        _at_least(self, 0, "every", "opening_plies")
        _at_least(self, 2, "games")
        _at_least(self, 1, "num_simulations")


@dataclass(frozen=True)
class CheckpointConfig:
    """When the whole training state is saved."""

    every: int = 50
    """Cycles between two checkpoints; the last cycle is always saved."""
    keep: int = 3
    """Newest checkpoints kept, besides the one that evaluated best."""

    def __post_init__(self) -> None:
        _at_least(self, 1, "every", "keep")


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
        _at_least(self, 1, "cycles")
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


def _name(config: Any, key: str) -> str:
    section = type(config).__name__.removesuffix("Config").lower()
    return f"{section}.{key}" if section else key


def _at_least(config: Any, low: float, *keys: str) -> None:
    for key in keys:
        if not getattr(config, key) >= low:
            raise UserError(f"{_name(config, key)} = {getattr(config, key)}: at least {low} wanted")


def _above(config: Any, low: float, *keys: str) -> None:
    for key in keys:
        if not getattr(config, key) > low:
            raise UserError(f"{_name(config, key)} = {getattr(config, key)}: above {low} wanted")


def _between(config: Any, low: float, high: float, *keys: str) -> None:
    for key in keys:
        if not low <= getattr(config, key) <= high:
            raise UserError(
                f"{_name(config, key)} = {getattr(config, key)}: from {low} to {high} wanted"
            )
