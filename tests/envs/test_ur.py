"""The Royal Game of Ur, next to the package royalur."""

import jax
import numpy as np
import pytest
from azjax_envs import make

from tests.oracles.dice import rolled_positions

ROLLS = np.array([1, 4, 6, 4, 1]) / 16
PASS = 15


def play(pieces, chance, plies):
    """Plays a random game of royalur; returns rolls, masks, actions and positions as arrays."""
    from royalur import Game, GameBuilder, PlayerType  # noqa: F401

    game = Game.builder().finkel().starting_piece_count(pieces).build()
    rows = []
    for _ in range(plies):
        if game.is_finished():
            break
        turn = game.get_turn()
        roll = int(chance.choice(5, p=ROLLS))
        game.roll_dice(roll)
        mask = np.zeros(16, bool)
        moves = game.find_available_moves() if game.is_waiting_for_move() else []
        fields = [0 if m.source is None else m.source_piece.path_index + 1 for m in moves]
        mask[fields or [PASS]] = True
        action = PASS
        if moves:
            choice = int(chance.integers(len(moves)))
            action = fields[choice]
            game.make_move(moves[choice])
        sides = [game.get_light_player(), game.get_dark_player()]
        bits = [0, 0]
        board = game.get_board()
        for tile in board.shape.tiles:
            piece = board.get(tile)
            if piece is not None:
                bits[sides[0].player != piece.owner] |= 1 << piece.path_index
        after = game.get_winner() if game.is_finished() else game.get_turn()
        rows.append(
            (
                roll,
                mask,
                action,
                turn == sides[1].player,
                bits,
                [p.score for p in sides],
                after == sides[1].player,
                game.is_finished(),
            )
        )
    return [np.array(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(("pieces", "games"), [(7, 6), (2, 16)])
def test_moves_of_royalur(pieces, games):
    pytest.importorskip("royalur")
    chance, game = np.random.default_rng(pieces), make(f"ur_{pieces}")
    lines = [play(pieces, chance, 1400) for _ in range(games)]
    length = 1024 if pieces == 7 else 256
    lines = [[x[:length] for x in line] for line in lines]

    def pad(x):
        return np.pad(x, [(0, length - len(x)), *[(0, 0)] * (x.ndim - 1)])

    rolls, masks, actions, movers, boards, off, players, over = (
        np.stack([pad(line[i]) for line in lines]) for i in range(8)
    )

    def ply(state, choice):
        roll, action = choice
        rolled = game.chance_step(state, roll)
        after = game.step(rolled, action)
        seen = game.legal_action_mask(rolled), game.current_player(rolled)
        return after, (*seen, after, game.is_terminal(after), game.returns(after))

    replay = jax.jit(jax.vmap(lambda *choices: jax.lax.scan(ply, game.init(), choices)[1]))
    mask, mover, after, ended, returns = jax.device_get(replay(rolls, actions.astype(np.int32)))
    for i, line in enumerate(lines):
        n = len(line[0])
        np.testing.assert_array_equal(mask[i, :n], masks[i, :n])
        np.testing.assert_array_equal(mover[i, :n], movers[i, :n])
        np.testing.assert_array_equal(ended[i, :n], over[i, :n])
        np.testing.assert_array_equal(after.player[i, :n], players[i, :n])
        first = after.player[i, :n, None] == 0
        for own, other, expected in (
            (after.own, after.other, boards),
            (after.own_off, after.other_off, off),
        ):
            pair = np.stack([own[i, :n], other[i, :n]], -1)
            np.testing.assert_array_equal(np.where(first, pair, pair[:, ::-1]), expected[i, :n])
        if over[i, n - 1]:
            winner = players[i, n - 1]
            assert returns[i, n - 1].tolist() == ([-1, 1] if winner else [1, -1])


def test_clicks_are_the_fields_that_a_piece_leaves_and_enters():
    game = make("ur_3")
    states = rolled_positions(game, jax.random.key(1), 64, 60)
    views = np.asarray(jax.vmap(game.view)(states))
    clicks = np.asarray(jax.vmap(game.clicks)(states))
    legal = np.asarray(jax.vmap(game.legal_action_mask)(states))
    for action in range(PASS):
        after = jax.vmap(game.step, in_axes=(0, None))(states, action)
        changed = views != np.asarray(jax.vmap(game.view)(after))
        for row in np.flatnonzero(legal[:, action]):
            start, end, _ = clicks[row, action]
            assert changed[row, [start, end]].all()
            # What else changes: the captured piece is back beside the board.
            others = {*np.flatnonzero(changed[row, :24]).tolist()} - {start, end}
            mover = int(states.player[row])
            assert others <= {20 + (1 - mover)}
            assert views[row, start] == (views[row, 20 + mover] if action == 0 else 1 + mover)
    assert (clicks[:, PASS] == [-1, -1, 0]).all()
    assert legal[:, :PASS].any(0).sum() > 10
