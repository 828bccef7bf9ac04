"""Plays the Royal Game of Ur against expectimax with a hand-made evaluation.

    python -m benchmarks.ur_expectimax runs/ur --games 2000 --table ur.npy

Expectimax looks at all moves and rolls of some plies, and values the positions after them by how
far the pieces of each player have come, and whether they are safe. With a table of exact values it
also tells what expectimax gives up against perfect play.
"""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from azjax_envs import Game
from azjax_envs.ur import Ur, UrState
from azjax_envs.xla_cpu import fusion_barrier

import azjax
from azjax.evaluation.match import play_match
from azjax.players.base import register_player
from azjax.types import Array, static
from benchmarks.points_given_up import exact_values, given_up


@dataclasses.dataclass(frozen=True)
class Arguments:
    run: tyro.conf.Positional[str]
    """A run or a file of a player."""
    games: int = 2000
    """In pairs with the same dice."""
    simulations: int = 64
    depth: int = 3
    """Moves of a line, of both players together."""
    table: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Exact values, which `ur_table.py` writes."""
    seed: int = 0
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


@register_player
@dataclasses.dataclass(frozen=True)
class Expectimax:
    """A player that looks `depth` moves ahead, called as `player(key, states) -> actions`."""

    game: Ur = static()
    depth: int = static()

    @property
    def name(self) -> str:
        return f"expectimax of depth {self.depth}"

    def __call__(self, key: Array, states: UrState) -> Array:
        return _choose(self.game, self.depth, states)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _choose(game: Ur, depth: int, states: UrState) -> Array:
    """Returns the first of the best moves of states [B, ...], int32 [B]."""
    values = jax.lax.map(functools.partial(move_values, game, depth), states, batch_size=8)
    return values.argmax(-1).astype(jnp.int32)


def move_values(game: Ur, depth: int, state: UrState) -> Array:
    """Returns the mover's value of each move, float32 [A]; -inf for illegal ones."""
    after = _once(jax.vmap(game.step, (None, 0))(state, jnp.arange(game.num_actions)))
    value = functools.partial(value_before_roll, game, depth - 1)
    values = jax.vmap(value)(after)
    values = jnp.where(after.player == state.player, values, -values)
    return jnp.where(game.legal_action_mask(state), values, -jnp.inf)


def value_before_roll(game: Ur, depth: int, state: UrState) -> Array:
    """Returns the value for the player to roll, float32 []."""
    if depth == 0:
        return evaluation(game, state)
    rolls = jnp.arange(5)
    rolled = _once(jax.vmap(game.chance_step, (None, 0))(state, rolls))
    best = jax.vmap(functools.partial(move_values, game, depth))(rolled).max(-1)
    mean = game.chance_probabilities(state) @ best
    return jnp.where(game.is_terminal(state), evaluation(game, state), mean)


def evaluation(game: Ur, state: UrState) -> Array:
    """Returns the result, or the lead of the player to roll, float32 [].

    The worths are hand-made: of some that were tried, expectimax of depth 2 gave up least with
    these.
    """
    own = _worth(state.own) + 15 * state.own_off.astype(jnp.float32)
    other = _worth(state.other) + 15 * state.other_off.astype(jnp.float32)
    lead = (own - other + 1) / (16 * game.pieces)
    won = game.returns(state)[state.player.astype(jnp.int32)]
    return jnp.where(game.is_terminal(state), won, lead)


def _worth(board: Array) -> Array:
    """Returns the sum over a board's pieces, float32 []: 0.8 for each field, 4 for the safe one."""
    fields = np.arange(1, 15)
    worth = (0.8 * fields + 4 * (fields == 8)).astype(np.float32)
    return (board >> (fields - 1).astype(np.uint16) & 1).astype(jnp.float32) @ worth


def _once(states: UrState) -> UrState:
    """Returns the same states, which XLA then computes once and not for each use."""
    leaves, structure = jax.tree.flatten(states)
    return jax.tree.unflatten(structure, fusion_barrier(*leaves))


def main(options: Arguments) -> None:
    player = azjax.load_player(options.run, simulations=options.simulations)
    game: Game = player.game
    assert isinstance(game, Ur)
    opponent = Expectimax(game, options.depth)
    found: dict = {"run": options.run, "opponent": opponent.name}
    if options.table is not None:
        values = exact_values(game, options.table)
        lost, *_ = given_up(game, opponent, values, 512, options.seed)
        found["given up a game by the opponent"] = round(float(lost.mean()), 5)
        found["standard error of that"] = round(float(lost.std() / len(lost) ** 0.5), 5)
    key = jax.random.key(options.seed)
    result = play_match(game, player, opponent, key, num_games=options.games, progress=print)
    found |= {"player": player.name, **result.to_dict()}
    print(json.dumps(found, indent=2))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
