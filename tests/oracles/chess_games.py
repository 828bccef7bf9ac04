"""Games of chess in which every position is compared with a referee's."""

import random

import numpy as np

from tests.oracles.chess_batches import assert_same, from_start, lane, load, look, step


def play(game, referees, choosers, *, seed=0, fens=None, watch=None, plies=None):
    """Plays one game for each referee to its end, and asserts that they agree at every ply.

    Args:
      game: a game of azjax_envs.
      referees: one for each game, at its start; see `tests.oracles.chess_referees`.
      choosers: functions from (referee, moves, random.Random) to a move, one for each game.
      seed: the seed of the choices.
      fens: the starts of the games, if different from that of `game`.
      watch: called with (ply, states, referees) at each ply, before its moves.
      plies: the number of plies after which to stop, unless all games are over before.

    Returns:
      The number of plies of each game, and the set of kinds of moves that occurred.
    """
    states = load(game, fens) if fens else from_start(game)
    chance = random.Random(seed)
    lengths = [None] * len(referees)
    ends = {}
    for ply in range(plies or game.max_steps + 1):
        seen = look(game, states)
        choices = {}
        for i, referee in enumerate(referees):
            if lengths[i] is not None:
                continue
            state, moves = lane(seen["state"], i), referee.moves()
            result = referee.result(moves)
            try:
                _assert_ply(seen, i, referee, moves, result)
                referee.assert_agrees(state)
                if ply % 7 == i % 7:
                    assert game.to_fen(state) == referee.fen()
            except AssertionError as error:
                raise AssertionError(f"game {i}, ply {ply}, {referee.fen()}: {error}") from error
            if result is None:
                choices[i] = moves
            else:
                lengths[i], ends[i] = ply, state
        if watch:
            watch(ply, states, referees)
        actions = np.zeros(len(referees), np.int32)
        for i, moves in choices.items():
            move = choosers[i](referees[i], moves, chance)
            actions[i] = referees[i].action(move)
            referees[i].push(move)
        if None not in lengths:
            break
        states = step(game, states, actions)
    for i, end in ends.items():
        assert_same(lane(states, i), end)  # nothing changes after the end
    assert plies or None not in lengths
    return lengths, set().union(*(referee.met for referee in referees))


def _assert_ply(seen, i, referee, moves, result):
    assert seen["over"][i] == (result is not None)
    legal = np.flatnonzero(seen["mask"][i]).tolist()
    if result is None:
        assert seen["player"][i] == (not referee.is_white)
        assert legal == sorted(referee.action(move) for move in moves)
        result = 0
    else:
        assert legal == []
    assert seen["returns"][i].tolist() == [result, -result]


def scripted(line):
    """Returns a chooser that plays moves given in UCI, for any kind of referee."""
    names = iter(line.split())

    def choose(referee, moves, chance):
        name = next(names)
        return next(move for move in moves if str(move) == name)

    return choose
