"""Games of chance: Pig from the documentation, and small games with faults."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import (
    BaseGame,
    HasChance,
    auto_reset,
    check_game,
    draw_chance,
    init_batch,
    make,
    possible_results,
)
from azjax_envs.testing import check, play
from azjax_envs.testing.doubts import find_doubts
from azjax_envs.testing.hidden import check_hidden
from azjax_envs.testing.text import check_outcomes

from tests.oracles.pig import Pig

frozen = dataclasses.dataclass(frozen=True)
KEY = jax.random.key(0)


def test_pig_has_chance_and_a_game_without_stays_as_it_is():
    assert isinstance(Pig(), HasChance)
    game = make("tic_tac_toe")
    assert not isinstance(game, HasChance)
    states = game.init()
    assert draw_chance(game, KEY, states) is states
    # One program, with or without the code for chance.
    plain = jax.make_jaxpr(lambda key: jax.vmap(game.init)(jax.random.split(key, 3)))(KEY)
    assert str(jax.make_jaxpr(lambda key: init_batch(game, key, 3))(KEY)) == str(plain)

    def reset(state, action):
        after = game.step(state, action)
        done = game.is_terminal(after)
        new = jax.tree.map(lambda x, y: jnp.where(done, x, y), game.init(None), after)
        return new, game.returns(after), done

    steps = [jax.make_jaxpr(step)(states, 0) for step in (auto_reset(game), reset)]
    assert str(steps[0]) == str(steps[1])


def test_dice_are_fair_and_leave_others_alone():
    game = Pig()
    start = game.init()
    pair = jax.tree.map(lambda *x: np.stack(x), start, game.step(start, 1))
    states = jax.tree.map(lambda x: np.concatenate([x] * 6000), pair)
    draw = jax.jit(draw_chance, static_argnums=0)
    after = draw(game, KEY, jax.tree.map(lambda x: x.reshape(2, -1, *x.shape[1:]), states))
    rolled = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[1::2], after)
    idle = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[::2], after)
    jax.tree.map(np.testing.assert_array_equal, idle, jax.tree.map(lambda x: x[::2], states))
    counts = np.bincount(np.where(rolled.turn == 0, 1, rolled.turn), minlength=7)[1:]
    assert (rolled.player == (rolled.turn == 0)).all()
    assert ((counts - 1000) ** 2 / 1000).sum() < 20.5  # 0.1% of fair dice are worse
    one = draw(game, KEY, game.step(start, 1))
    assert not one.rolling


def test_auto_reset_rolls():
    game = Pig(5)
    step = jax.jit(jax.vmap(auto_reset(game, keep_final=True)))
    states, ended = init_batch(game, KEY, 32), 0
    for ply in range(12):
        actions = jnp.argmax(jax.vmap(game.legal_action_mask)(states), axis=1)
        keys = jax.random.split(jax.random.key(ply), 32)
        states, returns, done, final = step(states, actions, keys)
        assert not states.rolling.any()
        assert (final.rolling == (actions == 1)).all()
        assert (abs(returns[:, 0]) == done).all()
        ended += done.sum()
    assert ended > 0
    with pytest.raises(ValueError, match="is a game of chance: each step needs a PRNG key"):
        auto_reset(game)(game.init(), 0)


def test_results():
    @frozen
    class Points(Pig):
        results = (2, 1, -1, -2)

    assert possible_results(Pig()) == (1, 0, -1)
    assert possible_results(Points()) == (2, 1, -1, -2)

    for returns, over, fault in (([0, 0], True, True), ([0.5, -0.5], True, False), ([0, 0], 0, 0)):
        seen = {"returns": jnp.array(returns), "over": jnp.bool_(over)}
        assert play._no_result(Points(), seen) == fault

    @frozen
    class Odd(Points):
        results = (2, 1, -1)

    assert [*check._parameters(Odd())] == [
        "results must have each number with both signs, not (2, 1, -1)"
    ]


@frozen
class Loose(Pig):
    """Chance goes wrong in most ways."""

    def chance_probabilities(self, state):
        return jnp.array([0.5, 0.5, 0.5, -0.25, 0, 0])

    def legal_action_mask(self, state):
        return jnp.stack([state.turn > 0, True]) & ~self.is_terminal(state)

    def chance_step(self, state, outcome):
        return self.play_chance(state, outcome)

    def play_chance(self, state, outcome):
        return dataclasses.replace(state, turn=state.turn + outcome)

    def outcome_to_string(self, state, outcome):
        return "a roll"


def test_faults_of_chance():
    findings = [*play.check_play(Loose(4), games=8, seed=0), *check_outcomes(Loose(4))]
    for fault in (
        "the probabilities of chance do not sum to 1",
        "a probability of chance is negative",
        "an impossible outcome, or one out of range, changes the state",
        "chance follows chance",
        "an action is legal where the next event is chance",
        "two outcomes of chance have one text",
    ):
        assert any(fault in line for line in findings), fault


def test_observations_tell_whether_the_dice_are_to_be_rolled():
    @frozen
    class Blind(Pig):
        observation_shape = property(lambda self: (1, self.target + 1, 3))

        def observe(self, state):
            return super().observe(state)[..., :3]

    assert [*find_doubts(Pig(5))] == []
    (line,) = find_doubts(Blind(5))
    assert line.startswith("observations do not show whether the dice are to be rolled")


def test_members_of_chance():
    @frozen
    class Whole(Pig):
        def chance_probabilities(self, state):
            return jnp.arange(6)

    @frozen
    class Part(Pig):
        chance_probabilities = None

    assert [*check._types(Whole())] == ["chance_probabilities must be float32, not int32"]
    assert check_game(Part()) == ["chance_probabilities is missing: a game of chance has it"]


@jax.tree_util.register_dataclass
@frozen
class Rolled:
    points: jax.Array  # int32 [2]
    plies: jax.Array  # int32 []
    secret: jax.Array


@frozen
class Secret(BaseGame):
    """Four rolls, and the greater sum wins; `draw` and `start` say where rolls come from."""

    how: str

    num_actions, observation_shape, max_steps = 1, (1, 2, 1), 4

    def init(self, key=None):
        key = jax.random.key(5) if key is None else key
        secret = {
            "start": jax.random.bits(key, (2,)),
            "counter": jnp.uint32(7),
            "mixed": jnp.uint32(7),
            "table": jnp.uint32(0),
        }[self.how]
        return Rolled(jnp.zeros(2, jnp.int32), jnp.int32(0), secret)

    def play(self, state, action):
        drawn, secret = state.secret, state.secret
        if self.how == "start":  # all rolls are drawn before the game
            roll = (drawn[0] >> (3 * state.plies)) % 6
        elif self.how == "table":  # hash codes of cells are no chance
            codes = jax.random.bits(jax.random.key(0), (4,))
            roll, secret = state.plies % 3, drawn ^ codes[state.plies % 4]
        else:
            secret = drawn * np.uint32(1664525) + np.uint32(1013904223)
            secret ^= state.plies.astype(jnp.uint32) if self.how == "mixed" else np.uint32(0)
            roll = (secret >> 16) % 6
        mine = jnp.arange(2) == state.plies % 2
        points = state.points + jnp.where(mine, roll, 0).astype(jnp.int32)
        return Rolled(points, state.plies + 1, secret)

    def forfeit(self, state):
        lost = jnp.where(jnp.arange(2) == state.plies % 2, -99, 99)
        return Rolled(state.points + lost, state.plies + 4, state.secret)

    def current_player(self, state):
        return state.plies % 2

    def is_terminal(self, state):
        return state.plies >= 4

    def legal_action_mask(self, state):
        return ~self.is_terminal(state)[None]

    def returns(self, state):
        margin = jnp.sign(state.points[0] - state.points[1]) * self.is_terminal(state)
        return jnp.stack([margin, -margin]).astype(jnp.float32)

    def observe(self, state):
        own = state.points[state.plies % 2], state.points[1 - state.plies % 2]
        return jnp.clip(jnp.stack(own)[None, :, None] / 12, 0, 1)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("start", "two states look the same, and the same actions lead to different positions"),
        ("counter", "state.secret, which nothing shows, decides where moves lead, like a key"),
        ("mixed", "state.secret, which nothing shows, decides where moves lead, like a key"),
        ("table", None),
    ],
)
def test_rolls_that_a_state_hides(how, said):
    findings = [*check_hidden(Secret(how))]
    assert [said in line for line in findings] == ([True] if said else []), findings


def _random_move(mask, chance):
    return int(chance.choice(np.flatnonzero(mask)))


def test_environments_of_other_libraries_roll():
    chance, game = np.random.default_rng(0), Pig(3)
    pettingzoo = pytest.importorskip("azjax_envs.pettingzoo", exc_type=ImportError)
    games = []
    for _ in range(2):
        chance, env = np.random.default_rng(0), pettingzoo.to_pettingzoo(game)
        env.reset(seed=3)
        moves = []
        while not any(env.terminations.values()):
            assert not env._position.state.rolling
            moves.append(_random_move(env.observe(env.agent_selection)["action_mask"], chance))
            env.step(moves[-1])
        games.append((moves, env.rewards))
    assert games[0] == games[1]  # by the seed
    env = pytest.importorskip("azjax_envs.gymnasium").to_gymnasium(Pig(20), seat=1)
    _, info = env.reset(seed=1)
    for _ in range(4):
        _, _, over, _, info = env.step(_random_move(info["action_mask"], chance))
        if over:
            _, info = env.reset()
        assert not env._position.state.rolling


def test_chance_nodes_of_openspiel():
    pyspiel = pytest.importorskip("pyspiel")
    from azjax_envs.openspiel import to_openspiel

    game = to_openspiel(Pig(3))
    assert game.get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    assert game.max_chance_outcomes() == 6
    state = game.new_initial_state()
    assert state.legal_actions() == [1]
    state.apply_action(1)
    assert state.is_chance_node()
    outcomes, shares = zip(*state.chance_outcomes(), strict=True)
    assert outcomes == tuple(range(6))
    np.testing.assert_allclose(shares, 1 / 6)
    assert state.action_to_string(2) == "3"
    with pytest.raises(ValueError, match="outcome 6 is not possible"):
        state.apply_action(6)
    state.apply_action(2)
    assert not state.is_chance_node()
    assert state.legal_actions() == [0, 1]
    state.apply_action(0)
    assert state.returns() == [1, -1]


def test_pgx_rolls():
    env = pytest.importorskip("azjax_envs.pgx.adapters").to_pgx(Pig(3))
    state = env.init(KEY)
    with pytest.raises(ValueError, match="a game of chance: step needs a PRNG key"):
        env.step(state, 1)
    state = env.step(state, 1, KEY)
    assert not state._x.rolling
    assert state.legal_action_mask.any()
