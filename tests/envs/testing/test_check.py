"""`check_game` finds planted faults. Sound games pass it in the tests of each game."""

import dataclasses
import itertools
import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import BaseGame, Symmetries, check_game
from azjax_envs.othello import Othello
from azjax_envs.testing import check
from azjax_envs.testing.text import check_drawing, check_strings
from azjax_envs.tic_tac_toe import TicTacToe
from azjax_envs.ur import Ur

frozen = dataclasses.dataclass(frozen=True)
_calls = itertools.count()


def found(game, *expected):
    findings = check_game(game, games=32)
    for text in expected:
        assert any(text in finding for finding in findings), (text, findings)
    assert all("\n" not in finding for finding in findings)
    return findings


def test_missing_members():
    @frozen
    class Bare:
        def init(self, key=None):
            return jnp.zeros((), jnp.int32)

    found(Bare(), "step is missing", "num_actions is missing", "svg_board is missing")


def test_parameters():
    class Loose(TicTacToe):
        max_steps = 0
        observation_shape = (3, 3)
        name = ""

        def __eq__(self, other):
            return self is other

        def __hash__(self):
            return id(self)

    found(
        Loose(),
        "max_steps must be a positive integer",
        "observation_shape must be (height, width, channels)",
        "name must be a string",
        "two games with equal parameters are not equal",
    )

    class Mutable:
        pass

    for member in dir(TicTacToe):
        if not member.startswith("__"):
            setattr(Mutable, member, getattr(TicTacToe, member))
    found(Mutable(), "the game must be a frozen dataclass")


def test_types():
    @frozen
    class Types(TicTacToe):
        def current_player(self, state):
            return super().current_player(state).astype(jnp.int8)

        def returns(self, state):
            return super().returns(state)[:1]

        def step(self, state, action):
            after = super().step(state, action)
            return dataclasses.replace(after, taken=after.taken.astype(jnp.int32))

    found(
        Types(),
        "current_player must be int32, not int8",
        "returns must have the shape (2,), not (1,)",
        "step returns state.taken as int32[], init() as uint16[]",
    )


def test_weak_type():
    @frozen
    class Weak(TicTacToe):
        def init(self, key=None):
            return dataclasses.replace(super().init(), own=jnp.asarray(0))

    found(Weak(), "state.own is weakly typed, so a loop is traced twice")


def test_branching_on_the_state():
    @frozen
    class Branches(TicTacToe):
        def is_terminal(self, state):
            if state.lost:
                return state.lost
            return super().is_terminal(state)

    found(Branches(), "is_terminal, line", "TracerBoolConversionError")


def test_impure():
    @frozen
    class Counts(TicTacToe):
        def observe(self, state):
            return super().observe(state) + next(_calls)

    found(Counts(), "observe is not pure")

    @frozen
    class Mutates(TicTacToe):
        def legal_action_mask(self, state):
            object.__setattr__(state, "lost", state.lost | True)
            return super().legal_action_mask(state)

    found(Mutates(), "legal_action_mask changes the state that it is given")


def test_symmetries_that_are_no_group():
    @frozen
    class Wrong(TicTacToe):
        def symmetries(self):
            whole = super().symmetries()
            actions = whole.actions.copy()
            actions[0] = actions[1]
            actions[5] = 0
            return Symmetries(whole.cells, actions)

    found(Wrong(), "actions[0] must be the identity", "actions[5] is not a permutation of 0..8")

    @frozen
    class Half(TicTacToe):
        num_symmetries = 2

        def symmetries(self):
            whole = super().symmetries()
            return Symmetries(whole.cells[:2], whole.actions[:2])

    found(Half(), "symmetries must form a group: the product of 1 and 1 is not listed")

    @frozen
    class Few(TicTacToe):
        num_symmetries = 4

    found(Few(), "symmetries().cells must be integers of shape (4, 9), not int32[8, 9]")


def test_symmetries_of_cells_and_actions_that_disagree():
    @frozen
    class Still(TicTacToe):
        def symmetries(self):
            cells = super().symmetries().cells
            return Symmetries(cells, np.tile(np.arange(9, dtype=np.int32), (8, 1)))

    findings = found(Still(), "under a symmetry, the observation is not the transformed one")
    assert "actions before: none; action" in findings[0]


def test_rules_at_the_edges():
    @frozen
    class Edges(TicTacToe):
        def step(self, state, action):  # an action out of range plays the nearest cell
            after = super().step(state, jnp.clip(action, 0, 8))
            return dataclasses.replace(after, own=after.own ^ after.lost.astype(jnp.uint16))

        def legal_action_mask(self, state):
            return super().legal_action_mask(state) | (state.taken == 0b111111111)

    found(
        Edges(),
        "an illegal action does not lose at once",
        "step changes the state after the end",
        "an action is legal after the end",
    )


def test_results():
    @frozen
    class Results(TicTacToe):
        max_steps = 7

        def returns(self, state):
            both = super().returns(state)
            return both.at[1].set(jnp.where(both[1] < 0, -0.5, 0.25))

        def current_player(self, state):
            return super().current_player(state) + 1

        def observe(self, state):
            return super().observe(state) / jnp.where(state.taken == 0b1, 0.0, 1.0)

    found(
        Results(),
        "returns are not zero before the end",
        "returns are not zero-sum in [-1, 1]",
        "current_player is neither 0 nor 1",
        "the observation is not finite",
        "the game is not over after max_steps steps",
    )


def test_masks():
    @frozen
    class Masks(TicTacToe):
        def legal_action_mask(self, state):  # the last cell is never free, the centre always is
            mask = super().legal_action_mask(state)
            centre, last = np.arange(9) == 4, np.arange(9) == 8
            return (mask | (centre & ~self.is_terminal(state))) & ~last

    found(Masks(), "a legal action is treated as an illegal one")

    @frozen
    class Stuck(TicTacToe):
        def legal_action_mask(self, state):
            return super().legal_action_mask(state) & (np.arange(9) != 8)

    found(Stuck(), "no action is legal, and the game is not over")


def test_a_batch_that_differs_from_one():
    @frozen
    class Batched(TicTacToe):
        def step(self, state, action):
            return _step_otherwise_in_a_batch(state, action)

    found(Batched(), "a game stepped alone and the same game in a batch differ")


@jax.custom_batching.custom_vmap
def _step_otherwise_in_a_batch(state, action):
    return TicTacToe().step(state, action)


@_step_otherwise_in_a_batch.def_vmap
def _(axis_size, in_batched, state, action):
    after = jax.vmap(TicTacToe().step)(state, action)
    lost = after.lost | (jax.lax.population_count(after.taken) == 5)
    return dataclasses.replace(after, lost=lost), jax.tree.map(lambda _: True, after)


def test_strings():
    @frozen
    class Same(TicTacToe):
        def action_to_string(self, state, action):
            return "abc"[action % 3]

    assert list(check_strings(Same())) == ["actions 0 and 3 are both called 'a'"]

    @frozen
    class Reads(TicTacToe):
        def string_to_action(self, state, text):
            return 0

    (finding,) = check_strings(Reads())
    assert finding == "action 1 is called 'b1', which string_to_action reads as 0"

    @frozen
    class Accepts(TicTacToe):
        def string_to_action(self, state, text):
            try:
                return super().string_to_action(state, text)
            except ValueError:
                return 7

    finding = next(check_strings(Accepts()))
    assert finding == (
        "string_to_action must raise ValueError for the illegal 'no such action', not give 7"
    )


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ('data-cell="8"', 'data-cell="9"', "parts with data-cell 0 to 8"),
        ('data-action="8"', 'data-action="9"', "data-action 9, which is not an action"),
        ("</svg>", "", "svg_board is not well-formed"),
        ("viewBox", "box", "must be a complete <svg>"),
        ('data-cell="8"', "data-cell='8'", "to_svg does not show the codes of view"),
    ],
)
def test_drawing(old, new, finding):
    @frozen
    class Drawn(TicTacToe):
        def svg_board(self):
            return super().svg_board().replace(old, new)

    assert any(finding in line for line in check_drawing(Drawn()))


def warned(game):
    """Returns what `check_game` warns of in a game without faults."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert check_game(game, games=8) == []
    texts = [str(warning.message) for warning in caught]
    assert all("\n" not in text and text.startswith(f"{game.name}: ") for text in texts)
    assert all(warning.filename == __file__ for warning in caught)
    return texts


@pytest.mark.parametrize("typed", [False, True])
def test_dice_that_a_search_knows_in_advance(typed):
    @jax.tree_util.register_dataclass
    @frozen
    class Rolled:
        game: object
        key: jax.Array

    @frozen
    class Dice(BaseGame):
        """Whoever rolls a six first wins; the state holds the key of all rolls to come."""

        num_actions, observation_shape, max_steps = 1, (1, 1, 1), 4

        def init(self, key=None):
            key = jax.random.key(0) if typed else jax.random.PRNGKey(0)
            return Rolled(jnp.zeros(2, jnp.int32), key)  # plies, and the loser + 1

        def play(self, state, action):
            key, roll_key = jax.random.split(state.key)
            plies, mover = state.game[0] + 1, state.game[0] % 2
            six = jax.random.randint(roll_key, (), 0, 6) == 5
            ends = six | (plies == 4)
            return Rolled(jnp.stack([plies, jnp.where(ends, 2 - mover, 0)]), key)

        def forfeit(self, state):
            loser = state.game[0] % 2 + 1
            return Rolled(jnp.stack([state.game[0], loser]), state.key)

        def current_player(self, state):
            return state.game[0] % 2

        def is_terminal(self, state):
            return state.game[1] > 0

        def legal_action_mask(self, state):
            return ~self.is_terminal(state)[None]

        def returns(self, state):
            lost = state.game[1] == jnp.arange(1, 3)
            won = state.game[1] == jnp.array([2, 1])
            return won.astype(jnp.float32) - lost.astype(jnp.float32)

        def observe(self, state):
            return jnp.zeros((1, 1, 1)) + state.game[0] / 4

    (line,) = check_game(Dice(), games=8)
    assert "step draws random numbers from a key in the state" in line
    assert ("(state.key)" in line) == typed


def test_clicks_that_cannot_be_right():
    @frozen
    class Shifted(TicTacToe):
        """Action a is played on cell a + 1, and the drawing does not know."""

        def svg_board(self):
            return re.sub(
                r'data-action="(\d)"',
                lambda match: f'data-action="{(int(match[1]) + 1) % 9}"',
                super().svg_board(),
            )

    (line,) = warned(Shifted())
    assert re.search(r"a click on cell \d plays action \d, which changes cell \d: give its", line)

    @frozen
    class Few(TicTacToe):
        def svg_board(self):
            return re.sub(r' data-action="[0-5]"', "", super().svg_board())

    (line,) = warned(Few())
    assert "svg_board has clicks for 3 of 9 actions: draw data-action for all or none" in line


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (("player",), None),
        (("own", "player"), "observe reads a part of the state that unobserved names"),
        (("player", "hashes"), "unobserved names 'hashes', but the parts of a state are"),
        (("own.hashes",), "unobserved names 'own.hashes', but the parts of a state are"),
    ],
)
def test_parts_of_a_state_that_are_not_unobserved(parts, said):
    @frozen
    class Parts(Othello):
        unobserved = parts

    findings = list(check._run(check._unobserved, Parts(4)))
    assert [said in finding for finding in findings] == ([True] if said else [])


def test_a_drawing_that_changes_sides():
    @frozen
    class Sides(TicTacToe):
        def view(self, state):
            planes = self.observe(state).reshape(9, 2).astype(jnp.int32)
            return planes[:, 0] + 2 * planes[:, 1]

    (line,) = warned(Sides())
    assert "with every move the drawing changes cells that nobody touched: view should show" in line


def test_observations_out_of_their_bounds():
    @frozen
    class Large(TicTacToe):
        def observe(self, state):
            return 2.5 * super().observe(state) - 1

    @frozen
    class Bounded(Large):
        observation_bounds = (-1.0, 1.5)

    (line,) = warned(Large())
    assert "observations reach from -1 to 1.5: observation_bounds, which are 0 and 1" in line
    assert warned(Bounded()) == []


@pytest.mark.parametrize(
    ("row", "said"),
    [((0,), "the parts of action 0 make 'pass', not its text"), ((0.0,), "int32 [16")],
)
def test_parts_of_texts_that_are_wrong(row, said):
    @frozen
    class Parts(Ur):
        text_parts = ("pass",)

        def action_parts(self, state):
            return jnp.tile(jnp.asarray([row]), (16, 1))

    assert any(said in finding for finding in check._run(check.check_optional, Parts(1)))


_IN_A_CELL = """
class Cell(TicTacToe):
    def step(self, state, action):
        raise RuntimeError("no such move")
"""


def test_what_a_game_of_a_notebook_raises():
    """The class of the game is in a module without a file."""
    names = {"__name__": "__main__", "TicTacToe": TicTacToe}
    exec(compile(_IN_A_CELL, "<cell 1>", "exec"), names)
    found(names["Cell"](), "step, line 4: raised RuntimeError: no such move")
