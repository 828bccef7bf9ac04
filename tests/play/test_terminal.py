"""Games in the terminal, played by scripts."""

import dataclasses
import io
import itertools
import re

import jax
import numpy as np
import pytest
from azjax_envs import make
from rich.console import Console

from azjax.files.game_record import start_game
from azjax.play.session import Session
from azjax.play.terminal import PlayResult, play
from azjax.play.text import board_text, outcome, player_in_words, who_is_ahead
from azjax.players.exact import MoveResults, exact_player, results_in_words
from azjax.players.random_player import RandomPlayer
from tests.oracles.players import SureLowest

GAME = make("tic_tac_toe")
BOXES = make("dots_and_boxes", rows=1, columns=2)


@dataclasses.dataclass(frozen=True)
class WithoutAnalysis:
    """Plays the lowest move, outside of JAX and without an analysis."""

    game: object
    name = "silent"
    jittable = False

    def __call__(self, key, states):
        return [int(row.argmax()) for row in jax.vmap(self.game.legal_action_mask)(states)]


def play_script(*lines, player=None, game=GAME, human=0, humans=None, width=100, **options):
    """Types the lines, then ends the input, and returns (result, output, answers).

    `answers[i]` is what was printed between line i and the prompt for the next.
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
        humans=humans or (() if human is None else (human,)),
        key=jax.random.PRNGKey(0),
        console=console,
        input=answer,
        **options,
    )
    output = console.file.getvalue()
    ends = [*marks, len(output)]
    return result, output, [output[a:b] for a, b in itertools.pairwise(ends)]


def test_a_won_game():
    # The opponent fills the top row from the left.
    result, output, answers = play_script("b2", "C2", "a2", "no")
    assert result == PlayResult(wins=1, moves=("b2", "a1", "c2", "b1", "a2"))
    assert "1  O . .\n2  . X .\n3  . . .\n" in answers[0]
    assert "lowest plays a1  (0." in answers[0]
    assert "You (X) are to move." in answers[0]
    assert "You win after 5 moves." in answers[2]
    assert output.endswith("Good-bye.\n")


def test_a_lost_game_as_second_player_and_another_game():
    result, _, answers = play_script("c3", "c2", "y", "quit", human=1)
    assert "1  X . .\n2  . . .\n3  . . O\n" in answers[0]
    assert "lowest wins after 5 moves." in answers[1]
    assert "Your results so far: 0 won, 0 drawn, 1 lost." in answers[2]
    assert result == PlayResult(losses=1, moves=("a1",))


def test_watching():
    result, output, answers = play_script("swap", "help", "undo", "no", human=None)
    assert result.wins == 1  # the first player's: a1, c1, b2 and a3 are X
    assert "The second player (O) is to move." in output
    assert "The first player wins after 7 moves." in output
    assert "watching" in answers[0]
    assert "no move to take back" in answers[2]


def test_bad_input_gets_one_line_and_another_prompt():
    script = ("d9", "", "b2 b3", "a1", "a1", "quit")
    result, _, answers = play_script(*script, human=1, width=200)
    assert (
        answers[0]
        .splitlines()[0]
        .endswith(
            "'d9' is not legal here; legal: b1, c1, a2, b2, c2, a3, b3, c3. "
            "Type help for the moves and commands."
        )
    )
    assert answers[1] == "your move 2 > "
    assert answers[2].count("\n") == 1
    assert "'a1' is not legal" in answers[3]  # taken
    assert result.moves == ("a1",)


def test_help_lists_moves_and_commands():
    _, _, answers = play_script("?")
    for word in ("a1  b1  c1", "hint", "eval", "undo", "moves", "new", "swap", "resign", "quit"):
        assert word in answers[0]


def test_hint_shows_the_search():
    _, _, answers = play_script("b2", "hint", "hint", "eval")
    row = next(line for line in answers[1].splitlines() if line.split()[:1] == ["b1"])
    assert row.split() == ["b1", "9", "100.0%", "14.3%", "+0.50", "75%"]
    assert "lowest sees you ahead: win chance 75%." in answers[1]
    assert answers[1] == answers[2]
    assert "lowest sees you ahead" in answers[3]


def test_a_player_without_an_analysis():
    _, _, answers = play_script("b2", "hint", "eval", player=WithoutAnalysis(GAME))
    assert "silent plays a1" in answers[0]
    assert "silent would play b1; it gives no reasons" in answers[1]
    assert "cannot say who is ahead" in answers[2]


def test_a_perfect_player_tells_the_result_of_every_move():
    script = ("a1", "hint", "eval", "c1", "hint", "eval")  # its answers are drawn at random
    _, _, answers = play_script(*script, player=exact_player(GAME))
    words = [line.split(maxsplit=1) for line in answers[1].splitlines()[2:-1]]
    assert len(words) == 7
    assert {text.strip() for _, text in words} <= {"draw", "loss in 4 plies", "win in 5 plies"}
    assert "would play" in answers[1]
    assert re.search("You have a (draw|win in .*) under best play", answers[2])
    assert "reasons" not in "".join(answers)


@pytest.mark.parametrize(
    ("results", "plies", "words"),
    [
        (
            [0, 1, -np.inf, 1, -1, -1],
            [0, 5, 0, 1, 2, 4],
            {3: "win in 1 ply", 1: "win in 5 plies", 0: "draw", 5: "loss in 4 plies"}
            | {4: "loss in 2 plies"},
        ),
        ([-1, 0, 1], [0, 0, 0], {2: "win", 1: "draw", 0: "loss"}),
    ],
)
def test_results_in_words_are_ordered(results, plies, words):
    found = results_in_words(MoveResults(np.array(results, float), np.array(plies)))
    assert list(found.items()) == list(words.items())


def test_undo_goes_back_to_the_last_decision():
    result, _, answers = play_script("undo", "b2", "c2", "undo", "undo", "undo", "moves")
    assert "no move to take back" in answers[0]
    assert "1  O . .\n2  . X .\n" in answers[3]
    assert "1  . . .\n2  . . .\n" in answers[4]
    assert "no move to take back" in answers[5]
    assert "No moves yet" in answers[6]
    assert result == PlayResult()


def test_undo_takes_back_a_finished_game():
    result, _, answers = play_script("b2", "c2", "a2", "a1", "undo", "moves", "b3", "quit")
    assert "The game is over; you can type: yes, swap" in answers[3]
    assert "1. b2  2. a1  3. c2  4. b1" in answers[5].replace("\N{NO-BREAK SPACE}", " ")
    assert result == PlayResult(losses=1, moves=("b2", "a1", "c2", "b1", "b3", "c1"))


def test_swap_in_a_game_and_after_one():
    result, _, answers = play_script("b2", "swap", "undo", "swap", "quit")
    # The player continues as X, and the person can take back O's moves.
    assert "You are the second player now." in answers[1]
    assert "1  O X .\n2  . X .\n" in answers[1]
    assert "1  . . .\n2  . X .\n" in answers[2]
    assert "lowest (O) is to move." in answers[3]
    assert result.moves == ("b2", "a1")
    result, _, answers = play_script("b2", "c2", "a2", "swap", "quit")
    assert result == PlayResult(wins=1, moves=("a1",))


def test_new_abandons_the_game():
    result, _, _ = play_script("b2", "new", "c3")
    assert result == PlayResult(moves=("c3", "a1"))


@pytest.mark.parametrize("leave", [EOFError(), KeyboardInterrupt()])
def test_leaving_without_a_command(leave):
    result, output, _ = play_script("b2", leave)
    assert result == PlayResult(moves=("b2", "a1"))
    assert output.endswith("\nGood-bye.\n")


def test_two_moves_in_a_row():
    # Edges 0, 2, 4 and 5 make the left box, 1, 3, 5 and 6 the right one.
    edge = [BOXES.action_to_string(BOXES.init(), action) for action in range(7)]
    script = (edge[2], edge[5], edge[4], "score", "undo", "moves")
    _, _, answers = play_script(*script, game=BOXES)
    assert "You (X) are to move again." in answers[2]
    assert "Points: you 1, lowest 0." in answers[3]
    # Only the last of the two moves in a row is taken back.
    drawn = answers[5].replace("\N{NO-BREAK SPACE}", " ")
    assert f"3. {edge[5]}  4. {edge[1]}" in drawn
    assert edge[4] not in drawn
    result, _, answers = play_script(edge[2], edge[4], edge[3], game=BOXES)
    assert "lowest (O) is to move again." in answers[2]
    assert "lowest wins after 7 moves.\nPoints: you 0, lowest 2." in answers[2]
    assert result.losses == 1


def test_a_move_may_have_the_name_of_a_command():
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

    result, _, answers = play_script("swap", "swap", "quit", player=SureLowest(GAME), game=Named())
    assert result.moves[0] == "swap"
    assert "You play swap" in answers[0]
    assert "You are the second player now." in answers[1]


def test_an_invalid_seat():
    with pytest.raises(ValueError, match="humans must be"):
        play_script(human=2)


def test_the_board_in_colours():
    text = board_text("  X O\n1 X .\n", "  X O\n1 . .\n")
    styled = {(span.start, str(span.style)) for span in text.spans}
    assert text.plain == "  X O\n1 X ."
    assert (8, "bold bright_cyan reverse") in styled
    # Only the last move is highlighted; coordinates are not pieces.
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


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.01, "an even game: 0.03 points a game expected"),
        (0.2, "you ahead: 0.60 points a game expected"),
        (-0.5, "itself ahead: 1.50 points a game expected"),
    ],
)
def test_who_is_ahead_in_points(value, words):
    assert who_is_ahead(value, "you", "itself", points=3) == words


def test_hints_count_points():
    game = make("hypergammon")
    _, _, answers = play_script("hint", "eval", player=SureLowest(game), game=game)
    assert re.search(r"move +visits +search +prior +points\n", answers[0])
    assert "win" not in answers[0].split("sees")[0].split("move ")[1]
    assert "points a game expected" in answers[1]


def test_a_game_is_won_by_points():
    game = make("hypergammon")
    record = start_game(game, jax.random.key(0))
    session = Session(RandomPlayer(game), (0, 1), jax.random.key(0), record)
    while not session.over:
        session = session.play(next(iter(session.record.legal_moves())))
    won = round(3 * abs(session.current.returns[0]))
    words = f"{won} point{'s' * (won > 1)} after {session.record.num_moves} moves."
    assert outcome(session).endswith(f"player wins {words}")


def test_resigning_loses_the_game():
    script = ("b2", "resign", "resign", "eval", "moves", "yes", "resign", "undo", "c3", "resign")
    result, _, answers = play_script(*script, "new", "quit")
    assert "You resigned after 2 moves: lowest wins.\n" in answers[1]
    assert "Another game? (yes, swap, undo, moves, quit) > " in answers[2]
    assert "The game is over" in answers[2]
    assert "You resigned after 2 moves" in answers[3]
    assert "0 won, 0 drawn, 1 lost" in answers[5]
    assert "You resigned after 0 moves" in answers[6]
    assert "You are to move." in answers[7]  # the resignation is taken back
    assert "0 won, 0 drawn, 2 lost" in answers[10]
    assert result == PlayResult(losses=2)


def test_a_resigned_game_can_be_left_or_swapped():
    assert play_script("b2", "resign")[0] == PlayResult(losses=1, moves=("b2", "a1"))
    result, _, answers = play_script("resign", "swap", "quit")
    assert "You are the second player now." in answers[1]
    assert result == PlayResult(losses=1, moves=("a1",))


def test_a_spectator_cannot_resign():
    assert "no game to resign" in play_script("resign", "quit", human=None)[2][0]


def test_two_people_at_one_board():
    script = ["b2", "a1", "undo", "a1", "hint", "swap", "c1", "resign", "yes", "c3", "quit"]
    result, output, answers = play_script(*script, humans=(0, 1))
    assert "tic_tac_toe: two people at one board; hints by" in output
    assert "The first player plays b2" in joined(answers[0])
    assert "The second player (O) is to move." in joined(answers[0])
    assert "The second player plays a1" in joined(answers[1])
    assert "Two people play: there are no sides to swap." in answers[5]
    assert "The second player resigned after 3 moves: the first player wins." in joined(answers[7])
    assert result == PlayResult(wins=1, moves=("c3",))


class Engine(WithoutAnalysis):
    """An engine that must know the whole game, and resigns or claims it at the end."""

    follows_history = True
    end = -1

    def __call__(self, key, states, history):
        (line,) = history
        assert [seat for seat, _ in line] == [i % 2 for i in range(len(line))]
        return [self.end] if len(line) > 2 else super().__call__(key, states)


@pytest.mark.parametrize(
    ("end", "said", "result"),
    [
        (-1, "engine resigns. You win after 3 moves.", {"wins": 1}),
        (-2, "engine claims a win. Engine wins after 3 moves.", {"losses": 1}),
    ],
)
def test_an_engine_may_end_the_game(end, said, result):
    player = Engine(GAME)
    player.end = end
    found, _, answers = play_script("b2", "c3", "quit", player=player)
    assert said.lower() in joined(answers[1]).lower().replace("silent", "engine")
    assert found == PlayResult(**result, moves=("b2", "a1", "c3"))


def test_unknown_words_point_to_help():
    _, _, answers = play_script("resing", "what")
    assert "Did you mean resign? Type help for the moves and commands." in joined(answers[0])
    assert "Did you mean" not in answers[1]
    assert "Type help for the moves and commands." in joined(answers[1])


def joined(text):
    return " ".join(text.split())


@pytest.mark.parametrize("width", [24, 30, 40, 60])
def test_narrow_windows_keep_words_and_columns(width):
    script = ("help", "b2", "hint", "what", "moves")
    _, narrow, answers = play_script(*script, width=width)
    lines = [line for line in narrow.split("\n") if " > " not in line]
    assert max(map(len, lines)) <= width
    assert words(narrow) <= words(play_script(*script, width=400)[1])
    cells = {
        "move": "b1",
        "visits": "9",
        "search": "100.0%",
        "prior": "14.3%",
        "value": "+0.50",
        "chance": "75%",
    }
    if width < 44:
        del cells["prior"]
    if width < 35:
        del cells["search"]
    if width < 27:
        del cells["value"]
    rows = [line.split() for line in answers[2].splitlines()]
    assert list(cells) in rows
    assert list(cells.values()) in rows


def test_a_long_question_keeps_its_words():
    _, out, _ = play_script("b2", "c2", "a2", width=40)
    assert "Another game? (yes, swap, undo, moves, \nquit)\n> " in out


def words(text):
    """Returns the words in a text, without the seconds of moves and the table's rules."""
    return {word for word in text.split() if not word.startswith("(0.") and "\u2500" not in word}


@pytest.mark.parametrize(
    ("name", "called", "in_full"),
    [
        ("search:64", "the network", "the network, 64 simulations"),
        ("search:1", "the network", "the network, 1 simulation"),
        ("policy", "the network without search", "the network without search"),
        ("uct:1000", "the UCT player", "the UCT player, 1,000 simulations"),
        ("minimax:1", "the minimax player", "the minimax player, 1 ply"),
        ("minimax:4", "the minimax player", "the minimax player, 4 plies"),
        ("random", "the random player", "the random player"),
        ("gnugo:3", "gnugo:3", "gnugo:3"),
    ],
)
def test_players_in_words(name, called, in_full):
    assert player_in_words(name) == (called, in_full)


def test_the_opponent_is_called_by_what_it_is():
    player = SureLowest(GAME)
    object.__setattr__(player, "name", "search:64")
    _, out, answers = play_script("b2", "eval", "c2", "b3", "a2", "resign", player=player)
    assert "you are the first player against the network, 64 simulations." in out
    assert "The network plays a1" in answers[0]
    assert "The network sees you ahead" in answers[1]
    assert "search:64" not in out


def test_chess_is_typed_and_shown_as_players_write_it():
    script = ("e3", "dxe3", "a3", "moves", "ke5", "?", "quit")
    result, _, answers = play_script(*script, game=make("gardner_chess"), humans=(0, 1))
    assert "plays e3" in answers[0]
    assert answers[1].startswith("your move 1 > ")
    assert "plays dxe3" in answers[1]
    assert answers[2].startswith("your move 2 > ")
    assert "1.\N{NO-BREAK SPACE}e3  dxe3  2.\N{NO-BREAK SPACE}a3" in answers[3]
    assert "'ke5' is not legal here; legal: " in answers[4]
    assert "Nxa3" in answers[5]
    assert result.moves == ("e2e3", "d4e3", "a2a3")


def test_the_program_rolls_the_dice():
    game = make("ur_1")
    result, output, answers = play_script(
        "undo", "new", "pass", "undo", "quit", game=game, humans=(0, 1)
    )
    rolls = re.findall(r"to move(?: again)? with a roll of ([0-4])\.", output)
    assert len(rolls) >= 2
    assert all(f"dice: {roll}" in output for roll in rolls)
    assert "no move to take back" in answers[0]
    assert result.moves == ()
    again, _, _ = play_script("new", "pass", game=game, humans=(0, 1))
    assert len(again.moves) <= 2


def test_people_roll_the_dice():
    game = make("ur_1")
    result, output, answers = play_script(
        *("hint", "help", "5", "1", "new", "moves", "", "1", "undo", "4", "quit"),
        game=game,
        humans=(0, 1),
        asks_dice=True,
    )
    assert "The first player is to roll." in output
    assert "the roll of the first player > " in answers[0]
    assert "Type the roll first." in answers[0]
    assert "Type the roll of the dice, such as 3 or 6-1." in answers[1]
    assert "'5' is no roll here; rolls are 0, 1, 2, 3, 4" in answers[2]
    assert "is to move with a roll of 1." in answers[3]
    assert "The second player is to roll." in answers[4]
    assert "the roll of the second player > " in answers[5]
    assert "is to move with a roll of 1." in answers[7]
    assert "is to move with a roll of 1." in answers[8]
    assert result.moves == ()


def test_a_player_moves_by_real_dice():
    game = make("ur_1")
    result, output, answers = play_script(
        "0", "pass", "1", "quit", game=game, player=RandomPlayer(game), asks_dice=True
    )
    assert result.moves[:2] == ("pass", "new")
    assert "your roll > " in answers[0]
    assert "the roll of the random player > " in answers[2]
    assert "The random player plays new" in answers[2]
    assert "You are to roll." in answers[2]
    assert output.count("dice to be rolled") == 3
