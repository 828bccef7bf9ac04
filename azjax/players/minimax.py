"""Depth-limited minimax: no evaluation, only wins and losses within the horizon."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasChance, random_action

from azjax.chance import outcomes
from azjax.players.base import register_player
from azjax.pytrees import check_key, check_states, expand, take
from azjax.types import Array, State, static


@register_player
@dataclasses.dataclass(frozen=True)
class MinimaxPlayer:
    """A player that searches all lines `depth` plies deep; at the horizon, it assumes a draw.

    Ties between actions are broken at random. Alpha-beta (Knuth & Moore, "An Analysis of Alpha-Beta
    Pruning", 1975) skips irrelevant lines; the result is that of the full-width search. In a game
    of chance it looks at all lines, and takes the mean over the dice (expectimax).
    """

    game: Game = static()
    depth: int = static()

    @property
    def name(self) -> str:
        return f"minimax:{self.depth}"

    def __call__(self, key: Array, states: State) -> Array:
        check_key(key)
        check_states(self.game, states)
        legal = jax.vmap(self.game.legal_action_mask)(states)
        if isinstance(self.game, HasChance):
            # One state after another: `vmap` would look at illegal moves and impossible rolls, too.
            values = jax.lax.map(functools.partial(_expectimax, self.game, self.depth), states)
            values = jnp.where(legal, values, -jnp.inf)
            return random_action(key, legal & (values >= values.max(-1, keepdims=True) - _ROUNDING))
        values = jax.vmap(functools.partial(minimax_values, self.game, self.depth))(states)
        values = jnp.where(legal, values, -jnp.inf)
        return random_action(key, legal & (values == values.max(-1, keepdims=True)))


def minimax_values(game: Game, depth: int, state: State) -> Array:
    """Computes the values of all actions in one position, not batched, `depth` plies deep.

    The largest value is exact. A lower one is only a bound: alpha-beta stops once it is below the
    best value so far. Returns float32 [num_actions] from the mover's perspective, -1 for illegal
    actions.
    """
    sign = _sign(game, state)
    if depth == 1:
        return sign * _results_after(game, state)
    return sign * _alpha_beta(game, depth, state)


class _Stack(NamedTuple):
    """The line being searched: entry d is the position d plies below the root (D = depth - 1).

    All values are from player 0's perspective, so that turns need not alternate.
    """

    states: State  # [D, ...]
    cursor: Array  # int32 [D], the next action to look at
    best: Array  # float32 [D], the best value so far for the player to move there
    alpha: Array  # float32 [D], the value that player 0 is sure of
    beta: Array  # float32 [D], the value that player 1 is sure of
    top: Array  # int32 [], the entry being worked on
    values: Array  # float32 [num_actions], the root's results


def _alpha_beta(game: Game, depth: int, root: State) -> Array:
    """Returns player 0's value after each action of the root, float32 [num_actions]."""
    turn = functools.partial(_turn, game, depth)
    return jax.lax.while_loop(lambda stack: stack.top >= 0, turn, _stack(game, depth, root)).values


def _stack(game: Game, depth: int, root: State) -> _Stack:
    """Returns the start of a search that is at most `depth` plies deep, at least 2."""
    levels = depth - 1
    return _Stack(
        states=jax.tree.map(lambda x: jnp.broadcast_to(x, (levels, *jnp.shape(x))), root),
        cursor=jnp.zeros(levels, jnp.int32),
        best=jnp.full(levels, -jnp.inf * _sign(game, root)),
        alpha=jnp.full(levels, -jnp.inf, jnp.float32),
        beta=jnp.full(levels, jnp.inf, jnp.float32),
        top=jnp.where(game.is_terminal(root), jnp.int32(-1), 0),
        values=jnp.full(game.num_actions, -_sign(game, root)),
    )


def _turn(game: Game, depth: Array | int, stack: _Stack) -> _Stack:
    """Looks at one action of the top entry.

    The search is depth-first with an explicit stack, because a traced program has no recursion.
    The action gets its value at once if the game ends, or if one ply is left, whose moves are all
    tried in parallel. Otherwise its position becomes the new top. Below 0 the search has ended.
    """
    num_actions, levels = game.num_actions, stack.best.shape[0]
    top = stack.top
    state = take(stack.states, top)
    legal = game.legal_action_mask(state)
    left = legal & (jnp.arange(num_actions) >= stack.cursor[top])
    cut = stack.alpha[top] >= stack.beta[top]
    finished = cut | ~left.any()
    action = jnp.argmax(left).astype(jnp.int32)
    child = game.step(state, action)
    ended = game.is_terminal(child)
    at_once = ended | (top == depth - 2)
    value = jnp.where(ended, game.returns(child)[0], _best_result_after(game, child))

    # A finished entry passes its value to the one below, a child with a value to the top.
    receiver = jnp.where(finished, top - 1, top)
    value = jnp.where(finished, stack.best[top], value)
    receiving = (finished | at_once) & (receiver >= 0)
    given = _give(game, stack, receiver, value, receiving, finished, action)
    cursor = jnp.where((jnp.arange(levels) == top) & ~finished, action + 1, given.cursor)
    given = given._replace(cursor=cursor)
    pushing = ~finished & ~at_once
    pushed = _push(game, given, child, pushing)
    return pushed._replace(top=jnp.where(finished, top - 1, jnp.where(pushing, top + 1, top)))


def _give(
    game: Game,
    stack: _Stack,
    receiver: Array,
    value: Array,
    receiving: Array,
    finished: Array,
    action: Array,
) -> _Stack:
    """Updates entry `receiver` with the value of its last action."""
    here = (jnp.arange(stack.best.shape[0]) == receiver) & receiving
    state = take(stack.states, jnp.maximum(receiver, 0))
    sign = _sign(game, state)
    best = sign * jnp.maximum(sign * stack.best, sign * value)
    # At the root, moves equal to the best must be distinguished from worse ones. The window there
    # stays open by half a point, because results are whole numbers.
    bound = best - jnp.where(receiver == 0, 0.5 * sign, 0.0)
    action = jnp.where(finished, stack.cursor[jnp.maximum(receiver, 0)] - 1, action)
    at_root = (jnp.arange(stack.values.shape[0]) == action) & receiving & (receiver == 0)
    return stack._replace(
        best=jnp.where(here, best, stack.best),
        alpha=jnp.where(here & (sign > 0), jnp.maximum(stack.alpha, bound), stack.alpha),
        beta=jnp.where(here & (sign < 0), jnp.minimum(stack.beta, bound), stack.beta),
        values=jnp.where(at_root, value, stack.values),
    )


def _push(game: Game, stack: _Stack, child: State, pushing: Array) -> _Stack:
    """Puts `child` on top, with the window of the entry below it."""
    here = (jnp.arange(stack.best.shape[0]) == stack.top + 1) & pushing

    def put(stored: Array, new: Array | float) -> Array:
        return jnp.where(here.reshape(-1, *[1] * (stored.ndim - 1)), new, stored)

    return stack._replace(
        states=jax.tree.map(put, stack.states, expand(child)),
        cursor=put(stack.cursor, 0),
        best=put(stack.best, -jnp.inf * _sign(game, child)),
        alpha=put(stack.alpha, stack.alpha[stack.top]),
        beta=put(stack.beta, stack.beta[stack.top]),
    )


def _expectimax(game: Game, depth: int, state: State) -> Array:
    """Returns the expected results of all actions for the mover, `depth` plies deep, float32 [A].

    Illegal actions have the result -1.
    """

    def result_after(action: Array) -> Array:
        shares, rolled = outcomes(game, game.step(state, action))
        if depth == 1:
            return jnp.sum(shares * jax.vmap(game.returns)(rolled)[:, 0])

        def best(share: Array, after: State) -> Array:
            legal = game.legal_action_mask(after)
            values = jnp.where(legal, _expectimax(game, depth - 1, after), -jnp.inf)
            over = game.is_terminal(after)
            return share * jnp.where(
                over, game.returns(after)[0], _sign(game, after) * values.max()
            )

        def weighted(pair: tuple[Array, State]) -> Array:
            return jax.lax.cond(pair[0] > 0, best, lambda *_: jnp.zeros(()), *pair)

        return jnp.sum(jax.lax.map(weighted, (shares, rolled)))

    actions, legal = jnp.arange(game.num_actions), game.legal_action_mask(state)
    sign = _sign(game, state)
    if depth == 1:
        return jnp.where(legal, sign * jax.vmap(result_after)(actions), -1.0)

    def if_legal(pair: tuple[Array, Array]) -> Array:
        action, is_legal = pair
        return jax.lax.cond(is_legal, result_after, lambda _: -sign, action)

    return sign * jax.lax.map(if_legal, (actions, legal))


_ROUNDING = 1e-6  # of means over dice


def _best_result_after(game: Game, state: State) -> Array:
    """Returns the mover's best result within one ply, as player 0's value: float32 []."""
    sign = _sign(game, state)
    results = jnp.where(game.legal_action_mask(state), sign * _results_after(game, state), -jnp.inf)
    return sign * results.max()


def _results_after(game: Game, state: State) -> Array:
    """Returns player 0's result after each action, 0 if the game goes on: float32 [num_actions]."""
    actions = jnp.arange(game.num_actions, dtype=jnp.int32)
    children = jax.vmap(game.step, in_axes=(None, 0))(state, actions)
    return jax.vmap(game.returns)(children)[:, 0]


def _sign(game: Game, state: State) -> Array:
    """Returns +1 if player 0 is to move, -1 if player 1 is: float32 []."""
    return 1.0 - 2.0 * game.current_player(state).astype(jnp.float32)
