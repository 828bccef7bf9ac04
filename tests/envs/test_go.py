import functools

import jax
import numpy as np
import pytest
from azjax_envs import make, row_bitboard
from azjax_envs.go import rules, superko
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import label

from tests.oracles.go_positions import POSITIONS, Position
from tests.oracles.go_rules import GoRules

LETTERS = "ABCDEFGHJKLMNOPQRST"


def action(game, text):
    if text == "pass":
        return game.size**2
    return (game.size - int(text[1:])) * game.size + LETTERS.index(text[0])


def actions(game, *moves):
    return [action(game, text) for text in moves]


def rows(game, state):
    """Returns the board alone, without what `to_string` writes around it."""
    marks = [
        [mark for mark in line if mark in ".XO"] for line in game.to_string(state).splitlines()
    ]
    return ["".join(line) for line in marks][: game.size]


def is_legal(game, state, text):
    return bool(game.legal_action_mask(state)[action(game, text)])


@functools.partial(jax.jit, static_argnums=0)
def step(game, state, move):
    return game.step(state, move)


def agree(play_randomly, game, games, seed=0):
    """Compares random games with the plain rules; returns the plies with a superko ban."""
    # In each game some cells are played rather than others, and few passes: stones are captured
    # and put back, and boards recur.
    taste = np.random.default_rng(seed).random((games, game.num_actions), np.float32)
    taste[:, -1] = -0.2
    see = ("observe", "score", "ownership")
    record = play_randomly(game, games, seed, see=see, taste=taste)
    bans = 0
    for lane in range(games):
        rules = GoRules(game.size, game.komi, game.suicide)
        for ply in range(game.max_steps + 1):
            seen = {name: values[ply, lane] for name, values in record.items()}
            assert seen["over"] == rules.over
            legal = rules.legal()
            assert np.flatnonzero(seen["mask"]).tolist() == legal
            assert seen["player"] == rules.player
            bans += not rules.over and len(legal) < len(rules.legal(superko=False))
            np.testing.assert_array_equal(seen["observe"], planes(rules))
            np.testing.assert_array_equal(seen["score"], np.float32(rules.score()))
            sign = 1 - 2 * rules.player
            np.testing.assert_array_equal(seen["ownership"], sign * np.array(rules.owners()))
            result = rules.result() if rules.over else 0
            np.testing.assert_array_equal(seen["returns"], [result, -result])
            if rules.over:
                break
            rules.play(int(seen["action"]))
        assert rules.over
    return bans


def planes(rules):
    """Returns AlphaGo Zero's planes: the last 8 boards, the mover's stones first; the colour."""
    expected = np.zeros((17, rules.size**2), bool)
    for age, board in enumerate(reversed(rules.boards[-8:])):
        expected[age, list(board[rules.player])] = True
        expected[8 + age, list(board[1 - rules.player])] = True
    expected[16] = rules.player == 0
    return expected.T.reshape(rules.size, rules.size, 17)


@pytest.mark.parametrize(
    ("size", "suicide", "games", "bans"), [(3, True, 200, 400), (4, False, 100, 20)]
)
def test_random_games_by_the_plain_rules(play_randomly, size, suicide, games, bans):
    assert agree(play_randomly, make("go", size=size, komi=0.5, suicide=suicide), games) >= bans


@pytest.mark.parametrize(
    ("size", "suicide", "games", "bans"), [(3, False, 150, 30), (3, True, 50, 50)]
)
def test_random_games_in_the_forms_of_a_gpu(play_randomly, size, suicide, games, bans, monkeypatch):
    for module in (row_bitboard, rules, superko):
        monkeypatch.setattr(module, "on_gpu", lambda form, elsewhere: form)
    assert agree(play_randomly, make("go", size=size, komi=0.5, suicide=suicide), games) >= bans


@pytest.mark.parametrize("size", [2, 3, 5, 9, 19])
def test_sums_over_chains(size):
    random = np.random.default_rng(size)
    stones = random.random((60, size, size)) < random.uniform(0.2, 0.95, (60, 1, 1))
    words = random.integers(0, 2**32, (2, *stones.shape), np.uint32)
    numbers, expected = np.full(stones.shape, -1, np.int32), np.zeros((*stones.shape, 2), np.uint32)
    for board in range(len(stones)):
        chains, count = label(stones[board])
        for chain in range(1, count + 1):
            cells = chains == chain
            numbers[board][cells] = random.choice(np.flatnonzero(cells))
            expected[board][cells] = words[:, board][:, cells].sum(axis=1, dtype=np.uint32)
    found = jax.jit(jax.vmap(lambda n, a, b: rules.sums_over_chains(n, (a, b))))(numbers, *words)
    np.testing.assert_array_equal(np.where(stones[..., None], found, 0), expected)


@pytest.mark.slow
@settings(max_examples=8, deadline=None, derandomize=True)
@given(st.integers(2, 8), st.booleans(), st.sampled_from([0, -3, 6.5]), st.integers(0, 99))
def test_random_games_of_any_size(play_randomly, size, suicide, komi, seed):
    agree(play_randomly, make("go", size=size, suicide=suicide, komi=komi), 10, seed)


@pytest.mark.slow
@pytest.mark.parametrize("suicide", [False, True])
@pytest.mark.parametrize(("size", "games"), [(2, 3000), (3, 3000), (4, 1500), (5, 500), (9, 40)])
def test_many_random_games_by_the_plain_rules(play_randomly, size, games, suicide):
    agree(play_randomly, make("go", size=size, komi=0.5, suicide=suicide), games, seed=1)


@pytest.mark.parametrize("name", POSITIONS)
def test_constructed(play_line, name):
    position = POSITIONS[name]
    game = make("go", size=position.size)
    state = play_line(game, actions(game, *position.moves()))
    assert rows(game, state) == position.board.split()
    rules = GoRules(game.size)
    for move in actions(game, *position.moves()):
        rules.play(move)
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == rules.legal()
    if position.banned:
        assert not is_legal(game, state, position.banned)
        lost = step(game, state, action(game, position.banned))
        mover = int(game.current_player(state))
        assert game.returns(lost)[mover] == -1
        assert rows(game, lost) == position.board.split()


# Black encloses the corner; White at A1 has one liberty, A2, and A2 has no other.
CORNER = ["A3", "A1", "B2", "pass", "B1"]


def test_suicide_of_two(play_line):
    strict, loose = make("go_5x5"), make("go_5x5", suicide=True)
    assert not is_legal(strict, play_line(strict, actions(strict, *CORNER)), "A2")
    state = play_line(loose, actions(loose, *CORNER))
    assert is_legal(loose, state, "A2")
    gone = play_line(loose, actions(loose, *CORNER, "A2"))
    assert rows(loose, gone) == [".....", ".....", "X....", ".X...", ".X..."]
    assert loose.current_player(gone) == 0
    assert loose.score(gone).tolist() == [25, 7.5]


def test_suicide_of_two_that_recreates_a_board(play_line):
    """White has played into the finished corner, so the suicide brings that corner back."""
    game = make("go_5x5", suicide=True)
    state = play_line(game, actions(game, "A3", "pass", "B2", "pass", "B1", "A1", "pass"))
    assert not is_legal(game, state, "A2")
    later = play_line(
        game, actions(game, "A3", "pass", "B2", "pass", "B1", "A1", "pass", "E5", "pass")
    )
    assert is_legal(game, later, "A2")


def test_suicide_of_one_recreates_the_board(play_line):
    game = make("go_5x5", suicide=True)
    line = actions(game, "A2", "pass", "B1")
    assert not is_legal(game, play_line(game, line), "A1")


@pytest.mark.parametrize(
    ("komi", "line", "result"),
    [
        (7.5, "pass pass", -1),
        (0, "pass pass", 0),
        (-0.5, "pass pass", 1),
        (24.5, "C3 pass pass", 1),
        (25, "C3 pass pass", 0),
        (25.5, "C3 pass pass", -1),
        (0, "pass C3 pass pass", -1),
        (1, "A1 E5 pass pass", -1),
        (0, "A1 E5 pass pass", 0),
    ],
)
def test_two_passes_end_and_komi_decides(play_line, komi, line, result):
    game = make("go_5x5", komi=komi)
    before = play_line(game, actions(game, *line.split()[:-1]))
    assert not game.is_terminal(before)
    assert game.returns(before).tolist() == [0, 0]
    after = step(game, before, action(game, "pass"))
    assert game.is_terminal(after)
    assert game.returns(after).tolist() == [result, -result]
    assert not game.legal_action_mask(after).any()


@pytest.mark.parametrize(
    ("picture", "score"),
    [
        (".X.O. .X.O. .X.O. .X.O. .X.O.", (10, 10)),  # the middle reaches both
        ("OX.OX OX.OX OOXXX .O.X. .O.X.", (11, 10)),  # liberties shared, as in a seki
        ("..... ..... ..X.. ..... .....", (25, 0)),
        ("..... ..... ..... ..... .....", (0, 0)),
        (".XO.. XXO.. OOO.. ..... ....O", (4, 21)),
    ],
)
def test_area(play_line, picture, score):
    position = Position(picture, "black", "", picture)
    game = make("go_5x5", komi=0.5)
    state = play_line(game, actions(game, *position.moves()))
    assert rows(game, state) == picture.split()
    assert game.score(state).tolist() == [score[0], score[1] + 0.5]
    owner = game.ownership(state)
    assert [(owner == 1).sum(), (owner == -1).sum()] == list(score)
    white_to_move = step(game, state, action(game, "pass"))
    np.testing.assert_array_equal(game.ownership(white_to_move), -owner)


def test_cut_and_scored(play_line):
    """Black fills all but a corner, where White captures everything; the game ends at ply 18."""
    game = make("go_3x3", komi=1)
    fill = "A1 pass B1 pass C1 pass A2 pass B2 pass C2 pass A3 pass B3 C3"
    line = actions(game, *fill.split())
    state = play_line(game, line)
    assert rows(game, state) == ["..O", "...", "..."]
    state = play_line(game, [*line, *actions(game, "B2")])
    assert not game.is_terminal(state)
    state = play_line(game, [*line, *actions(game, "B2", "B3")])
    assert game.is_terminal(state)
    assert game.score(state).tolist() == [1, 3]
    assert game.returns(state).tolist() == [-1, 1]
    assert rows(game, step(game, state, 0)) == rows(game, state)


def test_every_placement_has_its_own_name():
    game = make("go")
    state = game.init()
    names = [game.action_to_string(state, a) for a in range(game.num_actions)]
    assert len(set(names)) == game.num_actions
    assert (names[18], names[361]) == ("T19", "pass")
    assert not any("I" in name for name in names)
    assert [game.string_to_action(state, names[a]) for a in (0, 18, 200, 361)] == [0, 18, 200, 361]
