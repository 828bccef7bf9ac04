import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from azjax_envs.symmetry import dihedral
from hypothesis import given, settings
from hypothesis import strategies as st

from azjax.exact.solver import solve
from tests.oracles.othello import BLACK, PASS, WHITE, Position, best_margin
from tests.oracles.othello_boards import actions_of, choice_of, discs, place, step_of

GAME = make("othello")
SMALL = make("othello_4x4")


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
            assert np.flatnonzero(seen["mask"]).tolist() == actions_of(position)
            if seen["over"]:
                met |= {"empty cells"} if len(position.board) < size**2 else {"full board"}
                met |= {"wiped out"} if not position.count(position.turn) else set()
                met |= {"draw"} if position.margin() == 0 else set()
                assert seen["returns"][0] == np.sign(position.margin())
                break
            assert seen["player"] == (position.turn == WHITE)
            choice = choice_of(position, seen["action"])
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
        actions = actions_of(position)
        if not actions:
            break
        action = actions[pick % len(actions)]
        state, position = (
            step_of(game)(state, jnp.int32(action)),
            position.after(choice_of(position, action)),
        )
    assert discs(game, state) == position.text()
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == actions_of(position)
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
    """Perft counts sequences of actions, including passes."""
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
    """White wins by eight discs, by azjax's solver and by alpha-beta in plain Python."""
    solution = solve(SMALL, payoff="margin")
    assert solution.value == -8
    assert best_margin(Position(4)) == -8
    assert solve(SMALL).value == -1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sampled_from([4, 6, 8]), st.integers(0, 2**32), st.sampled_from([BLACK, WHITE]))
def test_any_position(size, seed, turn):
    """Positions include those that no game reaches: full rows, far corners, a single colour."""
    chance = random.Random(seed)
    kinds = chance.choice(["XO", "XO.", "XXXO.", "XO......", "XOOOOOO."])
    text = "\n".join("".join(chance.choices(kinds, k=size)) for _ in range(size))
    game, position = make("othello", size=size), Position.read(text, turn)
    if position.is_over():
        return
    state = place(game, text, turn)
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == actions_of(position)
    action = chance.choice(actions_of(position))
    after, position = (
        step_of(game)(state, jnp.int32(action)),
        position.after(choice_of(position, action)),
    )
    assert discs(game, after) == position.text()
    assert np.flatnonzero(game.legal_action_mask(after)).tolist() == actions_of(position)
    assert game.is_terminal(after) == position.is_over()


def test_all_eight_symmetries_hold_away_from_the_start(play_randomly):
    """`check_game` plays only the four that keep the start."""
    game = make("othello_6x6")
    tables = game.symmetries()
    assert game.num_symmetries == len(tables.cells) == 8
    np.testing.assert_array_equal(tables.cells, dihedral(6, 6))
    record = play_randomly(game, 4)
    position = Position(6)
    for action in record["action"][:14, 0]:
        position = position.after(choice_of(position, action))
    state = place(game, position.text(), position.turn)
    for cells, actions in zip(tables.cells, tables.actions, strict=True):
        text = np.array(list(position.text().replace("\n", "")))[cells].reshape(6, 6)
        image = place(game, "\n".join("".join(row) for row in text), position.turn)
        mask = np.asarray(game.legal_action_mask(image))
        np.testing.assert_array_equal(mask, np.asarray(game.legal_action_mask(state))[actions])
        for action in np.flatnonzero(mask):
            before = step_of(game)(state, jnp.int32(actions[action]))
            after = step_of(game)(image, jnp.int32(action))
            observed = np.asarray(game.observe(before)).reshape(36, 3)[cells]
            np.testing.assert_array_equal(np.asarray(game.observe(after)).reshape(36, 3), observed)
