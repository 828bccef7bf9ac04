"""GNU Backgammon as the judge of turns: the best turns give up nothing, others what they cost."""

import jax
import numpy as np
from azjax_envs import make

from azjax.players.random_player import RandomPlayer
from azjax.pytrees import take
from benchmarks import gnubg_turns
from benchmarks.gnubg_matches import ENGINES, GnuBackgammon, look
from tests import absent

GAME = make("backgammon")


def test_turns_give_up_what_gnu_backgammon_says(monkeypatch):
    gnubg = absent.package("gnubg_nn", unreleased=(3, 14), reason="gnubg-nn has no release here")
    monkeypatch.setattr(gnubg_turns, "GAMES", 4)
    engine, judge = GnuBackgammon(GAME, ENGINES[0]), gnubg_turns.Judge(gnubg)
    states = gnubg_turns.positions_of_games(GAME, engine, 0)
    states = take(states, np.arange(0, len(states.left), 5))
    starts = jax.device_get(look(GAME, states))
    assert len(states.left) > 20
    assert not starts.over.any()

    after = gnubg_turns.after_turns(GAME, engine, states)
    ends = jax.device_get(look(GAME, after))
    lost = gnubg_turns.given_up(GAME, judge, states, after)
    for i in np.flatnonzero(~ends.over):
        faces = [die for die in range(1, 7) if starts.dice[i] >> die & 1]
        pair = starts.boards[i][::-1].tolist()
        _, expected = gnubg.best_move(pair, faces[0], faces[-1], b=1)
        assert gnubg.key_of_board(ends.boards[i][::-1].tolist()) == expected
        if gnubg.best_move(pair, faces[0], faces[-1], n=1, b=1)[1] == expected:
            assert lost[i] == 0
    assert lost.mean() < 0.02

    random = gnubg_turns.after_turns(GAME, RandomPlayer(GAME), states)
    assert gnubg_turns.given_up(GAME, judge, states, random).mean() > 0.1
