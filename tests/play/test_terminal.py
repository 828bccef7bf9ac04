"""Games in the terminal, played by scripted people."""

import dataclasses
import io
import itertools

import jax
import pytest
from azjax_envs import make
from rich.console import Console

from azjax.play.terminal import PlayResult, play
from azjax.play.text import board_text, who_is_ahead
from tests.oracles.players import SureLowest

GAME = make("tic_tac_toe")
BOXES = make("dots_and_boxes", rows=1, columns=2)


@dataclasses.dataclass(frozen=True)
class Silent:
    """The same from outside of JAX, and without an analysis."""

    game: object
    name = "silent"
    jittable = False

    def __call__(self, key, states):
        return [int(row.argmax()) for row in jax.vmap(self.game.legal_action_mask)(states)]


def sit_down(*lines, player=None, game=GAME, human=0, width=100):
    """Types the lines, then ends the input. Returns (result, output, answers).

    `answers[i]` is what was printed after line i, until the next was asked for.
    """
    console = Console(file=io.StringIO(), width=width)
    script, marks = iter(lines), []

    def answer(prompt):
        marks.append(len(console.file.getvalue()))
        console.file.write(prompt)
        line = next(script, None)
        if line is None:
            raise EOFError
        if isinstance(line, BaseException):
            raise line
        return line

    result = play(
        game,
        player or SureLowest(game),
        human=human,
        key=jax.random.PRNGKey(0),
        console=console,
        input=answer,
    )
    output = console.file.getvalue()
    ends = [*marks, len(output)]
    return result, output, [output[a:b] for a, b in itertools.pairwise(ends)]


def test_a_won_game_and_leaving():
    # The opponent fills the top row from the left.
    result, output, answers = sit_down("b2", "C2", "a2", "no")
    assert result == PlayResult(wins=1, moves=("b2", "a1", "c2", "b1", "a2"))
    assert "1  O . .\n2  . X .\n3  . . .\n" in answers[0]
    assert "lowest plays a1  (0." in answers[0]
    assert "You (X) are to move." in answers[0]
    assert "You win after 5 moves." in answers[2]
    assert output.endswith("Good-bye.\n")


def test_a_lost_game_from_the_second_seat_and_another():
    result, _, answers = sit_down("c3", "c2", "y", "quit", human=1)
    assert "1  X . .\n2  . . .\n3  . . O\n" in answers[0]
    assert "lowest wins after 5 moves." in answers[1]
    assert "You so far: 0 won, 0 drawn, 1 lost." in answers[2]
    assert result == PlayResult(losses=1, moves=("a1",))


def test_watching():
    result, output, answers = sit_down("swap", "help", "undo", "no", human=None)
    assert result.wins == 1  # the first player's: a1, c1, b2 and a3 are X
    assert "The second player (O) is to move." in output
    assert "The first player wins after 7 moves." in output
    assert "watching" in answers[0]
    assert "no move of yours" in answers[2]


def test_bad_input_gets_one_line_and_another_try():
    result, _, answers = sit_down("d9", "", "b2 b3", "a1", "a1", "quit", human=1)
    assert (
        answers[0]
        .splitlines()[0]
        .endswith("'d9' is not legal here; legal: b1, c1, a2, b2, c2, a3, b3, c3")
    )
    assert answers[1] == "your move 2 > "
    assert answers[2].count("\n") == 1
    assert "'a1' is not legal" in answers[3]  # taken
    assert result.moves == ("a1",)


def test_help_lists_moves_and_commands():
    _, _, answers = sit_down("?")
    for word in ("a1  b1  c1", "hint", "eval", "undo", "moves", "new", "swap", "quit"):
        assert word in answers[0]


def test_hint_shows_the_search():
    _, _, answers = sit_down("b2", "hint", "hint", "eval")
    row = next(line for line in answers[1].splitlines() if line.split()[:1] == ["b1"])
    assert row.split() == ["b1", "9", "100.0%", "14.3%", "+0.50", "75%"]
    assert "lowest sees you ahead: win chance 75%." in answers[1]
    assert answers[1] == answers[2]
    assert "lowest sees you ahead" in answers[3]


def test_a_player_that_does_not_explain_itself():
    _, _, answers = sit_down("b2", "hint", "eval", player=Silent(GAME))
    assert "silent plays a1" in answers[0]
    assert "silent would play b1, and does not say why" in answers[1]
    assert "does not say who is ahead" in answers[2]


def test_undo_goes_back_to_the_last_decision():
    result, _, answers = sit_down("undo", "b2", "c2", "undo", "undo", "undo", "moves")
    assert "no move of yours" in answers[0]
    assert "1  O . .\n2  . X .\n" in answers[3]
    assert "1  . . .\n2  . . .\n" in answers[4]
    assert "no move of yours" in answers[5]
    assert "No move has been made" in answers[6]
    assert result == PlayResult()


def test_undo_takes_back_a_finished_game():
    result, _, answers = sit_down("b2", "c2", "a2", "a1", "undo", "moves", "b3", "quit")
    assert "The game is over; now you can say: yes, swap" in answers[3]
    assert "1. b2  2. a1  3. c2  4. b1" in answers[5].replace("\N{NO-BREAK SPACE}", " ")
    assert result == PlayResult(losses=1, moves=("b2", "a1", "c2", "b1", "b3", "c1"))


def test_swap_in_a_game_and_after_one():
    result, _, answers = sit_down("b2", "swap", "undo", "swap", "quit")
    # The player goes on for X, and what O has decided is now the person's to take back.
    assert "You are the second player now." in answers[1]
    assert "1  O X .\n2  . X .\n" in answers[1]
    assert "1  . . .\n2  . X .\n" in answers[2]
    assert "lowest (O) is to move." in answers[3]
    assert result.moves == ("b2", "a1")
    result, _, answers = sit_down("b2", "c2", "a2", "swap", "quit")
    assert result == PlayResult(wins=1, moves=("a1",))


def test_new_abandons_the_game():
    result, _, _ = sit_down("b2", "new", "c3")
    assert result == PlayResult(moves=("c3", "a1"))


@pytest.mark.parametrize("leave", [EOFError(), KeyboardInterrupt()])
def test_leaving_without_a_word(leave):
    result, output, _ = sit_down("b2", leave)
    assert result == PlayResult(moves=("b2", "a1"))
    assert output.endswith("\nGood-bye.\n")


def test_moving_twice_running():
    # Edges 0, 2, 4 and 5 make the left box, 1, 3, 5 and 6 the right one.
    edge = [BOXES.action_to_string(BOXES.init(), action) for action in range(7)]
    script = (edge[2], edge[5], edge[4], "score", "undo", "moves")
    _, _, answers = sit_down(*script, game=BOXES)
    assert "You (X) are to move again." in answers[2]
    assert "Points: you 1, lowest 0." in answers[3]
    # Of the two moves running, one is taken back.
    drawn = answers[5].replace("\N{NO-BREAK SPACE}", " ")
    assert f"3. {edge[5]}  4. {edge[1]}" in drawn
    assert edge[4] not in drawn
    result, _, answers = sit_down(edge[2], edge[4], edge[3], game=BOXES)
    assert "lowest (O) is to move again." in answers[2]
    assert "lowest wins after 7 moves.\nPoints: you 0, lowest 2." in answers[2]
    assert result.losses == 1


def test_a_move_may_be_called_like_a_command():
    @dataclasses.dataclass(frozen=True)
    class Named:
        """Tic-tac-toe whose first cell is called "swap"."""

        inner: object = GAME

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def action_to_string(self, state, action):
            return "swap" if action == 0 else self.inner.action_to_string(state, action)

        def string_to_action(self, state, text):
            return 0 if text == "swap" else self.inner.string_to_action(state, text)

    result, _, answers = sit_down("swap", "swap", "quit", player=SureLowest(GAME), game=Named())
    assert result.moves[0] == "swap"
    assert "You play swap" in answers[0]
    assert "You are the second player now." in answers[1]


def test_no_such_seat():
    with pytest.raises(ValueError, match="human must be 0"):
        sit_down(human=2)


def test_the_board_in_colours():
    text = board_text("  X O\n1 X .\n", "  X O\n1 . .\n")
    styled = {(span.start, str(span.style)) for span in text.spans}
    assert text.plain == "  X O\n1 X ."
    assert (8, "bold bright_cyan reverse") in styled
    # The last move alone stands out; coordinates are no pieces.
    assert sum("reverse" in style for _, style in styled) == 1
    header = board_text("A O X\n. O .")
    assert {span.start for span in header.spans} == {6, 8, 10}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "an even game: win chance 50% for you"),
        (0.2, "you slightly ahead: win chance 60%"),
        (-0.5, "itself ahead: win chance 75%"),
        (-1.0, "itself winning: win chance 100%"),
    ],
)
def test_who_is_ahead_in_words(value, words):
    assert who_is_ahead(value, "you", "itself") == words
