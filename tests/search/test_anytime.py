"""Searches that go on until they are told to stop, held to searches of one piece."""

import dataclasses
import functools
import itertools

import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.config import NetworkConfig, PUCTConfig, SearchConfig
from azjax.network.network import make_network
from azjax.play.position import first_position, next_position
from azjax.players.network_players import SearchPlayer
from azjax.search import anytime as thinking_module
from azjax.search.anytime import keep_thinking, make_thinker
from azjax.search.model import network_evaluate
from azjax.search.search import search

# Turns by turns; a turn that is had again; draws that the network knows of.
GAMES = {"tic_tac_toe": "wdl", "dots_and_boxes_2x2": "tanh"}
SIMULATIONS = 60


@functools.cache
def player(name):
    game = make(name)
    tower = NetworkConfig(architecture="mlp", blocks=1, channels=16, value_head=GAMES[name])
    network = make_network(game, tower)
    # Larger than an untrained network's, so that priors and values differ from move to move.
    variables = jax.jit(network.init)(jax.random.PRNGKey(3))
    variables["params"] = jax.tree.map(lambda x: 3 * x, variables["params"])
    config = SearchConfig(
        algorithm="gumbel", num_simulations=SIMULATIONS, puct=PUCTConfig(pb_c_init=2.0)
    )
    return SearchPlayer(game=game, network=network, variables=variables, config=config)


@functools.cache
def thinker(name, nodes=256):
    return dataclasses.replace(make_thinker(player(name), memory_mb=1), nodes=nodes)


@functools.cache
def in_one_piece(name):
    by = player(name)
    config = dataclasses.replace(by.config, algorithm="puct")
    evaluate = network_evaluate(by.game, by.network)
    return jax.jit(functools.partial(search, by.game, evaluate, config=config))


def after(game, actions):
    position = first_position(game)
    for action in actions:
        position = next_position(game, position, action)
    return position


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("pieces", [(60,), (1,) * 60, (7, 0, 13, 40)])
def test_pieces_are_one_search(name, pieces):
    game = thinker(name).game
    for seed, actions in enumerate([[], [0, 2], [0, 2, 6]]):
        state, key = after(game, actions).state, jax.random.PRNGKey(seed)
        thinking = thinker(name).start(state, key)
        for count in pieces:
            thinking = thinking.more(count)
        found = thinking.findings()
        states = jax.tree.map(lambda x: x[None], state)
        whole = jax.device_get(in_one_piece(name)(thinker(name).variables, key, states))
        np.testing.assert_array_equal(found.visits, whole.visits[0])
        np.testing.assert_array_equal(found.action_values, whole.action_values[0])
        np.testing.assert_allclose(found.prior, whole.prior[0], atol=1e-6)
        assert found.simulations == found.visits.sum() == SIMULATIONS
        assert len(np.flatnonzero(found.visits)) > 2
        assert found.action == found.ranked()[0]
        assert found.visits[found.action] == found.visits.max()
        assert found.value == whole.action_values[0, found.action]


def test_a_principal_variation_is_a_game_and_follows_the_visits():
    """The tree is walked by hand, from near the end too, where lines end with the game."""
    game, ends = thinker("tic_tac_toe").game, 0
    for actions in ([], [0, 3, 1], [4, 0, 2, 6, 3]):
        ends += walk_lines(game, after(game, actions))
    assert ends > 3


def walk_lines(game, start):
    """Checks all lines from a position, and returns how many end the game."""
    thinking = thinker("tic_tac_toe").start(start.state).more(200)
    found, tree, ends = thinking.findings(), jax.device_get(thinking.tree), 0
    parents, actions, visits = (
        x[0, :201] for x in (tree.parents, tree.action_from_parent, tree.node_visits)
    )
    for first in found.ranked():
        line = found.line(first)
        node = int(np.flatnonzero((parents == 0) & (actions == first))[0])
        position = next_position(game, start, first)
        for action in line[1:]:
            below = np.flatnonzero(parents == node)
            node = int(below[actions[below] == action][0])
            assert visits[node] == visits[below].max()
            assert not position.over
            position = next_position(game, position, action)
        # An illegal move would have lost at once; each move before the last one was none.
        assert position.over or not (parents == node).any()
        ends += position.over
    return ends


def test_wins_in_one_and_knows_it():
    game = thinker("tic_tac_toe").game
    found = thinker("tic_tac_toe").start(after(game, [0, 3, 1, 4]).state).more(100).findings()
    assert (found.action, found.value) == (2, 1.0)
    assert found.line(2) == (2,)


def test_among_some_moves_it_finds_the_best_of_them():
    """Others are never tried at the root, and all of them below it."""
    by = thinker("tic_tac_toe")
    state = after(by.game, [0, 3, 1, 4]).state  # 2 wins, and all but 5 lose
    found = by.start(state, among=[8, 5]).more(100).findings()
    assert found.action == 5
    assert set(np.flatnonzero(found.visits)) <= {5, 8}
    np.testing.assert_array_equal(np.flatnonzero(found.prior), [5, 8])
    assert set(found.move_to[found.move_to >= 0]) > {2, 6, 7}
    everything = by.start(state, among=[2, 5, 6, 7, 8]).more(100).findings()
    np.testing.assert_array_equal(everything.visits, by.start(state).more(100).findings().visits)


def test_before_any_simulation_the_network_says_what_it_likes():
    by = thinker("tic_tac_toe")
    state = after(by.game, [4]).state
    found = by.start(state).findings()
    prediction = by.network.apply(by.variables, by.game.observe(state)[None])
    logits = np.array(prediction.policy_logits[0])
    logits[4] = -np.inf
    assert found.action == logits.argmax()
    np.testing.assert_allclose(found.prior, np.exp(logits) / np.exp(logits).sum(), atol=1e-5)
    np.testing.assert_allclose(found.value, prediction.value[0], atol=1e-6)
    np.testing.assert_allclose(found.draw, jax.nn.softmax(prediction.value_logits[0])[1], atol=1e-6)
    assert found.ranked() == [found.action]
    assert found.line(found.action) == (found.action,)


def test_a_full_tree_stays_as_it_is():
    by = thinker("tic_tac_toe", nodes=21)
    thinking = by.start(first_position(by.game).state).more(15)
    assert not thinking.full
    thinking = thinking.more(15)
    assert thinking.full
    before = thinking.findings()
    assert before.visits.sum() == before.simulations == 20
    thinking = thinking.more(5)
    np.testing.assert_array_equal(thinking.findings().visits, before.visits)
    assert list(keep_thinking(thinking)) == []


@dataclasses.dataclass
class Hours:
    """A clock that only simulations move on."""

    now: float = 0.0

    def monotonic(self):
        return self.now


@dataclasses.dataclass
class Steady:
    """Searches a hundred simulations a second."""

    hours: Hours
    simulations: int = 0
    full = False

    def more(self, count):
        self.hours.now += count / 100
        return Steady(self.hours, self.simulations + count)


@pytest.fixture
def hours(monkeypatch):
    hours = Hours()
    monkeypatch.setattr(thinking_module, "time", hours)
    return hours


def test_thinks_as_long_as_it_is_told(hours):
    for seconds in (0.5, 3.0):
        began = hours.now
        *_, last = keep_thinking(Steady(hours), seconds=seconds)
        assert seconds - 0.01 <= hours.now - began <= seconds + 0.05
        assert 100 * seconds - 1 <= last.simulations <= 100 * seconds + 5
    assert list(keep_thinking(Steady(hours), seconds=0)) == []


def test_thinks_exactly_as_many_simulations_as_it_is_told(hours):
    for simulations in (1, 5, 333):
        *_, last = keep_thinking(Steady(hours), simulations=simulations)
        assert last.simulations == simulations
    *_, last = keep_thinking(Steady(hours, 100), simulations=130)
    assert last.simulations == 130
    assert list(keep_thinking(Steady(hours, 130), simulations=130)) == []


def test_listens_twenty_times_a_second(hours):
    heard = [hours.now]
    for _ in itertools.islice(keep_thinking(Steady(hours)), 50):
        heard.append(hours.now)
    assert max(np.diff(heard)) <= 0.06


def test_memory_is_kept_to():
    for name in ("go_9x9", "gardner_chess"):
        game = make(name)
        tower = NetworkConfig(architecture="mlp", blocks=1, channels=16)
        network = make_network(game, tower)
        config = SearchConfig()
        fake = SearchPlayer(game=game, network=network, variables={}, config=config)
        sizes = [make_thinker(fake, memory_mb=mb).nodes for mb in (1, 16, 32)]
        assert sizes == sorted(set(sizes))
        # All that a node has: its state, priors, children where they are kept, numbers.
        arrays = jax.tree.leaves(jax.eval_shape(game.init))
        state = sum(x.size * x.dtype.itemsize for x in arrays)
        for nodes, mb in zip(sizes, (1, 16, 32), strict=True):
            kept = 8 if game.num_actions <= 2 * nodes else 4
            assert 0.9 * mb < nodes * (state + kept * game.num_actions + 28) / 2**20 <= mb
