"""Positions for the players' tests: after given moves, in our states and in OpenSpiel's."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel


@functools.partial(jax.jit, static_argnums=0)
def _replay(game, actions):
    def ply(state, action):
        moved = game.step(state, action)
        return jax.tree.map(lambda x, y: jnp.where(action < 0, x, y), state, moved), None

    return jax.vmap(lambda row: jax.lax.scan(ply, game.init(), row)[0])(actions)


def after(game, lines):
    """Returns the batched states after lines of moves, each a list of actions."""
    actions = np.full((len(lines), game.max_steps), -1, np.int32)
    for row, line in zip(actions, lines, strict=True):
        row[: len(line)] = line
    return _replay(game, actions)


def spiel_after(spiel: str, lines):
    """Returns OpenSpiel's states after the same moves."""
    states = []
    for line in lines:
        state = pyspiel.load_game(spiel).new_initial_state()
        for action in line:
            state.apply_action(action)
        states.append(state)
    return states


def random_lines(spiel: str, count: int, rng):
    """Returns the moves of `count` random games, each cut at a random ply before its end."""
    lines = []
    for _ in range(count):
        state = pyspiel.load_game(spiel).new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        lines.append(state.history()[: rng.randrange(len(state.history()))])
    return lines
