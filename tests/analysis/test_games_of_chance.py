"""Games of dice that are analysed: moves are judged after their rolls, by perfect play or a search.

With two pieces each, the Royal Game of Ur has choices and is solved at once.
"""

import dataclasses
import json
import re

import jax
import numpy as np
import pytest
from azjax_envs import make

import azjax
from azjax.analysis import games_of_chance, position_search
from azjax.analysis.analyse import analyse
from azjax.chance import outcomes
from azjax.cli.main import main
from azjax.errors import UserError
from azjax.exact.chance_solver import solve_chance
from azjax.files.game_record import replay, start_game
from azjax.players.load import load_player
from azjax.pytrees import expand
from azjax.search.search import search
from tests.web.sites import untrained

GAME = make("ur_2")


@pytest.fixture(autouse=True)
def few_programs(monkeypatch):
    """Has all games searched by the same programs."""
    monkeypatch.setattr(position_search, "BATCH", 4)


@pytest.fixture(scope="module")
def perfect():
    return load_player("exact", game=GAME)


@pytest.fixture(scope="module")
def judge():
    """Has learned nothing, and searches a little."""
    player = untrained("ur_2")
    config = dataclasses.replace(player.config, num_simulations=16)
    return dataclasses.replace(player, config=config)


def random_game(seed, choose=None, moves=1000):
    """Returns a game of random moves, or of those that `choose` picks, until it is over."""
    rng, key = np.random.default_rng(seed), jax.random.key(seed)
    record = start_game(GAME, key)
    while not record.current.over and record.num_moves < moves:
        legal = list(record.legal_moves())
        action = int(rng.choice(legal)) if choose is None else choose(record, legal)
        record = record.play(action, key=jax.random.fold_in(key, record.num_moves))
    return record


def words_of(record):
    """Returns the game as a list of moves has it: "2:", "new", "1:", ..."""
    words = []
    for position, move in zip(record.positions, record.moves, strict=False):
        words += [f"{position.roll}:"] * bool(position.roll) + [move]
    return words


def test_perfect_play_judges_each_move_after_its_roll(perfect):
    """What a move loses is computed anew from the values of the solution."""
    record, solution = random_game(2), solve_chance(GAME)
    found = analyse(GAME, record, perfect)

    def value(state):
        """Returns player 0's expected result before a roll, or at the end."""
        if GAME.is_terminal(state):
            return float(GAME.returns(state)[0])
        known = float(solution.state_values(expand(state))[0])
        return -known if GAME.current_player(state) else known

    for move in found.moves:
        state = record.positions[move.number - 1].state
        sign = -1 if move.mover else 1
        legal = record.truncate(move.number - 1).legal_moves()
        after = {action: sign * value(GAME.step(state, action)) for action in legal}
        played = record.positions[move.number].action
        assert move.loss == pytest.approx((max(after.values()) - after[played]) / 2, abs=1e-5)
        assert after[move.best] == pytest.approx(max(after.values()), abs=1e-5)
        assert move.forced == (len(legal) == 1)
        assert found.values[move.number - 1] == pytest.approx(sign * after[move.best], abs=1e-5)
    for mover in (0, 1):
        losses = [m.loss for m in found.moves if m.mover == mover and not m.forced]
        assert found.error_rates[mover] == pytest.approx(np.mean(losses))
        assert found.error_rates[mover] > 0


def test_luck_is_no_mistake(perfect):
    """Perfect play makes no mistake, whatever is rolled."""

    move_values = jax.jit(perfect.move_values)

    def best(record, legal):
        values = np.asarray(move_values(expand(record.current.state)))
        return max(legal, key=lambda action: float(values[0, action]))

    for seed in (0, 1):
        found = analyse(GAME, random_game(seed, best), perfect)
        assert max(move.loss for move in found.moves) < 1e-6
        assert np.ptp(found.values) > 1  # it was decided by luck
        assert found.turning_points == ()


def test_moves_and_rolls_as_words(perfect):
    record = random_game(3)
    words = words_of(record)
    found = analyse(GAME, words, perfect)
    assert found.values == analyse(GAME, record, perfect).values
    assert replay(GAME, words).moves == record.moves
    assert [p.roll for p in found.record.positions] == [p.roll for p in record.positions]
    with pytest.raises(UserError, match=r"move 1: a roll must stand before 'new'"):
        replay(GAME, ["new"])
    with pytest.raises(UserError, match=r"move 1: a roll must stand before '0'"):
        replay(GAME, [0])
    with pytest.raises(UserError, match=r"move 1: '5' is no roll here; rolls are 0, 1, 2, 3, 4"):
        replay(GAME, ["5:", "new"])
    with pytest.raises(UserError, match=r"move 1: '2:' is a roll, and no dice are to be rolled"):
        replay(GAME, ["1:", "2:"])
    with pytest.raises(UserError, match=r"move 2: '2:' is a roll, and no dice are to be rolled"):
        replay(make("tic_tac_toe"), ["b2", "2:"])


def test_a_search_is_asked_only_where_there_is_a_choice(judge, monkeypatch):
    record, asked = random_game(4), []
    searched = position_search.search_all

    def count(player, states, number, progress):
        asked.append(number)
        return searched(player, states, number, progress)

    monkeypatch.setattr(games_of_chance, "search_all", count)
    calls = []
    found = analyse(GAME, record, judge, progress=lambda *numbers: calls.append(numbers))
    chosen = [move for move in found.moves if not move.forced]
    assert asked == [len(chosen)]
    assert 0 < len(chosen) < len(found.moves)
    assert calls[-1][0] == calls[-1][1]
    for move in found.moves:
        played = record.positions[move.number].action
        legal = record.truncate(move.number - 1).legal_moves()
        assert move.loss >= 0
        assert not (move.loss and (move.forced or move.best == played))
        assert move.line[0] == legal[move.best]
        assert len(move.line) == 1  # then the dice are rolled
    assert all(-1 <= value <= 1 for value in found.values)


def test_a_move_is_compared_in_a_search_of_two_moves(judge):
    record = random_game(5)
    found = analyse(GAME, record, judge)
    move = next(m for m in found.moves if m.best != record.positions[m.number].action)
    state = expand(record.positions[move.number - 1].state)
    pair = [move.best, record.positions[move.number].action]
    allowed = np.isin(np.arange(GAME.num_actions), pair)[None]
    result, _ = jax.jit(judge.analyse_with_tree)(jax.random.PRNGKey(0), state, allowed=allowed)
    assert set(np.flatnonzero(result.visits[0])) == set(pair)
    assert result.visits.sum() == 16
    best, own = (float(result.action_values[0, action]) for action in pair)
    assert move.loss == pytest.approx(max(best - own, 0) / 2, abs=1e-5)


def test_a_game_that_ends_before_a_roll_or_after_it(judge):
    record = random_game(6, moves=3)
    before = record.truncate(2).play(record.positions[3].action)
    assert before.awaits_roll
    unrolled = analyse(GAME, before, judge)
    shares, after = jax.jit(outcomes, static_argnums=0)(GAME, before.current.state)
    values = judge.predict(after).value * np.where(jax.vmap(GAME.current_player)(after), -1, 1)
    assert unrolled.values[-1] == pytest.approx(float(np.sum(shares * values)), abs=1e-4)
    assert len(analyse(GAME, record, judge).values) == 4


def test_a_search_of_the_users_own_tells_only_where_it_would_play_another_move(judge):
    def own(*arguments, **options):
        return search(*arguments, **options)

    found = analyse(GAME, random_game(5), dataclasses.replace(judge, search=own))
    others = [move for move in found.moves if move.is_other]
    assert others
    assert f"the judge would play {others[0].line[0]}" in found.comment(others[0])
    assert "NaN" not in found.page()


def test_points_are_told_where_a_game_counts_them():
    player = untrained("hypergammon")
    found = analyse(player.game, ["6-3:", "24/18", "23/20", "5-4:", "24/19", "22/18"], player)
    assert "points" in found.comment(found.moves[0])
    assert re.search(
        r"errors per move with a choice: the light checkers \d.\d+ points",
        str(found).replace("\n", ""),
    )
    assert [move.roll for move in found.moves] == ["6-3", "", "5-4", ""]
    assert found.comment(found.moves[1]).startswith("6-3: the light checkers ")
    assert len(found.moves[0].line) <= 2  # both dice


def test_the_command_shows_each_roll_before_its_moves(tmp_path, capsys):
    record = random_game(2)
    file = tmp_path / "games.txt"
    file.write_text(f"# ur_2\n{' '.join(words_of(record))}\n")
    assert main(["analyse", str(file), "--player", "exact"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "judged by exact; errors per move with a choice: the lower row" in out
    found = analyse(GAME, record, load_player("exact", game=GAME))
    for move in found.turning_points:
        assert f"{move.number}. {record.positions[move.number - 1].roll}: {move.move} the " in out
    page = (tmp_path / "games.analysed.html").read_text()
    setup = json.loads(re.search(r'id="setup">(.*?)</script>', page, re.DOTALL)[1])
    assert [page["player"] for page in setup["pages"]] == [p.mover for p in record.positions]
    assert setup["pages"][1]["name"] == f"{record.positions[0].roll}: {record.moves[0]}"
    assert setup["pages"][0]["rolled"] == f"the lower row rolled {record.positions[0].roll}"


def test_what_has_no_judge():
    with pytest.raises(UserError, match="has no search"):
        azjax.analyse(GAME, [], load_player("random", game=GAME))
