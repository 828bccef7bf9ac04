import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import make

GAME = make("tic_tac_toe")


def test_published_counts():
    """There are 255168 games and 5478 positions."""
    size = 2048  # positions expanded at once; no ply has more

    @jax.jit
    def expand(states):
        children = jax.vmap(lambda s: jax.vmap(lambda a: GAME.step(s, a))(jnp.arange(9)))(states)
        flat = jax.tree.map(lambda x: x.reshape(-1), children)
        over, returns, codes = (
            jax.vmap(see)(flat) for see in (GAME.is_terminal, GAME.returns, GAME.view)
        )
        return flat, jax.vmap(GAME.legal_action_mask)(states).reshape(-1), over, returns, codes

    cells = GAME.symmetries().cells
    layer, ways = jax.tree.map(lambda x: np.asarray(x)[None], GAME.init()), np.ones(1, np.int64)
    positions, ended, classes = 1, 0, {(0,) * 9}
    games = {1.0: 0, -1.0: 0, 0.0: 0}
    while len(ways):
        count = len(ways)
        padded = jax.tree.map(lambda x, n=count: np.pad(x, (0, size - n)), layer)
        flat, legal, over, returns, codes = jax.tree.map(np.asarray, expand(padded))
        legal = legal & (np.repeat(np.arange(size), 9) < count)
        words = (flat.own.astype(np.int64) << 9 | flat.taken)[legal]
        _, first, place = np.unique(words, return_index=True, return_inverse=True)
        children_ways = np.bincount(place, np.repeat(np.pad(ways, (0, size - count)), 9)[legal])
        chosen = np.flatnonzero(legal)[first]
        positions += len(chosen)
        ended += over[chosen].sum()
        classes |= {tuple(min(board[cells].tolist())) for board in codes[chosen]}
        for result in games:
            wanted = over[chosen] & (returns[chosen, 0] == result)
            games[result] += int(children_ways[wanted].sum())
        running = ~over[chosen]
        layer = jax.tree.map(lambda x, i=chosen[running]: x[i], flat)
        ways = children_ways[running].astype(np.int64)
    assert (positions, ended, len(classes)) == (5478, 958, 765)
    assert games == {1.0: 131184, -1.0: 77904, 0.0: 46080}


def test_full_board_is_a_draw_unless_the_last_mark_wins(play_line):
    drawn = play_line(GAME, [0, 1, 2, 4, 3, 5, 7, 6, 8])
    assert GAME.is_terminal(drawn)
    assert GAME.returns(drawn).tolist() == [0, 0]
    won = play_line(GAME, [0, 1, 2, 3, 4, 5, 7, 6, 8])
    assert GAME.returns(won).tolist() == [1, -1]
    assert not GAME.legal_action_mask(won).any()
