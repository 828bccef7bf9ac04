import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

GAME = make("dots_and_boxes_2x2")  # edges: h 0-1, 2-3, 4-5; v 6-8, 9-11


@pytest.mark.parametrize(
    ("size", "margin"),
    [((1, 1), -1), ((1, 2), 0), ((1, 3), -1), ((1, 4), 0), ((2, 2), 2), ((2, 3), -2)],
)
def test_published_values(size, margin):
    """Values are the first player's boxes minus the second's; all sets of edges are searched."""
    game = make("dots_and_boxes", rows=size[0], columns=size[1])
    edges = game.num_actions
    sets = np.arange(2**edges, dtype=np.uint32)
    single = jax.vmap(game.step, (None, 0))(game.init(), jnp.arange(edges))

    def union(words):  # uint32 [edges] -> uint32 [sets]
        return sum((sets >> e & 1) * np.asarray(words)[e] for e in range(edges)).astype(np.uint32)

    blank = jnp.zeros(len(sets), jnp.uint8)
    states = dataclasses.replace(
        game.init(),
        horizontal=tuple(map(union, single.horizontal)),
        vertical=tuple(map(union, single.vertical)),
        first=tuple(jnp.zeros(len(sets), jnp.uint32) for _ in single.first),
        player=blank,
        forfeited=blank.astype(bool),
    )

    @jax.jit
    def moves(states):
        def look(state, action):
            after = game.step(state, action)
            gained = jnp.sum(game.score(after) - game.score(state))
            return gained, game.current_player(after) == 0

        per_state = jax.vmap(look, (None, 0))
        return jax.lax.map(lambda s: per_state(s, jnp.arange(edges)), states, batch_size=4096)

    gained, again = map(np.asarray, moves(states))
    values = np.zeros(len(sets))
    sizes = np.bitwise_count(sets)
    for count in reversed(range(edges)):
        here = sets[sizes == count]
        best = np.full(len(here), -np.inf)
        for edge in range(edges):
            after = values[here | np.uint32(1 << edge)]
            value = gained[here, edge] + np.where(again[here, edge], after, -after)
            best = np.maximum(best, np.where(here >> edge & 1, -np.inf, value))
        values[here] = best
    assert values[0] == margin


def test_closing_a_box_moves_again(play_line):
    state = play_line(GAME, [0, 2, 6])
    assert GAME.current_player(state) == 1
    state = GAME.step(state, 7)
    assert GAME.current_player(state) == 1
    assert GAME.score(state).tolist() == [0, 1]
    # The grid has 5 x 5 dots, edges and boxes; the first box is in the second row and column.
    assert np.flatnonzero(GAME.ownership(state)).tolist() == [6]
    assert GAME.ownership(state)[6] == 1
    state = GAME.step(state, 5)
    assert GAME.current_player(state) == 0
    assert np.flatnonzero(GAME.ownership(state)).tolist() == [6]
    assert GAME.ownership(state)[6] == -1


def test_one_edge_closes_two_boxes(play_line):
    before = play_line(GAME, [0, 1, 2, 3, 6, 8])
    assert GAME.current_player(before) == 0
    after = GAME.step(before, 7)
    assert GAME.score(after).tolist() == [2, 0]
    assert GAME.current_player(after) == 0


def test_last_edge_closes_two_and_the_boxes_are_shared(play_line):
    # The first player closes two boxes, then opens the rest: two each, and the turn stays.
    state = play_line(GAME, [0, 1, 2, 3, 6, 8, 7, 9, 4, 5, 11])
    assert GAME.legal_action_mask(state).sum() == 1
    assert GAME.current_player(state) == 0
    state = GAME.step(state, 10)
    assert GAME.is_terminal(state)
    assert GAME.returns(state).tolist() == [1, -1]
    assert GAME.score(state).tolist() == [4, 0]
    assert not GAME.legal_action_mask(state).any()


def test_illegal_action_loses_though_ahead(play_line):
    state = GAME.step(play_line(GAME, [0, 2, 6, 7]), 7)
    assert GAME.score(state).tolist() == [0, 1]
    assert GAME.returns(state).tolist() == [1, -1]
