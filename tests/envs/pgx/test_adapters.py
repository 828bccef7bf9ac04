"""Games of pgx under the contract of azjax, and games of azjax under the api test of pgx."""

import dataclasses
import json
import sys
import typing
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pgx
import pgx.go
import pytest
from azjax_envs import check_game, make, random_action
from azjax_envs.pgx.adapters import Pgx, from_pgx, to_pgx
from pgx.experimental.wrappers import auto_reset

from azjax.cli.main import main
from azjax.players.load import load_network


@pytest.fixture(autouse=True)
def _pgx_promotes_ranks():
    with jax.numpy_rank_promotion("allow"):
        yield


SMALL_GO = pgx.go.Go(size=4)


@dataclasses.dataclass(frozen=True)
class SmallGo(Pgx):
    """A class as in the example of the docstring of `Pgx`."""

    env: Any = SMALL_GO
    max_steps: int = 20


@pytest.mark.parametrize("name", ["connect_four", pytest.param("hex", marks=pytest.mark.slow)])
def test_pgx_environments_conform(name):
    assert check_game(from_pgx(name), games=24) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("othello", "animal_shogi", "gardner_chess", "go_9x9", "go_19x19", "chess", "shogi"),
        "backgammon",
    ],
)
def test_large_pgx_environments_conform(name):
    assert check_game(from_pgx(name), games=6) == []


def test_environments_with_options_are_named_by_a_class(play_line):
    game = SmallGo()
    assert game == SmallGo() == dataclasses.replace(game)
    assert hash(game) == hash(SmallGo())
    assert (game.name, game.num_actions, game.observation_shape) == ("pgx:go_4x4", 17, (4, 4, 17))
    state = play_line(game, [5, 16, 16])
    np.testing.assert_array_equal(game.returns(state), [1, -1])
    assert from_pgx("connect_four") == make("azjax_envs.pgx.adapters:Pgx", env="connect_four")


def test_a_game_cut_at_max_steps_is_drawn(play_line):
    game = from_pgx("tic_tac_toe", max_steps=5)
    assert check_game(game, games=24) == []
    state = play_line(game, [0, 1, 2, 3, 5])
    assert game.is_terminal(state)
    np.testing.assert_array_equal(game.returns(state), [0, 0])
    won = play_line(game, [0, 3, 1, 4, 2])
    np.testing.assert_array_equal(game.returns(won), [1, -1])


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four"])
def test_both_sides_agree_ply_by_ply(play_randomly, name):
    """Random games of azjax agree when replayed in pgx through the adapter."""
    ours, theirs = make(name), from_pgx(name)
    assert (theirs.num_actions, theirs.max_steps) == (ours.num_actions, ours.max_steps)
    record = play_randomly(ours, 200)

    @jax.jit
    def replay(actions):
        def ply(states, action):
            seen = {
                "mask": jax.vmap(theirs.legal_action_mask)(states),
                "player": jax.vmap(theirs.current_player)(states),
                "over": jax.vmap(theirs.is_terminal)(states),
                "returns": jax.vmap(theirs.returns)(states),
            }
            return jax.vmap(theirs.step)(states, action), seen

        start = jax.tree.map(lambda x: jnp.broadcast_to(x, (200, *x.shape)), theirs.init())
        return jax.lax.scan(ply, start, actions)[1]

    seen = replay(record["action"])
    open_ = ~record["over"]
    for what in ("mask", "over", "returns"):
        np.testing.assert_array_equal(seen[what], record[what], err_msg=what)
    np.testing.assert_array_equal(seen["player"][open_], record["player"][open_])
    assert record["over"][-1].all()


def _backgammon_lines(games, plies):
    """Plays random games of pgx's backgammon by itself, and the same through the adapter."""
    game, env = make("pgx:backgammon"), pgx.make("backgammon")
    key = jax.random.key(7)

    def roll(ours, theirs):
        high, low = theirs._dice.max(), theirs._dice.min()
        numbers = np.zeros((6, 6), np.int32)
        for k in range(21):
            numbers[tuple(int(die) - 1 for die in game.outcome_to_string(None, k).split("-"))] = k
        return game.chance_step(ours, jnp.asarray(numbers)[high, low])

    def ply(carry, key):
        ours, theirs, first = carry
        waits = jax.vmap(game.is_chance)(ours)
        rolled = jax.vmap(roll)(ours, theirs)
        seen = {
            "mask": (jax.vmap(game.legal_action_mask)(rolled), theirs.legal_action_mask),
            "board": (jax.vmap(game.observe)(rolled)[:, 0, 0], theirs.observation),
            "player": (jax.vmap(game.current_player)(rolled), theirs.current_player ^ first),
        }
        action = random_action(key, theirs.legal_action_mask)
        open_ = ~theirs.terminated
        after = jax.vmap(game.step)(rolled, action)
        moved = jax.vmap(env.step)(theirs, action, jax.random.split(key, games))
        returns = jnp.take_along_axis(moved.rewards, first[:, None], 1)[:, 0]
        result = jax.vmap(game.returns)(after)[:, 0]
        seen |= {
            "end": (jax.vmap(game.is_terminal)(after), moved.terminated),
            "points": (jnp.round(3 * result), returns),
        }
        rest = {"open": open_, "waits": waits, "played": action}
        return (after, moved, first), (seen, rest)

    def play(key):
        theirs = jax.vmap(env.init)(jax.random.split(key, games))
        ours = jax.tree.map(lambda x: jnp.broadcast_to(x, (games, *x.shape)), game.init())
        carry = ours, theirs, theirs.current_player
        return jax.lax.scan(ply, carry, jax.random.split(key, plies))[1]

    return jax.device_get(jax.jit(play)(key))


def test_backgammon_is_that_of_pgx_under_the_same_dice():
    seen, rest = _backgammon_lines(24, 600)
    for name, (ours, theirs) in seen.items():
        np.testing.assert_array_equal(ours[rest["open"]], theirs[rest["open"]], err_msg=name)
    finished = seen["end"][0][-1]
    assert finished.mean() > 0.9
    results = {abs(int(x)) for x in seen["points"][0][rest["open"]].ravel()}
    assert results >= {0, 1, 2}
    # Dice are rolled once a turn, before the first checker.
    waits, played = rest["waits"][rest["open"]], rest["played"][rest["open"]]
    assert 0.3 < waits.mean() < 0.7
    assert (played < 6).any()


def test_dice_of_pgx_are_chance():
    game = make("pgx:backgammon")
    assert game == from_pgx("backgammon") == from_pgx("backgammon", max_steps=2000)
    assert (game.name, game.num_actions, game.max_steps) == ("pgx:backgammon", 156, 2000)
    step, roll = jax.jit(game.step), jax.jit(game.chance_step)
    start = game.init()
    assert game.is_chance(start)
    assert not game.legal_action_mask(start).any()
    np.testing.assert_allclose(game.chance_probabilities(start), [1 / 15] * 15 + [0] * 6, rtol=1e-6)
    for impossible in (-1, 15, 21):
        assert game.is_chance(roll(start, impossible))
    rolled = roll(start, 14)
    assert game.to_string(rolled).splitlines()[-2] == "X to move, dice: 6 5"
    state = step(rolled, game.string_to_action(rolled, "24/18"))
    assert not game.is_chance(state)
    state = step(state, game.string_to_action(state, "18/13"))
    assert game.is_chance(state)
    assert game.current_player(state) == 1
    np.testing.assert_allclose(
        game.chance_probabilities(state), [1 / 18] * 15 + [1 / 36] * 6, rtol=1e-6
    )
    doubled = roll(state, 20)
    assert game.to_string(doubled).splitlines()[-2] == "O to move, dice: 6 6 6 6"
    for played in range(3):
        assert game.pgx_state(doubled)._played_dice_num == played
        doubled = step(doubled, np.flatnonzero(game.legal_action_mask(doubled))[0])
    lost = step(state, 0)
    np.testing.assert_array_equal(game.returns(lost), [1, -1])


def test_the_other_player_sees_the_board_of_pgx_from_the_other_side():
    game, own = make("pgx:backgammon"), make("backgammon")
    ours = game.chance_step(game.init(), 3)
    seen = game.observe_other(ours)[0, 0]
    np.testing.assert_array_equal(seen[:28], game.observe(game.init())[0, 0, :28])
    assert not seen[28:].any()
    np.testing.assert_array_equal(own.view(own.chance_step(own.init(), 3)), game.view(ours))


def test_azjax_trains_a_pgx_environment(tmp_path):
    config = tmp_path / "pgx.toml"
    config.write_text(
        """
        game = { name = "azjax_envs.pgx.adapters:Pgx", env = "tic_tac_toe" }
        cycles = 2
        network = { architecture = "mlp", blocks = 1, channels = 8, value_hidden = 8 }
        search = { num_simulations = 2 }
        selfplay = { parallel_games = 8, plies_per_cycle = 8 }
        replay = { capacity_plies = 32, min_positions = 8 }
        learning = { batch_size = 8, updates_per_cycle = 1 }
        evaluation = { every = 0 }
        """
    )
    assert main(["train", str(config), "--run-dir", str(tmp_path / "run")]) == 0
    game, _, _ = load_network(tmp_path / "run")
    assert game == from_pgx("tic_tac_toe")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    assert last["cycle"] == 2
    assert last["train/updates"] == 1


def test_states_are_smaller_than_pgx_has_them():
    game = from_pgx("go_9x9")
    theirs = pgx.make("go_9x9").init(jax.random.PRNGKey(0))
    assert _nbytes(game.init()) < _nbytes(theirs) - 9 * 9 * 17
    full = game.pgx_state(game.init())
    assert jax.tree.structure(full) == jax.tree.structure(theirs)
    np.testing.assert_array_equal(full.legal_action_mask, theirs.legal_action_mask)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ("2048", "pgx's 2048 must have 2 players, not 1"),
        ("sparrow_mahjong", "pgx's sparrow_mahjong must have 2 players, not 3"),
        ("backgammon", 'write the game of chance as "pgx:backgammon"'),
        ("kuhn_poker", "kuhn_poker has a random start: the game must be free of chance"),
        ("conect_four", "pgx has no 'conect_four'; it has 2048, animal_shogi"),
        (3, "env must be a pgx.Env or the id of one, not 3"),
    ],
)
def test_what_is_no_game_for_us_is_refused(env, message):
    with pytest.raises(ValueError, match=message) as error:
        make("azjax_envs.pgx.adapters:Pgx", env=env)
    assert "\n" not in str(error.value)


def test_chance_on_the_way_is_refused():
    class Slippery(type(pgx.make("tic_tac_toe"))):
        def _step(self, state, action, key):
            slip = jax.random.randint(key, (), 0, 9)
            return super()._step(state, (action + slip) % 9, key)

    message = "cannot be stepped without a key: the game must be free of chance"
    with pytest.raises(ValueError, match=message):
        from_pgx(Slippery())


def test_bad_options():
    with pytest.raises(ValueError, match="max_steps must be an integer from 1"):
        from_pgx("tic_tac_toe", max_steps=0)
    with pytest.raises(ValueError, match="has no option 'size'"):
        make("azjax_envs.pgx.adapters:Pgx", env="hex", size=5)


def test_azjax_envs_does_not_need_pgx(monkeypatch):
    monkeypatch.setitem(sys.modules, "pgx", None)
    with pytest.raises(ImportError, match="pgx is not installed: pip install pgx"):
        from_pgx("gardner_chess")
    with pytest.raises(ImportError, match="pgx is not installed"):
        to_pgx(make("connect_four_3x3x3"))


def test_drawing_and_text(play_line):
    game = from_pgx("connect_four")
    state = play_line(game, [3, 3, 0])
    assert game.to_string(state).splitlines()[-3:] == [
        ". . . b . . .",
        "a . . a . . .",
        "player 1 to move",
    ]
    codes = np.asarray(game.view(state))
    assert codes[35:42].tolist() == [1, 0, 0, 1, 0, 0, 0]
    assert codes[42:].tolist() == [1] + [1] * 7
    assert game.string_to_action(state, " 6 ") == 6
    with pytest.raises(ValueError, match="'7' is not legal here; legal: 0, 1"):
        game.string_to_action(state, "7")


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four_4x4", "dots_and_boxes_2x1"])
def test_games_pass_the_api_test_of_pgx(monkeypatch, name):
    api_test = sys.modules["pgx._src.api_test"]
    monkeypatch.setattr(api_test, "EnvId", typing.Literal[name])
    # pgx 2.6 samples along axis 1 even for a single mask, which newer versions of jax reject.
    monkeypatch.setattr(api_test, "act_randomly", _act_randomly)
    pgx.api_test(to_pgx(make(name)), 5)


@jax.jit
def _act_randomly(key, mask):
    return jax.random.categorical(key, jnp.log(mask.astype(jnp.float32)), axis=-1)


def test_there_and_back():
    """The game is one in which turns do not alternate."""
    game = make("dots_and_boxes_2x2")
    back = from_pgx(to_pgx(game), max_steps=game.max_steps)
    assert (back.num_actions, back.observation_shape) == (game.num_actions, game.observation_shape)
    assert check_game(back, games=24) == []


def test_a_lot_decides_who_is_player_0():
    env = to_pgx(make("tic_tac_toe"))
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(1), 64))
    first = np.asarray(states.current_player)
    assert 16 < first.sum() < 48
    step = jax.jit(jax.vmap(env.step))
    for action in (0, 3, 1, 4, 2):  # the top row, by the first player
        states = step(states, jnp.full(64, action))
    assert states.terminated.all()
    assert states.legal_action_mask.all()
    wins = np.where((first == 0)[:, None], [1, -1], [-1, 1])
    np.testing.assert_array_equal(states.rewards, wins)
    np.testing.assert_array_equal(step(states, jnp.full(64, 8)).rewards, 0)


def test_an_illegal_action_is_punished_as_in_pgx():
    env, theirs = to_pgx(make("tic_tac_toe")), pgx.make("tic_tac_toe")
    for e in (env, theirs):
        start = jax.jit(e.init)(jax.random.PRNGKey(0))
        step = jax.jit(e.step)
        state = step(step(start, 4), 4)
        assert state.terminated
        assert state.rewards[start.current_player] == 1
        assert state.rewards[1 - start.current_player] == -1


def test_wrappers_of_pgx_take_our_games():
    env = to_pgx(make("dots_and_boxes_1x1"))
    step = jax.jit(jax.vmap(auto_reset(env.step, env.init)))
    keys = jax.random.split(jax.random.key(0), 8)
    states = jax.vmap(env.init)(keys)
    ends = 0
    for _ in range(8):
        states = step(states, jnp.argmax(states.legal_action_mask, axis=1), keys)
        ends += int(states.terminated.sum())
    assert ends == 16
    assert states.observation.shape == (8, *env.observation_shape)


def _nbytes(tree):
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))
