"""Random moves: openings of matches, and playouts to the end of a game."""

import functools

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasChance, draw_chance, random_action
from azjax_envs.sampling import choose_legal

from azjax.chance import roll
from azjax.pytrees import batch_size, where
from azjax.types import Array, State


def random_openings(game: Game, key: Array, batch: int, plies: int) -> tuple[State, Array]:
    """Plays `plies` uniformly random moves from the start, but none that would end a game.

    Returns (states [batch, ...], number of moves int32 [batch]).
    """
    states = starts(game, key, batch)
    return play_randomly(game, key, states, jnp.full(batch, plies), most=plies)


def starts(game: Game, key: Array, batch: int) -> State:
    """Returns the game's start [batch, ...], with the dice rolled in a game of chance."""
    start = game.init()
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *jnp.shape(x))), start)
    return draw_chance(game, jax.random.fold_in(key, _START), states)


_START = 2**31 - 1  # no ply has this number


def opening_lines(game: Game, key: Array, batch: int, plies: int) -> tuple[State, Array]:
    """Plays the openings of `random_openings` and returns all of their positions.

    Returns:
      (states [plies + 1, batch, ...] from the start to those of `random_openings`, actions int32
      [plies, batch], -1 where an opening has stopped).
    """
    states, _ = random_openings(game, key, batch, 0)

    def ply(
        carry: tuple[State, Array], i: Array
    ) -> tuple[tuple[State, Array], tuple[State, Array]]:
        after, goes_on, actions = _random_ply(game, key, i, *carry)
        return (after, goes_on), (after, jnp.where(goes_on, actions, -1))

    everyone = jnp.ones(batch, jnp.bool_)
    _, (later, actions) = jax.lax.scan(ply, (states, everyone), jnp.arange(plies))
    return jax.tree.map(lambda x, y: jnp.concatenate([x[None], y]), states, later), actions


def play_randomly(
    game: Game, key: Array, states: State, plies: Array, *, most: int
) -> tuple[State, Array]:
    """Plays uniformly random moves in each game, but none that would end it.

    Each game of the states [B, ...] gets its number of `plies`, int32 [B], at most `most`.
    Returns the states and the numbers of moves made, int32 [B].
    """

    def ply(i: Array, carry: tuple[State, Array]) -> tuple[State, Array]:
        states, lengths = carry
        states, goes_on, _ = _random_ply(game, key, i, states, (lengths == i) & (i < plies))
        return states, lengths + goes_on

    with jax.named_scope("openings"):
        return jax.lax.fori_loop(0, most, ply, (states, jnp.zeros(plies.shape, jnp.int32)))


def _random_ply(
    game: Game, key: Array, i: Array, states: State, goes_on: Array
) -> tuple[State, Array, Array]:
    """Returns (states after ply `i`, which openings continue bool [B], actions int32 [B])."""
    mask = jax.vmap(game.legal_action_mask)(states)
    actions = random_action(jax.random.fold_in(key, i), mask)
    moved = jax.vmap(game.step)(states, actions)
    if isinstance(game, HasChance):
        moved = draw_chance(game, jax.random.fold_in(jax.random.fold_in(key, i), 1), moved)
    goes_on &= ~jax.vmap(game.is_terminal)(moved)
    return where(goes_on, moved, states), goes_on, actions


def playout_value(game: Game, key: Array, states: State) -> Array:
    """Returns the result of one random playout from each state for its mover, float32 [B].

    At the end of a game `current_player` does not change; the value is that player's result.
    """
    returns = playout_returns(game, key, states)
    movers = jax.vmap(game.current_player)(states)
    return jnp.where(movers == 0, returns[:, 0], returns[:, 1])


def playout_returns(game: Game, key: Array, states: State) -> Array:
    """Returns the result of one random playout from each state for both players, float32 [B, 2].

    All games advance together until the last one has ended. A finished game does not change. Dice
    are rolled before each move, where they are due.
    """
    batch = batch_size(states, name="states")

    def unfinished(carry: tuple[Array, State]) -> Array:
        _, states = carry
        return ~jnp.all(jax.vmap(game.is_terminal)(states))

    def ply(carry: tuple[Array, State]) -> tuple[Array, State]:
        generators, states = carry
        generators, words = _next_words(generators)
        if isinstance(game, HasChance):
            states = jax.vmap(functools.partial(roll, game))(words, states)
            generators, words = _next_words(generators)
        actions = jax.vmap(choose_legal)(words, jax.vmap(game.legal_action_mask)(states))
        return generators, jax.vmap(game.step)(states, actions)

    generators = jax.random.bits(key, (batch,), jnp.uint32)
    _, final = jax.lax.while_loop(unfinished, ply, (generators, states))
    return jax.vmap(game.returns)(final)


def _next_words(generators: Array) -> tuple[Array, Array]:
    """Advances one 32-bit generator per game; returns (generators, random words), both uint32 [B].

    The generator is O'Neill's PCG-RXS-M-XS ("PCG: A Family of Simple Fast Space-Efficient
    Statistically Good Algorithms for Random Number Generation", 2014). Drawing from JAX's own
    generator at every ply took longer than playing the moves of a small game.
    """
    generators = generators * jnp.uint32(747796405) + jnp.uint32(2891336453)
    shift = (generators >> jnp.uint32(28)) + jnp.uint32(4)
    word = ((generators >> shift) ^ generators) * jnp.uint32(277803737)
    return generators, (word >> jnp.uint32(22)) ^ word
