"""Positions and records of games of chance, and stock mctx's search of them."""

import functools

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from azjax_envs import draw_chance, init_batch, random_action

from azjax.files.game_record import GameRecord
from azjax.files.played_positions import Line, PlayedPositions, Position
from azjax.search.model import mask_logits


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def rolled_positions(game, key, count, plies):
    """Returns positions after 0 to `plies` random moves and the roll; no game is over."""
    start_key, length_key, key = jax.random.split(key, 3)
    lengths = jax.random.randint(length_key, (count,), 0, plies + 1)

    def ply(i, states):
        move_key, dice_key = jax.random.split(jax.random.fold_in(key, i))
        actions = random_action(move_key, jax.vmap(game.legal_action_mask)(states))
        moved = draw_chance(game, dice_key, jax.vmap(game.step)(states, actions))
        stays = jax.vmap(game.is_terminal)(moved) | (lengths <= i)
        return jax.tree.map(
            lambda x, y: jnp.where(stays.reshape(-1, *[1] * (x.ndim - 1)), x, y), states, moved
        )

    return jax.lax.fori_loop(0, plies, ply, init_batch(game, start_key, count))


def recorded_games(game, key, count, plies):
    """Returns records of those of `count` games that end within `plies` moves.

    Players often choose the first legal action. Moves have no names.
    """
    start, states, facts, actions = jax.device_get(_played_games(game, key, count, plies))
    records = []
    for lane in range(count):
        after, told = jax.tree.map(lambda x, i=lane: x[:, i], (states, facts))
        if not told[1].any():
            continue
        length = int(np.argmax(told[1])) + 1
        before = jax.tree.map(lambda x, i=lane: x[i], start)
        first = (Position(before, mover=0, over=False, returns=(0.0, 0.0)),)
        played, moves = actions[:length, lane].tolist(), [""] * length
        moved = length - 1  # without the last
        rows = jax.tree.map(lambda x, y, n=moved: np.concatenate([x[None], y[:n]]), before, after)
        movers = np.append(0, told[0][:moved]).astype(np.int32)
        end, (mover, _, returns) = jax.tree.map(lambda x, n=moved: x[n], (after, told))
        last = Position(end, int(mover), True, tuple(returns.tolist()), "", movers[-1], played[-1])
        line = Line(game, game, first, played, moves)
        records.append(GameRecord(game, PlayedPositions(line, rows, movers, last)))
    return records


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _played_games(game, key, count, plies):
    """Returns the starts [B, ...], then states, facts and actions [T, B, ...] of each ply."""
    start_key, key = jax.random.split(key)
    start = draw_chance(game, start_key, init_batch(game, start_key, count))

    def ply(states, key):
        mask, keys = jax.vmap(game.legal_action_mask)(states), jax.random.split(key, 3)
        first = jax.random.bernoulli(keys[0], 0.7, (count,))
        actions = jnp.where(first, jnp.argmax(mask, -1), random_action(keys[1], mask))
        states = draw_chance(game, keys[2], jax.vmap(game.step)(states, actions))
        facts = tuple(
            jax.vmap(x)(states) for x in (game.current_player, game.is_terminal, game.returns)
        )
        return states, (states, facts, actions)

    return start, *jax.lax.scan(ply, start, jax.random.split(key, plies))[1]


def stock_search(game, evaluate, params, key, states, *, simulations, puct):
    """Searches by `mctx.stochastic_muzero_policy`, with the rules and values that azjax gives it.

    After every move of the game chance must be next, unless the game is over. In mctx a position
    before the dice has the value of the player who has moved.

    Where two outcomes are due alike, mctx takes one by the rounding of their logarithms, and azjax
    the first. So each is made less probable than the one before by a little more than rounding.
    """

    def move(params, key, actions, states):
        after = jax.vmap(game.step)(states, actions)
        movers, others = (jax.vmap(game.current_player)(x) for x in (states, after))
        _, value = evaluate(params, key, after)
        result = jnp.take_along_axis(jax.vmap(game.returns)(after), movers[:, None], 1)[:, 0]
        over = jax.vmap(game.is_terminal)(after)
        value = jnp.where(over, result, jnp.where(movers == others, 1, -1) * value)
        shares = jax.vmap(game.chance_probabilities)(after)
        output = mctx.DecisionRecurrentFnOutput(
            chance_logits=jnp.log(shares) - 2e-6 * jnp.arange(shares.shape[-1])[None],
            afterstate_value=value,
        )
        return output, (movers, after)

    def roll(params, key, outcomes, afterstates):
        movers, after = afterstates
        rolled = jax.vmap(game.chance_step)(after, outcomes)
        logits, value = evaluate(params, key, rolled)
        over = jax.vmap(game.is_terminal)(rolled)
        same = movers == jax.vmap(game.current_player)(rolled)
        result = jnp.take_along_axis(jax.vmap(game.returns)(rolled), movers[:, None], 1)[:, 0]
        output = mctx.ChanceRecurrentFnOutput(
            action_logits=mask_logits(logits, jax.vmap(game.legal_action_mask)(rolled)),
            value=value,
            reward=result,
            discount=jnp.where(over, 0.0, jnp.where(same, 1.0, -1.0)),
        )
        return output, rolled

    logits, value = evaluate(params, key, states)
    mask = jax.vmap(game.legal_action_mask)(states)
    return mctx.stochastic_muzero_policy(
        params,
        key,
        mctx.RootFnOutput(prior_logits=mask_logits(logits, mask), value=value, embedding=states),
        move,
        roll,
        simulations,
        invalid_actions=~mask,
        qtransform=functools.partial(mctx.qtransform_by_min_max, min_value=-1.0, max_value=1.0),
        dirichlet_fraction=0.0,
        pb_c_init=puct.pb_c_init,
        pb_c_base=puct.pb_c_base,
    )
