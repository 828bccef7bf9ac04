"""Adapters for pgx (https://github.com/sotetsuk/pgx) in both directions.

`from_pgx` makes a game of an environment of pgx, `to_pgx` makes an environment of a game. Only this
package needs `pip install pgx`.
"""

import dataclasses
import functools
import string
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs import svg
from azjax_envs.base_game import BaseGame
from azjax_envs.game import Game, observe_as, require_range, settle


def from_pgx(env: Any, *, max_steps: int | None = None) -> "Pgx":
    """Returns a pgx environment as a game.

    Args:
      env: a `pgx.Env` or the id of one, such as "go_9x9". Of "backgammon" it makes a game of
        chance; see `azjax_envs.pgx.backgammon.PgxBackgammon`.
      max_steps: the number of steps after which a game is drawn; see `Pgx` for the default.

    Raises:
      ValueError: the environment does not have two players, or it is another one with chance.
    """
    if getattr(_environment(env), "id", "") == "backgammon":
        from azjax_envs.pgx.backgammon import PgxBackgammon

        found: Any = PgxBackgammon  # pyrefly finds its base class by another path
        return found(env, max_steps)
    return Pgx(env, max_steps)


def to_pgx(game: Game) -> Any:
    """Returns a game as a `pgx.Env`.

    As in pgx, the first player is drawn at random, and all actions are legal after the end. A state
    contains its mask, its observation and its rewards. The drawings are those of `azjax_envs`. A
    game of chance rolls its dice within `init` and `step`, which then needs a key.
    """
    _pgx()
    from azjax_envs.pgx.export import environment_class

    return environment_class(game)()


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PgxState:
    """A pgx state without its observation, and with its mask packed."""

    kept: Any  # pgx's state without its observation and its mask
    legal: Array  # uint8 [ceil(num_actions / 8)], the mask, packed


@dataclasses.dataclass(frozen=True)
class Pgx(BaseGame):
    """A game from any environment of pgx v2 for two players without chance or hidden information.

    **Environment.** `env` is an id that `pgx.make` accepts, as in `make("pgx:go_9x9")`, or a
    `pgx.Env`. Backgammon has a class of its own, `PgxBackgammon`.

    **Rules.** Rules, actions and observations are those of pgx. A board without channels gets one
    channel; a vector becomes the channels of a single cell. Player 0 moves first, whichever player
    pgx would draw. An illegal action loses and does not change the position.

    **End and result.** The rewards of pgx at the end are the result; they must be 1, 0 or -1. After
    `max_steps` steps a game is drawn. For ids of pgx, the default is a number that no game reaches
    before its own end. For an environment given as an object, the default is 512.

    **Text and drawing.** The text of an action is its number. pgx has no board as text and no
    drawing made of parts, so text and drawing show the observation of player 0. A cell shows the
    letter of its first plane that is set, `a` for plane 0. Planes with the same value everywhere
    are not shown. `pgx_state` returns the state for pgx's own `save_svg`.

    Example:
        A class gives an environment of your own a name for `make` and for config files:

        ```python
        SMALL_GO = pgx.go.Go(size=5)

        @dataclasses.dataclass(frozen=True)
        class SmallGo(Pgx):
            env: Any = SMALL_GO
        ```
    """

    env: Any
    max_steps: int | None = None  # pyrefly: ignore[bad-override]  # set by `__post_init__`

    def __post_init__(self):
        if self.max_steps is None:
            object.__setattr__(self, "max_steps", _MAX_STEPS.get(self.env, 512))
        require_range("pgx", "max_steps", self.max_steps or 0, 1, 2**31 - 1)
        self._facts  # noqa: B018  raises if the environment cannot be such a game

    @property
    def name(self) -> str:
        return f"pgx:{self._env.id}"

    @property
    def num_actions(self) -> int:
        return self._facts.num_actions

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        shape = self._facts.observation.shape
        return {1: (1, 1, *shape), 2: (*shape, 1), 3: shape}[len(shape)]

    @property
    def unobserved(self) -> tuple[str, ...]:
        return _UNOBSERVED.get(self.env, ())

    def init(self, key: Array | None = None) -> PgxState:
        return jax.tree.map(jnp.asarray, self._facts.start)

    def step(self, state: PgxState, action: Array) -> PgxState:
        # Unsigned, so that a negative action becomes a large one.
        action = jnp.asarray(action).astype(jnp.uint32)
        mask = self._unpacked(state)
        index = jnp.minimum(action, self.num_actions - 1).astype(jnp.int32)
        mover = np.arange(2) == state.kept.current_player
        points = jnp.where(mover, -self._forfeit, self._forfeit)
        lost = state.kept.replace(
            terminated=jnp.ones_like(state.kept.terminated),
            rewards=points.astype(state.kept.rewards.dtype),
        )
        return settle(
            state,
            over=self.is_terminal(state),
            legal=(action < self.num_actions) & mask[index],
            moved=self._moved(state, index),
            forfeited=dataclasses.replace(state, kept=lost),
        )

    def current_player(self, state: PgxState) -> Array:
        return state.kept.current_player.astype(jnp.int32) ^ self._facts.first

    def legal_action_mask(self, state: PgxState) -> Array:
        return self._unpacked(state) & ~self.is_terminal(state)

    def is_terminal(self, state: PgxState) -> Array:
        return self._has_ended(state) | (state.kept._step_count >= self.max_steps)

    def returns(self, state: PgxState) -> Array:
        first = self._facts.first
        rewards = jnp.stack([state.kept.rewards[first], state.kept.rewards[1 - first]])
        return jnp.where(self._has_ended(state), rewards, 0).astype(jnp.float32)

    def observe(self, state: PgxState) -> Array:
        observation = self._env.observe(self.pgx_state(state))
        return observation.astype(jnp.float32).reshape(self.observation_shape)

    def observe_other(self, state: PgxState) -> Array:
        # pgx's public `observe` has the mover's perspective only.
        other = 1 - state.kept.current_player
        observation = self._env._observe(self.pgx_state(state), other)
        return observation.astype(jnp.float32).reshape(self.observation_shape)

    def to_string(self, state: PgxState) -> str:
        height, width, _ = self.observation_shape
        codes = np.asarray(self._letters(state)).reshape(height, width)
        rows = [" ".join(("." + string.ascii_letters)[code] for code in row) for row in codes]
        to_move = f"player {int(self.current_player(state))} to move"
        return "\n".join([*rows, "over" if self.is_terminal(state) else to_move])

    def svg_board(self) -> str:
        return _svg_board(self)

    def view(self, state: PgxState) -> Array:
        """Returns the codes of the cells, of the turn and of the actions.

        A cell of the observation is 0, or 1 + the plane that it shows. The turn is the player to
        move, or 2 after the end. An action is 1 if it is legal, otherwise 0. Games with more than
        400 actions have no codes for them.

        Returns:
          int32 [height * width + 1 + num_actions], or without the actions.
        """
        turn = jnp.where(self.is_terminal(state), 2, self.current_player(state))
        parts = [self._letters(state), turn[None]]
        if self.num_actions <= _MOST_BUTTONS:
            parts.append(self.legal_action_mask(state))
        return jnp.concatenate([part.astype(jnp.int32) for part in parts])

    def pgx_state(self, state: PgxState) -> Any:
        """Returns the state as a state of pgx, with an observation of zeros."""
        observation = self._facts.observation
        return state.kept.replace(
            observation=jnp.zeros(observation.shape, observation.dtype),
            legal_action_mask=self._unpacked(state),
        )

    @property
    def _forfeit(self) -> int:
        """What an illegal action loses, as pgx counts rewards."""
        return 1

    @property
    def _env(self) -> Any:
        return _environment(self.env)

    @property
    def _facts(self) -> "Facts":
        return _inspect(self._env)

    def _moved(self, state: PgxState, action: Array) -> PgxState:
        """Returns the state after an action in range, int32 [], if that is legal."""
        return keep(self._env.step(self.pgx_state(state), action), self._facts.start)

    def _unpacked(self, state: PgxState) -> Array:
        return jnp.unpackbits(state.legal, count=self.num_actions).astype(jnp.bool_)

    def _has_ended(self, state: PgxState) -> Array:
        return state.kept.terminated | state.kept.truncated

    def _letters(self, state: PgxState) -> Array:
        """Returns 1 + the first plane that is set on each cell, 0 if none is; int32 [cells]."""
        # `max_steps` is None only until `__post_init__` has set it.
        planes = observe_as(self, state, 0)  # pyrefly: ignore[bad-argument-type]
        planes = planes.reshape(-1, self.observation_shape[-1]) != 0
        planes = (planes & ~jnp.all(planes, axis=0, keepdims=True))[:, : len(string.ascii_letters)]
        return jnp.where(jnp.any(planes, axis=1), 1 + jnp.argmax(planes, axis=1), 0)


# The most plies of each game: its cells and passes, or the limit of pgx.
_MAX_STEPS = {
    "animal_shogi": 256,
    "chess": 512,
    "connect_four": 42,
    "gardner_chess": 256,
    "go_9x9": 162,
    "go_19x19": 722,
    "hex": 122,
    "othello": 122,
    "shogi": 512,
    "tic_tac_toe": 9,
}
_UNOBSERVED = dict.fromkeys(("go_9x9", "go_19x19"), ("kept._x.hash_history",))
_MOST_BUTTONS = 400


@dataclasses.dataclass(frozen=True, eq=False)
class Facts:
    """Constants of an environment."""

    num_actions: int
    observation: jax.ShapeDtypeStruct
    first: int  # the player of pgx who moves first from `start`
    start: PgxState  # of numpy arrays


def _pgx() -> Any:
    """Returns the module pgx; the ImportError says how to install it."""
    try:
        import pgx
    except ImportError:
        raise ImportError("pgx is not installed: pip install pgx") from None
    return pgx


@functools.cache
def _environment(env: Any) -> Any:
    pgx = _pgx()
    if isinstance(env, str):
        if env not in pgx.available_envs():
            raise ValueError(f"pgx has no {env!r}; it has {', '.join(pgx.available_envs())}")
        return pgx.make(env)
    if not isinstance(env, pgx.Env):
        raise ValueError(f"env must be a pgx.Env or the id of one, not {env!r}")
    return env


@functools.cache
def _inspect(env: Any) -> Facts:
    """Returns the constants of an environment; a ValueError says why it cannot be such a game."""
    if env.num_players != 2:
        raise ValueError(f"pgx's {env.id} must have 2 players, not {env.num_players}")
    with jax.ensure_compile_time_eval():
        starts = jax.device_get(
            jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), 16))
        )
    # All starts with the same first player must be equal: then chance decides nothing else.
    for player in (0, 1):
        rows = np.flatnonzero(starts.current_player == player)
        if any((leaf[rows] != leaf[rows[:1]]).any() for leaf in jax.tree.leaves(starts)):
            if env.id == "backgammon":
                raise ValueError('write the game of chance as "pgx:backgammon"')
            raise ValueError(f"pgx's {env.id} has a random start: the game must be free of chance")
    start = jax.tree.map(lambda leaf: leaf[0], starts)
    try:
        jax.eval_shape(env.step, start, np.int32(0))
    except Exception as error:
        raise ValueError(
            f"pgx's {env.id} cannot be stepped without a key: the game must be free of chance"
        ) from error
    if start.observation.ndim not in (1, 2, 3):
        raise ValueError(
            f"pgx's {env.id} must have observations of 1 to 3 axes, not {start.observation.ndim}"
        )
    return Facts(
        num_actions=start.legal_action_mask.shape[0],
        observation=jax.ShapeDtypeStruct(start.observation.shape, start.observation.dtype),
        first=int(start.current_player),
        start=jax.device_get(keep(start)),
    )


def keep(state: Any, like: PgxState | None = None) -> PgxState:
    """Returns the part of pgx's state that the game keeps, in the dtypes of `like`."""
    small = PgxState(
        kept=state.replace(observation=None, legal_action_mask=None),
        legal=jnp.packbits(jnp.asarray(state.legal_action_mask)),
    )
    # Converts to its own dtype without `like`, which removes weak types.
    return jax.tree.map(lambda x, y: jax.lax.convert_element_type(x, y.dtype), small, like or small)


def _svg_board(game: Pgx) -> str:
    height, width, channels = game.observation_shape
    cell, left, top = 44, 16, 52
    turns = ("player 0 to move", "player 1 to move", "over")
    texts = [
        svg.element("text", text, cls=f"only c{code}", x=left + 70, y=top - 20)
        for code, text in enumerate(turns)
    ]
    parts = [svg.element("g", texts, data_cell=height * width)]
    letters = string.ascii_letters[:channels]
    for i in range(height * width):
        x, y = left + i % width * cell, top + i // width * cell
        seen = [svg.element("rect", cls="cell", x=x, y=y, width=cell, height=cell)]
        for code, letter in enumerate(letters, start=1):
            at = {"x": x + cell / 2, "y": y + cell / 2 + 6}
            seen.append(svg.element("text", letter, cls=f"only letter c{code}", **at))
        parts.append(svg.element("g", seen, data_cell=i))
    bottom = top + height * cell + 16
    columns = max(8, width * cell // 34)
    buttons = range(game.num_actions if game.num_actions <= _MOST_BUTTONS else 0)
    for action in buttons:
        x, y = left + action % columns * 34, bottom + action // columns * 28
        button = [
            svg.element("rect", cls="button", x=x, y=y, width=31, height=25, rx=6),
            svg.label(action, x + 15.5, y + 12.5),
        ]
        spot = height * width + 1 + action
        parts.append(svg.element("g", button, data_cell=spot, data_action=action))
    rows = -(-len(buttons) // columns)
    size = (left + max(width * cell, columns * 34) + 13, bottom + 28 * rows + 13)
    shown = {f'[data-code="{i}"] .c{i}': "display: inline" for i in range(max(len(letters) + 1, 3))}
    return svg.document(game.name, *size, _STYLE | shown, parts)


_STYLE = {
    ".cell": "fill: #faf7f0; stroke: #ddd5c4; stroke-width: 1.5",
    ".only": "display: none; fill: #3b4759",
    ".letter": "font-size: 20px",
    ".button": "fill: #f4f4f2; stroke: #e2e2de",
    '[data-code="1"] .button': "fill: #cfe3fb; stroke: #7eaee6",
}
