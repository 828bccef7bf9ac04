"""The endings of chess, held against python-chess and published distances to mate."""

import chess
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.evaluation.position_suites import GameSuites
from azjax.exact.chess_endings import ENDINGS, chess_endings, ending_index
from azjax.exact.known_values import exact_values

GAME = make("chess")
PIECES = {"KQK": chess.QUEEN, "KRK": chess.ROOK, "KPK": chess.PAWN}


@pytest.fixture(scope="module")
def endings():
    return chess_endings(GAME)


@pytest.fixture(scope="module")
def index_of():
    return jax.jit(jax.vmap(lambda state: ending_index(GAME, state)))


def stack(boards):
    states = [GAME.from_fen(board.fen()) for board in boards]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def draw_boards(count, seed):
    """Returns random legal boards of each ending that are not over, either side the stronger."""
    rng, boards = np.random.default_rng(seed), []
    for piece in PIECES.values():
        found = 0
        while found < count:
            strong, place, weak = (int(x) for x in rng.choice(64, 3, replace=False))
            board = chess.Board(None)
            side = bool(rng.integers(2))
            board.set_piece_at(strong, chess.Piece(chess.KING, side))
            board.set_piece_at(place, chess.Piece(piece, side))
            board.set_piece_at(weak, chess.Piece(chess.KING, not side))
            board.turn = bool(rng.integers(2))
            if board.is_valid() and not board.is_game_over():
                boards.append(board)
                found += 1
    return boards


# White to move and Black to move; the counts are half of all, one for each mirrored pair.
@pytest.mark.parametrize(
    ("ending", "moves", "positions"),
    [("KQK", 10, 144508 // 2), ("KRK", 16, 175168 // 2), ("KPK", 28, 163328 // 2)],
)
def test_the_longest_wins_are_the_published_ones(endings, ending, moves, positions):
    strong, weak = endings.distances.reshape(3, 2, -1)[ENDINGS.index(ending)]
    assert (strong.max(), weak.max()) == (2 * moves - 1, 2 * moves)
    assert (strong > -2).sum() == positions
    assert (strong[strong >= 0] % 2 == 1).all()
    assert (weak[weak >= 0] % 2 == 0).all()


def test_every_distance_follows_from_those_after_the_moves_of_python_chess(endings, index_of):
    boards = draw_boards(40, seed=0)
    distances = endings.distances[np.asarray(index_of(stack(boards)))]
    children = []
    for row, board in enumerate(boards):
        for move in board.legal_moves:
            after = board.copy(stack=False)
            after.push(move)
            children.append((row, after))
    playable = [(row, board) for row, board in children if not board.is_game_over()]
    values = [[] for _ in boards]
    found = endings.distances[np.asarray(index_of(stack([board for _, board in playable])))]
    for (row, _), value in zip(playable, found, strict=True):
        values[row].append(int(value))
    for row, board in children:
        if board.is_game_over():
            values[row].append(0 if board.is_checkmate() else -1)
    for board, distance, after in zip(boards, distances, values, strict=True):
        lost = [value for value in after if value >= 0 and value % 2 == 0]
        if lost:
            assert distance == 1 + min(lost), board
        elif -1 in after:
            assert distance == -1, board
        else:
            assert distance == 1 + max(after), board


def test_scores_of_all_moves_and_only_of_legal_ones(endings, index_of):
    boards = draw_boards(20, seed=1)
    states = stack(boards)
    scores = endings.action_scores(states)
    mask = np.asarray(jax.vmap(GAME.legal_action_mask)(states))
    np.testing.assert_array_equal(np.isfinite(scores), mask)
    distances = endings.distances[np.asarray(index_of(states))].astype(int)
    best = scores.max(-1)
    np.testing.assert_array_equal(best == 0, distances == -1)
    won, lost = distances % 2 == 1, (distances > 0) & (distances % 2 == 0)
    won &= distances > 0
    np.testing.assert_array_equal(best[won], 128 - distances[won])
    np.testing.assert_array_equal(best[lost], distances[lost] - 128)


def test_other_positions_have_no_index(index_of):
    fens = [chess.STARTING_FEN, "8/8/4k3/8/8/3QK2q/8/8 w - - 0 1", "8/8/4k3/8/8/4K3/8/8 w - - 0 1"]
    index = np.asarray(index_of(stack([chess.Board(fen) for fen in fens])))
    assert (index < 0).all()
    states = stack([chess.Board(fen) for fen in [*fens, "8/8/4k3/8/8/3QK3/8/8 w - - 0 1"]])
    assert exact_values(GAME).known(states).tolist() == [False, False, False, True]


def test_the_suite_has_equally_many_positions_of_each_ending(monkeypatch, endings):
    suites = GameSuites(GAME)
    monkeypatch.setattr(GameSuites, "solution", None)
    monkeypatch.setattr(GameSuites, "_scorer", endings)
    (suite,) = suites.fixed
    assert suite.name == "endings KQK, KRK, KPK"
    assert [suite.classes.count(ending) for ending in ENDINGS] == [200, 200, 200]
    assert set(suite.results) == {-1.0, 0.0, 1.0}
    assert not np.asarray(jax.vmap(GAME.is_terminal)(suite.states)).any()
    assert suites.of_own_games(None, jax.random.key(0), 2) is None
