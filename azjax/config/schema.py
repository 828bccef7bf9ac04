"""Every setting of a run, as frozen dataclasses: one section for each table of the TOML file.

Values are checked when a dataclass is made, so a config that exists is a config that can run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from azjax.config.checks import above, at_least, between
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
    convolutions: int = 0
    """3x3 convolutions before the dense layers of the MLP. Unused by the tower of blocks."""
    filters: int = 32
    """Filters of each of these."""
    block: Literal["basic", "bottleneck"] = "basic"
    """Two 3x3 convolutions (the paper's), or the same two on half of the channels between two 1x1
    ones: a third of the work (He et al. 2016; KataGo). Unused by the MLP."""
    pooling_every: int = 0
    """Every n-th block tells each cell the mean and the maximum over the whole board (global
    pooling, Wu 2019); 0: none does. Unused by the MLP."""
    towers: Literal["shared", "separate"] = "shared"
    """One tower under both heads (AlphaGo Zero's dual network), or one for each."""
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
    auxiliary: tuple[Literal["score", "ownership"], ...] = ()
    """More to predict, from which the tower learns faster (Wu 2019): the final margin as a share
    of all points, the final owner of each cell. For games that have these."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the tower's arithmetic; of an MLP, of its dense layers' products. Parameters are
    float32 always."""

    def __post_init__(self) -> None:
        at_least(self, 1, "blocks", "channels", "policy_channels", "value_channels")
        at_least(self, 1, "value_hidden", "filters")
        at_least(self, 0, "pooling_every", "convolutions")
        if len(set(self.auxiliary)) < len(self.auxiliary):
            raise UserError(f"network.auxiliary = {list(self.auxiliary)}: each once is wanted")
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
    start_simulations: int = 0
    """Training begins with so many simulations and doubles them, at even intervals over the run,
    up to `num_simulations`; 0: `num_simulations` from the start."""
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
    dirichlet_total: float = 10.0
    """PUCT: the noise's alpha, times the legal moves of the position (AlphaZero's 0.3 for chess,
    0.15 for shogi, 0.03 for go are each about 10 / legal moves)."""
    root_temperature: float = 1.0
    """PUCT: temperature of the root's prior in self-play, prior ** (1 / temperature), which keeps
    it from growing sharper for ever (KataGo: 1.1)."""
    forced_playouts: float = 0.0
    """PUCT: in self-play, each move of the root that is tried at all is tried at least
    sqrt(this * prior * simulations) times, and the policy to learn is pruned of tries that its
    value does not justify (Wu 2019: 2); 0: neither."""

    def __post_init__(self) -> None:
        at_least(self, 1, "num_simulations", "max_considered_actions")
        at_least(self, 0, "start_simulations")
        at_least(self, 0.0, "forced_playouts")
        between(self, 0.0, 1.0, "dirichlet_fraction")
        above(self, 0.0, "dirichlet_total", "pb_c_init", "pb_c_base", "value_scale")
        above(self, 0.0, "root_temperature")
        if self.start_simulations > self.num_simulations:
            raise UserError(
                f"search.start_simulations = {self.start_simulations}: at most num_simulations = "
                f"{self.num_simulations} wanted"
            )


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games are played for training."""

    games: int = 256
    """Games in progress at once, over all devices."""
    plies_per_cycle: int = 16
    """Plies that each game advances in one cycle."""
    opening_plies: int = 0
    """Most uniformly random plies that a game opens with; each game draws its own number."""
    openings: str = ""
    """A file of starting positions, one a line: the moves that lead there, in the game's notation,
    with spaces between. Each game begins at one of them, drawn uniformly; random plies follow.
    "": at the game's own start. The run keeps a copy, `openings.txt`, and is
    resumed with that."""
    exploration_plies: int = 12
    """Plies of a game, its opening included, with a sampled move (PUCT: by visits; Gumbel: with
    Gumbel noise)."""
    temperature: float = 1.0
    """PUCT: temperature of the sampled moves, visits ** (1 / temperature)."""
    final_temperature: float = 0.0
    """PUCT: temperature of all later moves; 0: the most visited move (AlphaGo Zero)."""
    full_searches: float = 1.0
    """Share of the plies that are searched with all simulations; the others are played after a
    fast search, and nothing is learnt from them but how the game went on (playout cap
    randomisation, Wu 2019: 0.25)."""
    fast_simulations: int = 8
    """Simulations of a fast search. It is without noise."""
    resign_error: float = 0.0
    """A player resigns whose value is so low that of those who played on from there at most this
    share did not lose (AlphaGo Zero: 0.05); 0: nobody resigns."""
    resign_played_out: float = 0.1
    """Share of the games that are played to the end whatever the values, to learn how low that is
    (AlphaGo Zero: 0.1)."""
    parameters: Literal["newest", "gated"] = "newest"
    """Who plays: the newest parameters (AlphaZero) or those that won the last gate."""

    def __post_init__(self) -> None:
        at_least(self, 1, "games", "plies_per_cycle")
        at_least(self, 1, "fast_simulations")
        at_least(self, 0, "exploration_plies", "opening_plies")
        at_least(self, 0.0, "final_temperature")
        above(self, 0.0, "temperature", "full_searches", "resign_played_out")
        between(self, 0.0, 1.0, "full_searches", "resign_error", "resign_played_out")
        if round(self.full_searches * self.plies_per_cycle) < 1:
            raise UserError(
                f"selfplay.full_searches = {self.full_searches}: of plies_per_cycle = "
                f"{self.plies_per_cycle} one at least must be searched in full; "
                f"{1 / self.plies_per_cycle:.3g} would do"
            )


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
        at_least(self, 1, "every")
        at_least(self, 2, "games")
        # Neither network draws lots: without random plies all games are one.
        at_least(self, 1, "opening_plies")
        between(self, 0.0, 1.0, "threshold")


@dataclass(frozen=True)
class ReplayConfig:
    """The window of positions that batches are drawn from."""

    plies: int = 256
    """Plies kept of each lane of games; a multiple of `selfplay.plies_per_cycle`."""
    games: int = 0
    """Of these, only positions of the newest games are learnt from, this many over all devices
    (AlphaGo Zero: 500,000); 0: all that is kept."""
    min_positions: int = 4096
    """Positions of finished games, over all devices, before the first update."""
    reanalysed: int = 0
    """Positions of the window that are searched afresh in each cycle, over all devices, by the
    network that plays; what is found takes the place of what was (Schrittwieser et al. 2021)."""

    def __post_init__(self) -> None:
        at_least(self, 1, "plies", "min_positions")
        at_least(self, 0, "games", "reanalysed")


@dataclass(frozen=True)
class LearningConfig:
    """AlphaZero's loss and its optimizer."""

    batch_size: int = 256
    """Positions of one update, over all devices."""
    updates_per_cycle: int = 8
    """Gradient steps of one cycle."""
    optimizer: Literal["adamw", "sgd", "muon"] = "adamw"
    """AdamW; SGD with momentum (AlphaZero); or Muon for the weights of layers, in steps as large as
    AdamW's, and AdamW for the rest (Jordan et al. 2024, scaled as Liu et al. 2025)."""
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
    """AdamW and Muon: decoupled weight decay (Loshchilov and Hutter 2019)."""
    value_weight: float = 1.0
    """Weight of the value error in the loss (AlphaZero: 1)."""
    score_weight: float = 0.5
    """Weight of the squared error of the final margin, where `network.auxiliary` has it."""
    ownership_weight: float = 0.5
    """Weight of the owners' error, mean over the cells, where `network.auxiliary` has it."""
    root_value_weight: float = 0.0
    """Share of the search's value of a position in the value to learn; the rest is what followed
    (0: AlphaZero)."""
    td_lambda: float = 1.0
    """What followed: 1 the game's result, 0 the search's value one ply later, between them
    TD(lambda), Sutton 1988."""
    average: float = 0.0
    """Decay of an exponential moving average of the parameters, for each update; where above 0,
    the average plays: in self-play, evaluations and checkpoints (Izmailov et al. 2018)."""
    clip_norm: float = 10.0
    """Largest global norm of a gradient."""
    symmetries: bool = True
    """Show each position under a random symmetry of the game."""

    def __post_init__(self) -> None:
        at_least(self, 1, "batch_size", "updates_per_cycle")
        at_least(self, 0, "warmup_updates")
        at_least(self, 0.0, "l2", "weight_decay", "value_weight")
        at_least(self, 0.0, "score_weight", "ownership_weight")
        above(self, 0.0, "learning_rate", "clip_norm")
        between(self, 0.0, 1.0, "final_fraction", "momentum", "td_lambda")
        between(self, 0.0, 1.0, "root_value_weight")
        if not 0.0 <= self.average < 1.0:
            raise UserError(f"learning.average = {self.average}: from 0 to below 1 wanted")
        if list(self.drops) != sorted({*self.drops}) or any(not 0 < d < 1 for d in self.drops):
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
