"""Shogi games: their course and ends, their pictures, and the size of their state."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs.shogi import repetition

from tests.oracles.shogi_batches import GAME, advance, batch, masks, play_line, row, start
from tests.oracles.shogi_planes import codes, pieces, planes

CHASE = "4k4/9/9/9/9/9/9/9/K4R3 b - 1"  # a rook and a king that go to and fro
CHECKS = ["4i5i", "5a4a", "5i4i", "4a5a"]
PAUSE = ["4i3i", "5a4a", "3i4i", "4a5a"]  # the first and third leave and resume the chase


def test_start():
    state = start()
    other = GAME.from_sfen("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1")
    for mine, theirs in zip(jax.tree.leaves(state), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


def rotated(moves):
    """Returns the same moves by the other side."""
    files, ranks = dict(zip("123456789", "987654321", strict=True)), {}
    ranks = dict(zip("abcdefghi", "ihgfedcba", strict=True))
    return ["".join((files | ranks).get(letter, letter) for letter in move) for move in moves]


GOTE_CHASES = "3r4k/9/9/9/9/9/9/9/4K4 w - 1"


@pytest.mark.parametrize(
    ("sfen", "moves", "result"),
    [
        (CHASE, 3 * CHECKS, -1),  # ends with the side to move that checked
        (GOTE_CHASES, rotated(3 * CHECKS), 1),
        # The same, beginning and ending with the side to move that was checked.
        ("4k4/9/9/9/9/9/9/9/K3R4 w - 1", 3 * (CHECKS[1:] + CHECKS[:1]), -1),
        ("4r3k/9/9/9/9/9/9/9/4K4 b - 1", rotated(3 * (CHECKS[1:] + CHECKS[:1])), 1),
        # What came before the first occurrence does not count.
        (
            "4k4/9/9/9/9/9/9/9/K5R2 b - 1",
            ["3i4i", "5a6a", "4i6i", "6a5a", "6i5i", *3 * (CHECKS[1:] + CHECKS[:1])],
            -1,
        ),
        (CHASE, CHECKS + PAUSE + CHECKS, 0),
        (CHASE, PAUSE + CHECKS + CHECKS, 0),
        (CHASE, CHECKS + CHECKS + PAUSE, 0),
        (GOTE_CHASES, rotated(CHECKS + PAUSE + CHECKS), 0),
        (CHASE, 3 * PAUSE, 0),
        # In the last of 512 plies, repetition is judged all the same.
        (CHASE.replace(" 1", " 501"), 3 * CHECKS, -1),
    ],
)
def test_fourth_occurrence(sfen, moves, result):
    before, _ = play_line(moves[:-1], sfen)
    assert not before.over
    state, referee = play_line(moves, sfen)
    assert referee.occurrences() == 4
    assert GAME.returns(state).tolist() == [result, -result]
    assert not GAME.legal_action_mask(state).any()


@pytest.mark.parametrize(
    ("since", "player", "first", "result"),
    [
        # Sente is to move, so that its moves since ply 2 begin with ply 3, and gote's with ply 4.
        ((3, 4), 0, 2, 0),
        ((3, 5), 0, 2, -1),
        ((4, 4), 0, 2, 1),
        ((4, 5), 0, 2, 0),
        ((1, 2), 0, 2, 0),
        # Gote is to move.
        ((4, 3), 1, 2, 0),
        ((4, 4), 1, 2, -1),
        ((5, 3), 1, 2, 1),
        ((5, 4), 1, 2, 0),
    ],
)
def test_who_loses_by_checks(since, player, first, result):
    """Both sides check with every move here; no game that reaches such a position is known."""
    found = repetition.result(np.array(since, np.int16), np.int32(player), np.int16(first))
    assert found == result


def test_other_hands_are_no_repetition():
    """Sente drops pawns that a rook takes, so the board comes back with fewer pawns in hand."""
    sfen = "k6r1/9/9/9/9/9/9/9/K8 b 8P 1"
    feed = ["P*2e", "2a2e", "9i9h", "2e2a", "P*2e", "2a2e", "9h9i", "2e2a"]
    state, referee = play_line(3 * feed, sfen)
    assert not state.over
    assert len({key.split()[0] for key in referee.seen}) < len(referee.seen)
    wait = ["9i9h", "9a9b", "9h9i", "9b9a"]
    state, _ = play_line(3 * feed + 3 * wait, sfen)
    assert state.over
    assert GAME.returns(state).tolist() == [0, 0]


def test_other_turns_are_no_repetition():
    """Each side in turn loses a move with its king, so boards come back twice as often."""
    sente = ["9i9h", "9a9b", "9h8i", "9b9a", "8i9i"]
    gote = ["9a9b", "9i9h", "9b8a", "9h9i", "8a9a"]
    sfen = "k8/9/9/9/9/9/9/9/K8 b - 1"
    state, _ = play_line(2 * (sente + gote) + sente, sfen)
    assert not state.over
    state, _ = play_line(3 * (sente + gote), sfen)
    assert state.over
    assert GAME.returns(state).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("sfen", "moves", "result"),
    [
        ("4k4/9/9/9/9/9/9/9/4K4 b - 511", ["5i5h", "5a5b"], 0),
        ("8k/9/7G1/9/9/9/9/9/K8 b G 512", ["G*1b"], 1),  # mate with the last ply
        ("8k/9/7G1/9/9/9/9/9/K8 b G 1", ["G*1b"], 1),
        ("8k/9/5B1G1/9/9/9/9/9/K8 w - 1", [], 1),  # no move, and no check
        ("k8/9/9/9/9/9/1g1b5/9/K8 b - 1", [], -1),
        ("4k4/9/9/9/9/9/9/9/4K4 b - 513", [], 0),
    ],
)
def test_ends(sfen, moves, result):
    state, _ = play_line(moves, sfen)
    assert state.over
    assert GAME.returns(state).tolist() == [result, -result]


@pytest.mark.parametrize("wrong", [-1, 0, 2186, 2187, 5 * 243 + 1, 2**31 - 1, -(2**31)])
def test_illegal_action_loses(wrong):
    for moves, result in [([], [-1, 1]), (["7g7f"], [1, -1])]:
        before, _ = play_line(moves)
        lost = row(advance(batch([before]), [wrong]), 0)
        assert lost.over
        assert GAME.returns(lost).tolist() == result
        assert GAME.current_player(lost) == len(moves)
        assert not GAME.legal_action_mask(lost).any()
        again = row(advance(batch([lost]), [5]), 0)
        for a, b in zip(jax.tree.leaves(lost), jax.tree.leaves(again), strict=True):
            np.testing.assert_array_equal(a, b)


def random_lines(games, plies, seed):
    """Returns states [plies][games], and the SFEN of each."""
    rng = np.random.default_rng(seed)
    states = [batch([start()] * games)]
    for _ in range(plies):
        legal = masks(states[-1])
        actions = [rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in legal]
        states.append(advance(states[-1], actions))
    return states


def test_planes_and_codes():
    """Tests positions of random games, and of one in which positions repeat."""
    observe, view = jax.jit(jax.vmap(GAME.observe)), jax.jit(jax.vmap(GAME.view))
    mask = jax.jit(jax.vmap(GAME.legal_action_mask))
    states = random_lines(games=6, plies=130, seed=0)
    sfens = [[GAME.to_sfen(row(now, lane)) for lane in range(6)] for now in states]
    for ply in [0, 1, 6, 7, 8, 40, 99, 130]:
        now = states[ply]
        seen, shown = np.asarray(observe(now)), np.asarray(view(now))
        np.testing.assert_array_equal(mask(now), masks(now))
        for lane in range(6):
            if now.over[lane]:
                continue
            history = [line[lane] for line in sfens[: ply + 1]]
            np.testing.assert_array_equal(seen[lane], planes(history))
            last = _last_move(*history[-2:]) if ply else ""
            assert shown[lane].tolist() == codes(history[-1], last)


def _last_move(before, after):
    """Returns the squares that changed."""
    changed = [a != b for a, b in zip(pieces(before)[0], pieces(after)[0], strict=True)]
    return "".join(f"{9 - i % 9}{'abcdefghi'[i // 9]}" for i in np.flatnonzero(changed))


def test_planes_of_repetitions():
    observe = jax.jit(jax.vmap(GAME.observe))
    moves = ["5i5h", "5a5b", "5h5i", "5b5a"]
    sfens = []
    for ply in range(3 * len(moves)):
        state, referee = play_line((3 * moves)[:ply])
        sfens.append(referee.board.sfen())
    states = batch([state] * 6)  # as many as elsewhere, which saves compiling
    np.testing.assert_array_equal(observe(states)[0], planes(sfens))
    assert (planes(sfens)[..., 30] == 1).all()


def _mirrored(sfen):
    cells, *rest = sfen.split()
    rows = []
    for rank in cells.split("/"):
        parts = [rank[i - 1 : i + 1] if i and rank[i - 1] == "+" else c for i, c in enumerate(rank)]
        rows.append("".join(part for part in reversed(parts) if part != "+"))
    return " ".join(["/".join(rows), *rest])


def test_mirror():
    """The image of a position is the position with its ranks reversed."""
    states = random_lines(games=6, plies=130, seed=1)
    symmetries = GAME.symmetries()
    observe = jax.jit(jax.vmap(GAME.observe))
    for ply in (20, 75, 130):
        sfens = [GAME.to_sfen(row(states[ply], lane)) for lane in range(6)]
        plain, image = (
            batch([GAME.from_sfen(f(sfen)) for sfen in sfens]) for f in (str, _mirrored)
        )
        np.testing.assert_array_equal(masks(image), masks(plain)[:, symmetries.actions[1]])
        seen, turned = (np.asarray(observe(s)).reshape(6, 81, -1) for s in (plain, image))
        np.testing.assert_array_equal(turned, seen[:, symmetries.cells[1]])
        assert masks(plain).any()


def test_draws_every_code():
    """The drawing has one part for each code, and the last move of a game is marked."""
    state, _ = play_line(["7g7f", "3c3d", "8h2b+"])
    shown = np.asarray(jax.jit(GAME.view)(state))
    assert (shown >= 32).nonzero()[0].tolist() == [16, 64]
    assert shown[16] == 32 + 13
    assert shown[81:].tolist() == [0, 1, *12 * [0]]
    assert 'data-cell="94"' in GAME.svg_board()
    assert jnp.shape(shown) == (95,)
