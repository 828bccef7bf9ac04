"""`BaseGame` makes a complete game from a few methods."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import BaseGame, check_game, draw, make, observe_as, returns_of, to_svg
from azjax_envs.tic_tac_toe import TicTacToe


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BoardState:
    board: jax.Array  # int32 [9], 0 empty, 1 player 0, -1 player 1
    player: jax.Array  # int32 [], the player to move
    result: jax.Array  # int32 [], the result of player 0
    over: jax.Array  # bool []


LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
)


@dataclasses.dataclass(frozen=True)
class Plain(BaseGame):
    """Tic-tac-toe in as few methods as possible."""

    num_actions = 9
    max_steps = 9
    observation_shape = (3, 3, 2)

    def init(self, key=None):
        del key
        zero = jnp.int32(0)
        return BoardState(jnp.zeros(9, jnp.int32), zero, zero, jnp.bool_(False))

    def play(self, state, action):
        piece = 1 - 2 * state.player
        board = jnp.where(jnp.arange(9) == action, piece, state.board)
        won = jnp.any(jnp.all(board[LINES] == piece, axis=-1))
        return BoardState(
            board, 1 - state.player, jnp.where(won, piece, 0), won | jnp.all(board != 0)
        )

    def forfeit(self, state):
        return dataclasses.replace(state, result=2 * state.player - 1, over=jnp.bool_(True))

    def current_player(self, state):
        return state.player

    def legal_action_mask(self, state):
        return (state.board == 0) & ~state.over

    def is_terminal(self, state):
        return state.over

    def returns(self, state):
        return returns_of(jnp.where(state.over, state.result, 0))

    def observe(self, state):
        own = state.board * (1 - 2 * state.player)
        return jnp.stack([own == 1, own == -1], -1).reshape(3, 3, 2).astype(jnp.float32)


def test_a_short_game_keeps_the_contract():
    assert check_game(Plain(), games=32) == []


def test_it_plays_as_the_game_of_the_package():
    """Random games with illegal actions have the same masks, turns, ends and results."""
    mine, theirs = Plain(), TicTacToe()
    step = jax.jit(lambda a, b, x: (mine.step(a, x), theirs.step(b, x)))
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = mine.init(), theirs.init()
        for _ in range(10):
            a, b = step(a, b, rng.integers(-1, 10) if rng.random() < 0.1 else rng.integers(9))
            for what in ("legal_action_mask", "is_terminal", "returns"):
                np.testing.assert_array_equal(getattr(mine, what)(a), getattr(theirs, what)(b))
            if not a.over:
                assert mine.current_player(a) == theirs.current_player(b)
                np.testing.assert_array_equal(mine.observe(a), theirs.observe(b))
                np.testing.assert_array_equal(mine.view(a), theirs.view(b))


def test_text_and_drawing_are_there():
    game = Plain()
    state = game.init()
    for text in ("4", "0", "8"):
        state = game.step(state, game.string_to_action(state, text))
    assert game.to_string(state) == "O . .\n. X .\n. . X"
    with pytest.raises(ValueError, match=r"'4' is not legal here; legal: 1, 2, 3, 5, 6, 7"):
        game.string_to_action(state, "4")
    drawn = to_svg(game, state)
    assert drawn.count('data-code="1"') >= 2
    assert 'data-action="8"' in drawn
    assert draw(game, state)._repr_svg_() == drawn


@pytest.mark.parametrize(("actions", "clicks"), [(3, 0), (9, 9), (10, 9), (11, 0), (75, 0)])
def test_cells_are_clicked_if_there_is_an_action_for_each_and_at_most_a_pass(actions, clicks):
    class Other(Plain):
        num_actions = actions

    assert Other().svg_board().count("data-action=") == clicks


def test_the_drawing_is_player_0s_whoever_moves():
    """In this game the players sit opposite, and each sees the board from his side."""

    @dataclasses.dataclass(frozen=True)
    class Turned(Plain):
        def observe(self, state):
            planes = super().observe(state)
            return jnp.where(state.player == 0, planes, planes[::-1, ::-1])

    @dataclasses.dataclass(frozen=True)
    class Right(Turned):
        def observe_other(self, state):
            return self.observe(state)[::-1, ::-1, ::-1]

    game, plain = Right(), Plain()
    state = game.init()
    for action in (0, 4, 5, 2):
        state = game.step(state, action)
        np.testing.assert_array_equal(game.view(state), plain.view(state))
        for player in (0, 1):
            seen = plain.observe_other(state) if player != state.player else plain.observe(state)
            turned = seen[::-1, ::-1] if player else seen
            np.testing.assert_array_equal(observe_as(game, state, player), turned)
    assert check_game(game, games=8) == []


def test_the_name_makes_the_game():
    game = Plain()
    assert game.name.endswith(":Plain")
    assert make("tests.envs.test_base_game:Plain").num_actions == 9


def test_what_is_missing_is_named():
    class Half(BaseGame):
        num_actions, max_steps, observation_shape = 1, 1, (1, 1, 1)

    with pytest.raises(NotImplementedError, match="Half must define init"):
        Half().init()
