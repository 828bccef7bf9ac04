"""GNU Go as the referee of go: it compares legal moves, captures and superko at each ply.

The score, which GNU Go can only guess in positions as odd as these, is held to the plain rules of
`tests/oracles/go_rules.py` over the board that GNU Go has.

GNU Go forgets superko for moves that are suicides (where it allows those): it lists them even where
they recreate a board. Such a move is in its list and not in ours; nothing else may differ.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from tests.absent import skip_without
from tests.oracles import gnugo, go_rules
from tests.oracles.go_positions import POSITIONS

pytestmark = skip_without(
    gnugo.program(), "GNU Go is not installed (Debian: apt-get install gnugo)"
)


@functools.partial(jax.jit, static_argnums=(0, 1))
def play_games(game, games, seed):
    """Returns the facts of each ply of random games with few passes, and the actions."""

    def look(state):
        planes = game.observe(state) != 0
        own, other = planes[..., 0].reshape(-1), planes[..., 8].reshape(-1)
        is_black = game.current_player(state) == 0
        return {
            "mask": game.legal_action_mask(state),
            "over": game.is_terminal(state),
            "black": jnp.where(is_black, own, other),
            "white": jnp.where(is_black, other, own),
            "score": game.score(state),
            "returns": game.returns(state),
        }

    key, taste_key = jax.random.split(jax.random.key(seed))
    # In half of the games some cells are played rather than others, so that boards recur.
    taste = jax.random.uniform(taste_key, (games, game.num_actions)).at[:, -1].set(-0.2)
    taste = taste * (jnp.arange(games) % 2)[:, None]

    def ply(states, key):
        seen = jax.vmap(look)(states)
        chances = taste + jax.random.uniform(key, seen["mask"].shape)
        action = jnp.argmax(jnp.where(seen["mask"], chances, -jnp.inf), axis=1)
        return jax.vmap(game.step)(states, action), seen | {"action": action}

    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (games, *x.shape)), game.init())
    return jax.lax.scan(ply, start, jax.random.split(key, game.max_steps + 1))[1]


def agree(game, games, seed=0):
    """Asserts that GNU Go agrees; returns the number of suicides that only GNU Go allows."""
    size, cells = game.size, game.size**2
    record = jax.tree.map(np.asarray, play_games(game, games, seed))
    ends = record["over"].argmax(axis=0)
    lines = [
        record["action"][: min(end, gnugo.LONGEST), lane].tolist() for lane, end in enumerate(ends)
    ]
    only_theirs = 0
    for lane, plies in enumerate(gnugo.referee(size, lines, suicide=game.suicide)):
        for ply, theirs in enumerate(plies):
            ours = {name: values[ply, lane] for name, values in record.items()}
            for colour in ("black", "white"):
                assert np.flatnonzero(ours[colour]).tolist() == theirs[colour]
            if ply < ends[lane]:
                legal = np.flatnonzero(ours["mask"]).tolist()
                assert legal.pop() == cells
                if game.suicide:
                    extra = sorted(set(theirs["legal"]) - set(legal))
                    assert all(is_suicide(size, theirs, ply % 2, move) for move in extra)
                    only_theirs += len(extra)
                    legal = sorted([*legal, *extra])
                assert legal == theirs["legal"]
        if ply == ends[lane]:
            owner = go_rules.owners(size, board_of(theirs))
            black, white = owner.count(1), owner.count(-1) + np.float32(game.komi)
            assert ours["score"].tolist() == [black, white]
            assert ours["returns"].tolist() == [np.sign(black - white), np.sign(white - black)]
            assert not ours["mask"].any()
    return only_theirs


def board_of(seen):
    return frozenset(seen["black"]), frozenset(seen["white"])


def is_suicide(size, seen, player, move):
    return go_rules.place(size, board_of(seen), player, move)[1]


@pytest.mark.parametrize(("size", "games"), [(5, 120), (9, 120), (19, 4)])
def test_random_games(size, games):
    agree(make("go", size=size), games)


@pytest.mark.parametrize(("size", "games"), [(4, 100), (6, 60)])
def test_random_games_with_suicide(size, games):
    assert agree(make("go", size=size, suicide=True), games) > 0


@pytest.mark.slow
@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize(
    ("size", "games"), [(2, 500), (3, 1000), (5, 1000), (9, 500), (13, 100), (19, 40)]
)
def test_many_random_games(size, games, suicide):
    agree(make("go", size=size, suicide=suicide, komi=0), games, seed=1)


@pytest.mark.parametrize("name", POSITIONS)
def test_constructed(play_line, name):
    position = POSITIONS[name]
    game = make("go", size=position.size)
    line = [
        game.size**2 if m == "pass" else gnugo.points(game.size, m)[0] for m in position.moves()
    ]
    seen = gnugo.referee(game.size, [line])[0][-1]
    mask = game.legal_action_mask(play_line(game, line))
    assert np.flatnonzero(mask).tolist() == [*seen["legal"], game.size**2]


def test_refuses_what_it_does_not_understand():
    with pytest.raises(ValueError, match="GNU Go to 'play black Z9'"):
        gnugo.ask(["boardsize 5", "play black Z9"])
