import dataclasses
import functools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from azjax_envs import check_game, make
from azjax_envs.symmetry import dihedral
from hypothesis import given, settings
from hypothesis import strategies as st

from azjax.arena.solver import solve
from tests.oracles.othello import BLACK, PASS, WHITE, Position, best_margin

GAME = make("othello")
SMALL = make("othello_4x4")


@pytest.mark.parametrize("name", ["othello_4x4", "othello"])
def test_conforms(name):
    assert check_game(make(name)) == []


def test_open_spiel(agree_with_open_spiel):
    lengths = agree_with_open_spiel(GAME, "othello", games=300)
    assert {60, 61, 62} <= lengths  # full boards, and games with passes


def test_notation_and_discs_are_open_spiels(play_randomly):
    record = play_randomly(GAME, 8)
    reference = pyspiel.load_game("othello")
    for lane in range(4):
        state, ours = reference.new_initial_state(), GAME.init()
        for action in record["action"][:, lane]:
            if state.is_terminal():
                break
            assert GAME.action_to_string(ours, int(action)) == state.action_to_string(int(action))
            state.apply_action(int(action))
            ours = _step(GAME)(ours, jnp.int32(action))
            drawn = "".join(line[2:-2] for line in str(state).splitlines() if line[0].isdigit())
            drawn = drawn.replace(" ", "").replace("-", ".").upper()
            assert _discs(GAME, ours).replace("\n", "") == drawn


@pytest.mark.parametrize("size", [4, 6])
def test_plain_python_agrees(play_randomly, size):
    game = make(f"othello_{size}x{size}")
    record = play_randomly(game, 200)
    met = set()
    for lane in range(200):
        position, passed = Position(size), False
        for ply in range(game.max_steps + 1):
            seen = {name: values[ply, lane] for name, values in record.items()}
            assert seen["over"] == position.is_over()
            assert np.flatnonzero(seen["mask"]).tolist() == _actions(position)
            if seen["over"]:
                met |= {"empty cells"} if len(position.board) < size**2 else {"full board"}
                met |= {"wiped out"} if not position.count(position.turn) else set()
                met |= {"draw"} if position.margin() == 0 else set()
                assert seen["returns"][0] == np.sign(position.margin())
                break
            assert seen["player"] == (position.turn == WHITE)
            choice = _choice(position, seen["action"])
            met |= {"pass"} if choice == PASS else set()
            assert not (passed and choice == PASS)
            passed = choice == PASS
            position = position.after(choice)
        assert position.is_over()
    often = {"pass", "full board", "empty cells", "draw"}
    assert met >= (often | {"wiped out"} if size == 4 else often)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.sampled_from([4, 6, 8]), st.lists(st.integers(0, 10**6), max_size=70))
def test_any_line_of_play(size, picks):
    game = make("othello", size=size)
    state, position = game.init(), Position(size)
    for pick in picks:
        actions = _actions(position)
        if not actions:
            break
        action = actions[pick % len(actions)]
        state, position = (
            _step(game)(state, jnp.int32(action)),
            position.after(_choice(position, action)),
        )
    assert _discs(game, state) == position.text()
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == _actions(position)
    assert game.score(state).tolist() == [position.count(BLACK), position.count(WHITE)]


@pytest.mark.parametrize(
    ("size", "counts"),
    [
        (4, [4, 12, 44, 128, 424, 1256]),
        (6, [4, 12, 56, 244, 1364, 7604, 47740]),
        (8, [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288]),
    ],
)
def test_published_perft(size, counts):
    """Sequences of actions; a pass is one."""
    game = make("othello", size=size)
    chunk = 4096

    @jax.jit
    def expand(states, actions):
        after = jax.vmap(game.step)(states, actions)
        return after, jax.vmap(game.legal_action_mask)(after)

    states = jax.tree.map(lambda x: np.asarray(x)[None], game.init())
    masks = np.asarray(game.legal_action_mask(game.init()))[None]
    found = [int(masks.sum())]
    while len(found) < len(counts):
        parents, actions = np.nonzero(masks)
        parts = []
        for start in range(0, len(parents), chunk):
            index = np.pad(
                parents[start : start + chunk], (0, max(0, start + chunk - len(parents)))
            )
            action = np.pad(
                actions[start : start + chunk], (0, chunk - len(actions[start:][:chunk]))
            )
            kept = min(chunk, len(parents) - start)
            part = expand(jax.tree.map(lambda x, i=index: x[i], states), action.astype(np.int32))
            parts.append(jax.tree.map(lambda x, n=kept: np.asarray(x)[:n], part))
        states, masks = jax.tree.map(lambda *x: np.concatenate(x), *parts)
        found.append(int(masks.sum()))
    assert found == counts


def test_value_of_the_smallest_board():
    """White wins by eight discs: by azjax's solver, and by plain Python without it."""
    solution = solve(SMALL, payoff="margin")
    assert solution.value == -8
    assert best_margin(Position(4)) == -8
    assert solve(SMALL).value == -1


def test_wiped_out(play_line):
    """The shortest game: Black leaves White without a disc after nine moves."""
    before = play_line(GAME, _line("e6 f4 e3 f6 g5 d6 e7 f5"))
    assert not GAME.is_terminal(before)
    after = GAME.step(before, GAME.string_to_action(before, "c5"))
    assert GAME.is_terminal(after)
    assert GAME.score(after).tolist() == [13, 0]
    assert GAME.returns(after).tolist() == [1, -1]
    assert not GAME.legal_action_mask(after).any()
    assert GAME.current_player(after) == 1
    with pytest.raises(ValueError, match="the game is over"):
        GAME.string_to_action(after, "pass")


def test_pass_is_the_only_action_where_there_is_no_place(play_line):
    line, position = _find(lambda position: position.legal() == [PASS])
    state = play_line(SMALL, line)
    assert np.flatnonzero(SMALL.legal_action_mask(state)).tolist() == [16]
    assert SMALL.string_to_action(state, "Pass") == 16
    assert int(SMALL.view(state)[16]) == 1
    after = SMALL.step(state, 16)
    assert SMALL.current_player(after) == 1 - SMALL.current_player(state)
    assert _discs(SMALL, after) == position.text()
    assert int(SMALL.view(after)[16]) == 0
    for cell in range(16):
        assert SMALL.is_terminal(SMALL.step(state, cell))


def test_same_player_again_and_again(play_line):
    """Two passes of one player around a single move of the other."""
    line, _ = _find(lambda p: p.legal() == [PASS], lambda p: True, lambda p: p.legal() == [PASS])
    state = play_line(SMALL, line)
    movers = []
    for _ in range(3):
        movers.append(int(SMALL.current_player(state)))
        state = SMALL.step(state, np.flatnonzero(SMALL.legal_action_mask(state))[0])
    assert movers in ([0, 1, 0], [1, 0, 1])


def test_neither_can_move_though_cells_are_empty(play_line):
    line, position = _find(
        lambda p: p.is_over() and len(p.board) < 16 and p.count(BLACK) and p.count(WHITE)
    )
    state = play_line(SMALL, line)
    assert SMALL.is_terminal(state)
    assert not SMALL.legal_action_mask(state).any()
    assert SMALL.score(state).tolist() == [position.count(BLACK), position.count(WHITE)]
    assert SMALL.returns(state)[0] == np.sign(position.margin())
    for action in (0, 16, 17):
        _assert_same(SMALL.step(state, action), state)


def test_all_eight_directions_at_once():
    text = """
        O..O..O.
        .X.X.X..
        ..XXX...
        OXX.XXXO
        ..XXX...
        .X.X.X..
        O..O..O.
        ........
    """
    state = _place(GAME, text, WHITE)
    after = GAME.step(state, GAME.string_to_action(state, "d4"))
    reference = Position.read(text, WHITE)
    assert _discs(GAME, after) == reference.after((3, 3)).text()
    assert GAME.score(after).tolist() == [0, 26]
    assert GAME.is_terminal(after)


def test_lines_do_not_run_around_the_edge():
    text = """
        ......OX
        X.......
        .......O
        OX......
        ........
        ........
        .......X
        O.......
    """
    for turn in (BLACK, WHITE):
        state = _place(GAME, text, turn)
        assert np.flatnonzero(GAME.legal_action_mask(state)).tolist() == _actions(
            Position.read(text, turn)
        )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from([4, 6, 8]), st.integers(0, 2**32), st.sampled_from([BLACK, WHITE]))
def test_any_position(size, seed, turn):
    """Also positions that no game reaches: full rows, far corners, lone colours."""
    chance = random.Random(seed)
    discs = chance.choice(["XO", "XO.", "XXXO.", "XO......", "XOOOOOO."])
    text = "\n".join("".join(chance.choices(discs, k=size)) for _ in range(size))
    game, position = make("othello", size=size), Position.read(text, turn)
    if position.is_over():
        return
    state = _place(game, text, turn)
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == _actions(position)
    action = chance.choice(_actions(position))
    after, position = (
        _step(game)(state, jnp.int32(action)),
        position.after(_choice(position, action)),
    )
    assert _discs(game, after) == position.text()
    assert np.flatnonzero(game.legal_action_mask(after)).tolist() == _actions(position)
    assert game.is_terminal(after) == position.is_over()


def test_all_eight_symmetries_hold_away_from_the_start(play_randomly):
    """`check_game` can play only the four that leave the start as it is."""
    game = make("othello_6x6")
    tables = game.symmetries()
    assert game.num_symmetries == len(tables.cells) == 8
    np.testing.assert_array_equal(tables.cells, dihedral(6, 6))
    record = play_randomly(game, 4)
    position = Position(6)
    for action in record["action"][:14, 0]:
        position = position.after(_choice(position, action))
    state = _place(game, position.text(), position.turn)
    for cells, actions in zip(tables.cells, tables.actions, strict=True):
        text = np.array(list(position.text().replace("\n", "")))[cells].reshape(6, 6)
        image = _place(game, "\n".join("".join(row) for row in text), position.turn)
        mask = np.asarray(game.legal_action_mask(image))
        np.testing.assert_array_equal(mask, np.asarray(game.legal_action_mask(state))[actions])
        for action in np.flatnonzero(mask):
            before = _step(game)(state, jnp.int32(actions[action]))
            after = _step(game)(image, jnp.int32(action))
            observed = np.asarray(game.observe(before)).reshape(36, 3)[cells]
            np.testing.assert_array_equal(np.asarray(game.observe(after)).reshape(36, 3), observed)


@pytest.mark.parametrize("action", [0, 27, 64, 65, -1, -64, 2**31 - 1, -(2**31)])
def test_illegal_action_loses(play_line, action):
    before = play_line(GAME, _line("d3"))
    state = GAME.step(before, action)
    assert GAME.is_terminal(state)
    assert GAME.current_player(state) == 1
    assert GAME.returns(state).tolist() == [1, -1]
    assert not GAME.legal_action_mask(state).any()
    assert _discs(GAME, state) == _discs(GAME, before)
    _assert_same(GAME.step(state, 18), state)
    _assert_same(GAME.step(state, 64), state)


def test_illegal_action_loses_though_ahead():
    state = _place(GAME, "XXXXXXO." + "\n........" * 7, BLACK)
    lost = GAME.step(state, 64)
    assert GAME.score(lost).tolist() == [6, 1]
    assert GAME.returns(lost).tolist() == [-1, 1]


def test_observation_is_the_movers(play_line):
    planes = np.asarray(GAME.observe(play_line(GAME, _line("d3"))))
    assert np.argwhere(planes[..., 0]).tolist() == [[4, 4]]
    assert np.argwhere(planes[..., 1]).tolist() == [[2, 3], [3, 3], [3, 4], [4, 3]]
    assert np.argwhere(planes[..., 2]).tolist() == [[2, 2], [2, 4], [4, 2]]


def test_ownership_is_the_movers(play_line):
    state = play_line(GAME, _line("d3"))
    owned = np.asarray(GAME.ownership(state)).reshape(8, 8)
    assert np.argwhere(owned == 1).tolist() == [[4, 4]]
    assert np.argwhere(owned == -1).tolist() == [[2, 3], [3, 3], [3, 4], [4, 3]]
    assert GAME.score(state).tolist() == [4, 1]


def test_text(play_line):
    state = play_line(SMALL, [SMALL.string_to_action(SMALL.init(), " B1 ")])
    assert SMALL.to_string(state).splitlines() == [
        "  a b c d",
        "1 * X * .",
        "2 . X X .",
        "3 * X O .",
        "4 . . . .",
    ]
    with pytest.raises(ValueError, match="'a2' is not legal here; legal: a1, c1, a3"):
        SMALL.string_to_action(state, "a2")
    with pytest.raises(ValueError, match="'pass' is not legal here"):
        SMALL.string_to_action(state, "pass")


@pytest.mark.parametrize("size", [0, 2, 5, 7, 10, -8, 8.0, "8", True, None])
def test_range(size):
    with pytest.raises(ValueError, match="othello: size must be 4, 6 or 8, not "):
        make("othello", size=size)


def test_name_makes_the_game():
    assert make("othello_8x8").name == "othello"
    for name in ("othello_6x6", "othello_4x4"):
        assert make(name).name == name
        assert make(make(name).name) == make(name)


def test_state_is_small():
    assert sum(x.nbytes for x in jax.tree.leaves(GAME.init())) <= 48


@functools.cache
def _step(game):
    return jax.jit(game.step)


def _discs(game, state):
    """The board as `Position.text` gives it."""
    codes = np.asarray(game.view(state))[:-1].reshape(game.size, game.size)
    return "\n".join("".join(".XO."[code] for code in row) for row in codes)


def _line(text):
    return [8 * (int(name[1]) - 1) + "abcdefgh".index(name[0]) for name in text.split()]


def _actions(position):
    size = position.size
    return [
        size**2 if choice == PASS else size * choice[0] + choice[1] for choice in position.legal()
    ]


def _choice(position, action):
    return PASS if action == position.size**2 else divmod(int(action), position.size)


def _place(game, text, turn):
    """A state with that board."""
    position = Position.read(text, turn)
    own, taken, moves = np.zeros((3, game.size, game.size), bool)
    for cell, disc in position.board.items():
        own[cell], taken[cell] = disc == turn, True
    for cell in position.places(turn):
        moves[cell] = True

    def pack(cells):
        return tuple(jnp.asarray(word) for word in game._lanes.constant(cells))

    player = jnp.uint8(turn == WHITE)
    return dataclasses.replace(
        game.init(), own=pack(own), taken=pack(taken), moves=pack(moves), player=player
    )


def _find(*wanted):
    """The actions of a random 4x4 game up to where positions in a row are as wanted, and there."""
    chance = random.Random(0)
    while True:
        positions, line = [Position(4)], []
        while not positions[-1].is_over():
            line.append(chance.choice(_actions(positions[-1])))
            positions.append(positions[-1].after(_choice(positions[-1], line[-1])))
        for start in range(len(positions) - len(wanted) + 1):
            if all(test(positions[start + i]) for i, test in enumerate(wanted)):
                return line[:start], positions[start]


def _assert_same(state, other):
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(other), strict=True):
        assert a == b
