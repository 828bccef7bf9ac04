"""Every setting of a run, as frozen dataclasses: one section for each table of the TOML file.

A dataclass checks its values when it is made, so that every config object can run.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from azjax.config.checks import Range, check_ranges
from azjax.errors import UserError

MAX_SEED = 2**32 - 1
Option = bool | int | float | str
Options = tuple[tuple[str, Option], ...]
"""The options of a game, or of a part of the user's own, by name: a table of the TOML file."""

Positive = Annotated[int, Range(1)]
Natural = Annotated[int, Range(0)]
Pairs = Annotated[int, Range(2)]
Share = Annotated[float, Range(0.0, 1.0)]
Amount = Annotated[float, Range(0.0)]
Scale = Annotated[float, Range(0.0, above=True)]


@dataclass(frozen=True)
class NetworkConfig:
    """The two-headed network (AlphaGo Zero, Silver et al. 2017, Methods)."""

    module: str = ""
    """A network of your own, "module:Name", in place of all that follows: a Flax module, or a
    function that returns an `azjax.Network`. It is called with the game and the options."""
    options: Options = ()
    """Options of your own network."""
    architecture: Literal["resnet", "mlp"] = "resnet"
    """A residual tower of convolutions, or dense layers for small boards."""
    blocks: Positive = 6
    """Residual blocks; dense layers of the MLP."""
    channels: Positive = 64
    """Filters of every convolution; units of every dense layer of the MLP."""
    convolutions: Natural = 0
    """3x3 convolutions before the dense layers of the MLP. Not used by the residual tower."""
    filters: Positive = 32
    """Filters of each of these convolutions."""
    residual: bool = False
    """Dense layers of the MLP after the first add their output to their input, so that many of them
    learn (He et al. 2016). Blocks of the residual tower always do."""
    pooling_every: Natural = 0
    """Every n-th block gives each cell the mean and the maximum over the whole board (global
    pooling, Wu 2019); 0: no block does. Not used by the MLP."""
    norm: Literal["batch", "layer", "none"] = "batch"
    """Normalisation after each convolution (paper: batch)."""
    policy_head: Literal["dense", "planes"] = "dense"
    """Dense: one layer over all cells (AlphaGo Zero). Planes: a 3x3 convolution with `channels`
    filters, then the logits of each cell's own actions (AlphaZero's for chess). Planes need
    actions that are numbered cell * planes + plane."""
    policy_channels: Positive = 2
    """Dense policy head: filters of its 1x1 convolution (paper: 2). Not used by the MLP."""
    value_channels: Positive = 1
    """Filters of the value head's convolution (paper: 1). It is 1x1 or 3x3 as the policy head's.
    Not used by the MLP."""
    value_hidden: Positive = 256
    """Units of the value head's hidden layer (paper: 256)."""
    value_head: Literal["tanh", "wdl", "results"] = "tanh"
    """A scalar in [-1, 1], the probabilities of win, draw and loss, or those of the results that
    the game names, such as six of backgammon."""
    auxiliary: tuple[Literal["score", "ownership"], ...] = ()
    """More outputs to learn (Wu 2019): the final margin as a share of all points, the final owner
    of each cell. The game must have them."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the tower's arithmetic; in an MLP, of the products of its dense layers. Parameters
    are always float32. On an x86-64 CPU without instructions for bfloat16, training and players
    compute in float32 instead, which is faster there."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if len(set(self.auxiliary)) < len(self.auxiliary):
            raise UserError(f"network.auxiliary = {list(self.auxiliary)} contains duplicates")
        if self.architecture == "mlp" and self.policy_head == "planes":
            raise UserError(
                'network.policy_head = "planes" needs network.architecture = "resnet"; '
                'with "mlp" it must be "dense"'
            )


@dataclass(frozen=True)
class GumbelConfig:
    """Gumbel AlphaZero (Danihelka et al. 2022); used where `search.algorithm = "gumbel"`."""

    max_considered_actions: Positive = 16
    """Actions sampled at the root for sequential halving (paper: 16)."""
    value_scale: Scale = 0.1
    """c_scale, how strongly values change the policy (mctx: 0.1)."""
    rescale_values: bool = False
    """Stretch the values of a position's moves to [0, 1] first (mctx: true). The smallest
    differences would decide then, and the policies to learn would be noise."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class PUCTConfig:
    """AlphaZero's PUCT (Silver et al. 2018); used where `search.algorithm = "puct"`."""

    pb_c_init: Scale = 1.25
    """Exploration constant c1 (AlphaZero, MuZero appendix B)."""
    pb_c_base: Scale = 19652.0
    """Growth constant c2 (AlphaZero, MuZero appendix B)."""
    dirichlet_fraction: Share = 0.25
    """Share of noise in the root's prior during self-play (AlphaZero: 0.25)."""
    dirichlet_concentration: Scale = 10.0
    """The noise's alpha times the number of legal moves. AlphaZero's 0.3 for chess, 0.15 for
    shogi and 0.03 for go are each about 10 / legal moves."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class SearchConfig:
    """Monte Carlo tree search through mctx."""

    algorithm: Literal["gumbel", "puct"] = "gumbel"
    """Gumbel AlphaZero (Danihelka et al. 2022), or AlphaZero's PUCT."""
    num_simulations: Positive = 32
    """Simulations per move: network evaluations, not counting the root's."""
    gumbel: GumbelConfig = field(default_factory=GumbelConfig)
    puct: PUCTConfig = field(default_factory=PUCTConfig)
    module: str = ""
    """A search of your own for training, "module:name", with the arguments of
    `azjax.search.search`."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class SelfPlayConfig:
    """The games that are played for training."""

    parallel_games: Positive = 256
    """Games in progress at once, over all devices."""
    plies_per_cycle: Positive = 16
    """Plies that each game advances in one cycle."""
    opening_plies: Natural = 0
    """Each game opens with 0 to this many uniformly random plies."""
    openings: str = ""
    """A file of starting positions, one per line: the moves that lead there, in the game's
    notation, separated by spaces. Each game begins at a random one of them; random plies follow.
    "": the game's own start. The run keeps a copy, `openings.txt`, and resumes with it."""
    sampled_plies: Natural = 12
    """Plies of a game, its opening included, in which moves are sampled (PUCT: by visits;
    Gumbel: with Gumbel noise)."""
    temperature: Scale = 1.0
    """PUCT: temperature of the sampled moves, visits ** (1 / temperature)."""
    final_temperature: Amount = 0.0
    """PUCT: temperature of all later moves; 0: the most visited move (AlphaGo Zero)."""
    full_search_fraction: Annotated[float, Range(0.0, 1.0, above=True, plain=True)] = 1.0
    """Fraction of the plies that get a full search and are learned from. The others get a fast
    search. Their policies and values are not learned (playout cap randomisation, Wu 2019:
    0.25)."""
    fast_simulations: Positive = 8
    """Simulations of a fast search, which has no noise."""
    resign_false_positive_rate: Annotated[float, Range(0.0, 1.0, plain=True)] = 0.0
    """Largest fraction of resignations by players who would not have lost. It sets the value
    below which players resign (AlphaGo Zero: 0.05); 0: nobody resigns."""
    resign_disabled_fraction: Annotated[float, Range(0.0, 1.0, above=True)] = 0.1
    """Fraction of games in which resignation is disabled, to calibrate the threshold (AlphaGo
    Zero: 0.1)."""
    actor: Literal["latest", "gated"] = "latest"
    """The network of self-play: the latest (AlphaZero), or the last that passed the gate (AlphaGo
    Zero)."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if round(self.full_search_fraction * self.plies_per_cycle) < 1:
            raise UserError(
                f"selfplay.full_search_fraction = {self.full_search_fraction} leaves no full "
                f"search among selfplay.plies_per_cycle = {self.plies_per_cycle}; it must be at "
                f"least {1 / self.plies_per_cycle:.3g}"
            )


@dataclass(frozen=True)
class GateConfig:
    """AlphaGo Zero's gate; used where `selfplay.actor = "gated"`."""

    every: Positive = 10
    """Cycles between two gates."""
    games: Pairs = 64
    """Games of a gate, half from each seat, over all devices."""
    threshold: Share = 0.55
    """Score from which the latest network takes over self-play (paper: 0.55)."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class LeagueConfig:
    """A pool of opponents: in some games of self-play, one of its networks has a seat.

    Its moves are not learned, but the results of its games are. There is a pool if `every` is above
    0 or `opponents` names players."""

    every: Natural = 0
    """Cycles after which the latest network is added to the pool, which begins with the run's first
    one; 0: none is added."""
    capacity: Positive = 8
    """Networks of a full pool, in which the latest one takes the place of the oldest. Those of
    `opponents` stay."""
    fraction: Annotated[float, Range(0.0, 1.0, above=True, plain=True)] = 0.25
    """Fraction of the parallel games in which an opponent has a seat."""
    opponents: tuple[str, ...] = ()
    """Players whose networks are in the pool from the beginning: runs, files, or players that come
    with azjax. Their layers must be those of [network]."""

    def __post_init__(self) -> None:
        check_ranges(self)
        needed = len(self.opponents) + (self.every > 0)
        if needed > self.capacity:
            more = " and the latest network" if self.every else ""
            raise UserError(
                f"league.capacity = {self.capacity} must be at least {needed}, for "
                f"{len(self.opponents)} opponents{more}"
            )

    @property
    def plays(self) -> bool:
        """Whether there is a pool."""
        return self.every > 0 or bool(self.opponents)


@dataclass(frozen=True)
class ReplayConfig:
    """The replay buffer that batches are drawn from."""

    module: str = ""
    """A buffer of your own, "module:Name": a class, or a function, that makes an object with the
    methods of `azjax.replay.Ring`. It is called with the options."""
    options: Options = ()
    """Options of your own buffer."""
    capacity_plies: Positive = 256
    """Plies kept of each parallel game; a multiple of `selfplay.plies_per_cycle`."""
    max_games: Natural = 0
    """Learn only from the newest games, this many over all devices (AlphaGo Zero: 500,000); 0:
    from everything in the buffer."""
    min_positions: Positive = 4096
    """Positions of finished games, over all devices, before the first update."""

    def __post_init__(self) -> None:
        check_ranges(self)


OPTIMIZERS = ("adamw", "sgd")


@dataclass(frozen=True)
class LearningConfig:
    """AlphaZero's loss and its optimizer."""

    batch_size: Positive = 256
    """Positions of one update, over all devices."""
    updates_per_cycle: Positive = 8
    """Gradient steps of one cycle."""
    optimizer: str = "adamw"
    """"adamw", "sgd" with momentum (AlphaZero), or one of your own, "module:name": a function of
    the learning rate's schedule and the options that returns an optax optimizer."""
    optimizer_options: Options = ()
    """Options of your own optimizer."""
    loss: str = ""
    """A loss of your own in place of AlphaZero's, "module:name": a function of the config and the
    options that returns a function of (prediction, batch)."""
    loss_options: Options = ()
    """Options of your own loss."""
    targets: str = ""
    """Targets of your own besides policy and value, "module:name": a function of the config and the
    options that returns a function of (game, transitions, results)."""
    targets_options: Options = ()
    """Options of your own targets."""
    learning_rate: Scale = 1e-3
    """Peak learning rate."""
    schedule: Literal["constant", "cosine", "step"] = "cosine"
    """After the warm-up: constant, cosine to a twentieth, or drops by 10 at `lr_drops`."""
    warmup_updates: Natural = 100
    """Updates of the linear warm-up from zero."""
    lr_drops: tuple[float, ...] = (0.5, 0.75)
    """Step: fractions of the run after which the learning rate falls to a tenth."""
    momentum: Share = 0.9
    """SGD: momentum (AlphaZero: 0.9)."""
    l2: Amount = 0.0
    """Weight of the squared parameters in the loss (AlphaZero: 1e-4)."""
    weight_decay: Amount = 1e-4
    """AdamW: decoupled weight decay (Loshchilov and Hutter 2019)."""
    root_value_weight: Share = 0.0
    """Weight of the search's own value of a position in the value target. The rest is the game's
    result (AlphaZero: 0). In recorded games it is that of the scores which a file tells."""
    value_weight: Scale = 1.0
    """Weight of the value's error in the loss (AlphaZero: 1). In games of dice moves differ by
    hundredths of a point: with 8, a player of Ur gave up a sixth less a game."""
    clip_norm: Scale = 10.0
    """Largest global norm of a gradient."""
    symmetries: bool = True
    """Show each position under a random symmetry of the game."""
    games_fraction: Share = 0.25
    """Share of each batch from recorded games, in a run that has some; 1 plays no games."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.optimizer not in OPTIMIZERS and not {":", "<"} & {*self.optimizer}:
            raise UserError(
                f"learning.optimizer = {self.optimizer!r} must be one of "
                f"{', '.join(map(repr, OPTIMIZERS))}, or one of your own, module:name"
            )
        drops = list(self.lr_drops)
        if drops != sorted({*drops}) or any(not 0 < d < 1 for d in drops):
            raise UserError(
                f"learning.lr_drops = {drops} must be increasing numbers between 0 and 1"
            )


@dataclass(frozen=True)
class EvaluationConfig:
    """The evaluations during the run."""

    every: Natural = 50
    """Cycles between two evaluations, the first before any update; 0 for none."""
    games: Pairs = 64
    """Paired games against each opponent."""
    opponents: tuple[str, ...] = ("random",)
    """Players to meet, as `azjax eval --against` names them."""
    num_simulations: Positive = 32
    """Simulations of the trained player, without noise."""
    opening_plies: Natural = 2
    """Random plies before the players start, the same for both games of a pair."""
    exact_report: bool = False
    """Also count mistakes against exact values, where the game has them. They then decide which
    checkpoint is the best, instead of the mean score against the opponents."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class CheckpointConfig:
    """The checkpoints of the whole training state."""

    every: Positive = 50
    """Cycles between two checkpoints; the last cycle is always saved."""
    keep: Positive = 3
    """Newest checkpoints kept, in addition to the one that evaluated best."""

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True)
class GameConfig:
    """The game: its name for `azjax_envs.make`, and that game's own options."""

    name: str = "tic_tac_toe"
    options: Options = ()


@dataclass(frozen=True)
class PlayerConfig:
    """A trained player: what its file keeps of a run's config."""

    game: GameConfig = field(default_factory=GameConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)


@dataclass(frozen=True)
class Config:
    """One training run."""

    game: GameConfig = field(default_factory=GameConfig)
    seed: Annotated[int, Range(0, MAX_SEED)] = 0
    """Seed of every random choice."""
    cycles: Positive = 400
    """Cycles of the run: self-play, then updates."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    league: LeagueConfig = field(default_factory=LeagueConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    @property
    def total_updates(self) -> int:
        """Gradient steps of the run, which the learning rate's schedule covers."""
        return self.cycles * self.learning.updates_per_cycle

    @property
    def player(self) -> PlayerConfig:
        """The run's player outside of self-play, which searches as in the run's evaluations."""
        search = replace(self.search, num_simulations=self.evaluation.num_simulations)
        return PlayerConfig(self.game, self.network, search)

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.replay.capacity_plies % self.selfplay.plies_per_cycle:
            raise UserError(
                f"replay.capacity_plies = {self.replay.capacity_plies} must be a multiple of "
                f"selfplay.plies_per_cycle = {self.selfplay.plies_per_cycle}"
            )
        for name, games in ("gate", self.gate.games), ("evaluation", self.evaluation.games):
            if games % 2:
                raise UserError(f"{name}.games = {games} must be even: one game from each seat")
        capacity = self.replay.capacity_plies * self.selfplay.parallel_games
        plies = self.selfplay.plies_per_cycle
        full = round(self.selfplay.full_search_fraction * plies)
        learned = capacity * full // plies
        if self.replay.min_positions > learned // 2:
            share = "" if full == plies else f", of which {full} in {plies} get a full search"
            raise UserError(
                f"replay.min_positions = {self.replay.min_positions} must be at most "
                f"{learned // 2}: half of the {capacity} positions of replay.capacity_plies x "
                f"selfplay.parallel_games{share}"
            )
