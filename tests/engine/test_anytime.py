"""Anytime searches, compared with searches of a fixed number of simulations."""

import dataclasses
import functools

import jax
import mctx
import numpy as np
import pytest
from azjax_envs import make

from azjax.config import GumbelConfig, NetworkConfig, PUCTConfig, SearchConfig
from azjax.engine.anytime import make_anytime_search
from azjax.engine.decision import continue_search
from azjax.files.game_record import start_game
from azjax.network.two_headed import make_network
from azjax.players.network_players import SearchPlayer
from azjax.pytrees import expand
from azjax.search.model import make_recurrent_fn, mask_logits, network_evaluate
from azjax.search.policies import PUCT

# Alternating turns and a head with draws; repeated turns and a head without.
HEADS = {"dots_and_boxes_2x2": "tanh"}
GAMES = ("tic_tac_toe", "dots_and_boxes_2x2")
# Positions with many moves, with fewer than a step visits, and with two.
OPENINGS = {
    "tic_tac_toe": [[0, 4], [0, 1, 2, 4, 3], [0, 1, 2, 4, 3, 5], [0, 1, 2, 4, 3, 5, 7]],
    "dots_and_boxes_2x2": [[0, 1, 2], [0, 1, 2, 3, 4, 5, 6, 7], [*range(9)], [*range(10)]],
    "gardner_chess": [[]],
}
SIMULATIONS = 60


@functools.cache
def player(name):
    game = make(name)
    tower = NetworkConfig(
        architecture="mlp", blocks=1, channels=16, value_head=HEADS.get(name, "wdl")
    )
    network = make_network(game, tower)
    # Larger than an untrained network's, so that priors and values differ from move to move.
    variables = jax.jit(network.init)(jax.random.PRNGKey(3))
    variables["params"] = jax.tree.map(lambda x: 3 * x, variables["params"])
    config = SearchConfig(
        algorithm="gumbel",
        num_simulations=SIMULATIONS,
        gumbel=GumbelConfig(value_scale=0.3, rescale_values=False),
        puct=PUCTConfig(pb_c_init=2.0),
    )
    return SearchPlayer(game=game, network=network, variables=variables, config=config)


@functools.cache
def anytime_search(name, max_nodes=256, algorithm="gumbel", width=1):
    of = player(name)
    of = dataclasses.replace(of, config=dataclasses.replace(of.config, algorithm=algorithm))
    search = make_anytime_search(of, memory_mb=1)
    if algorithm == "gumbel":
        rule = dataclasses.replace(search.algorithm, width=width)
        search = dataclasses.replace(search, algorithm=rule)
    return dataclasses.replace(search, max_nodes=max_nodes)


@functools.cache
def fixed_search(name, algorithm):
    """Returns a search of stock mctx: (variables, key, states) -> tree."""
    game, network = player(name).game, player(name).network
    evaluate = network_evaluate(game, network)
    if algorithm == "gumbel":
        values = functools.partial(
            mctx.qtransform_completed_by_mix_value, value_scale=0.3, rescale_values=False
        )
        interior = functools.partial(
            mctx.gumbel_muzero_interior_action_selection, qtransform=values
        )
        root = functools.partial(interior, depth=0)
    else:
        algorithm = PUCT(SIMULATIONS, player(name).config.puct)
        selection = algorithm.anytime_selection(SIMULATIONS)
        of_root, interior = selection.root, selection.below

        def root(key, tree, node):
            del node
            return of_root(key, tree, 1)[0][0]

    def found(variables, key, states):
        mask = jax.vmap(game.legal_action_mask)(states)
        logits, value = evaluate(variables, key, states)
        logits = mask_logits(jax.nn.log_softmax(mask_logits(logits, mask)), mask)
        return mctx.search(
            variables,
            key,
            root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states),
            recurrent_fn=make_recurrent_fn(game, evaluate),
            root_action_selection_fn=root,
            interior_action_selection_fn=interior,
            num_simulations=SIMULATIONS,
            invalid_actions=~mask,
        )

    return jax.jit(found)


def after(game, actions):
    record = start_game(game)
    for action in actions:
        record = record.play(action)
    return record


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("algorithm", ["gumbel", "puct"])
@pytest.mark.parametrize("pieces", [(60,), (1,) * 60, (7, 0, 13, 40)])
def test_pieces_equal_one_search_of_stock_mctx(name, algorithm, pieces):
    search = anytime_search(name, algorithm=algorithm)
    for seed, actions in enumerate([[], [0, 2], [0, 2, 6]]):
        state, key = after(search.game, actions).current.state, jax.random.PRNGKey(seed)
        progress = search.start(state, key)
        for count in pieces:
            progress = progress.run(count)
        found = progress.analysis()
        tree = fixed_search(name, algorithm)(search.variables, key, expand(state))
        whole = jax.device_get(tree.summary())
        visits = whole.visit_counts[0]
        values = np.where(visits > 0, whole.qvalues[0], 0)
        np.testing.assert_array_equal(found.visits, visits)
        np.testing.assert_allclose(found.action_values, values, atol=1e-6)
        priors = jax.nn.softmax(tree.children_prior_logits[0, 0])
        np.testing.assert_allclose(found.prior, priors, atol=1e-6)
        assert found.simulations == found.visits.sum() == SIMULATIONS
        assert len(np.flatnonzero(found.visits)) > 2
        assert found.action == found.ranked_actions()[0]
        assert found.value == found.action_values[found.action]
        if algorithm == "puct":
            assert found.visits[found.action] == found.visits.max()
        else:
            # The best of the improved policy, whose values are those of all visits.
            improved = tree.children_prior_logits[0, 0] + 0.3 * (50 + visits.max()) * values
            assert found.action == np.where(visits > 0, improved, -np.inf).argmax()


def test_gumbel_visits_follow_the_improved_policy():
    """Each simulation goes to the move whose visits are furthest behind its share."""
    search = anytime_search("dots_and_boxes_2x2")
    progress = search.start(start_game(search.game).current.state)
    for _ in range(40):
        before = progress.analysis()
        policy = np.exp(before.scores - before.scores.max())
        policy /= policy.sum()
        progress = progress.run(1)
        chosen = (progress.analysis().visits - before.visits).argmax()
        behind = policy - before.visits / (1 + before.visits.sum())
        assert behind[chosen] >= behind.max() - 1e-6


def test_a_principal_variation_is_a_game_and_follows_the_visits():
    """The test walks the tree itself, also near the end, where lines end with the game."""
    game, ends = anytime_search("tic_tac_toe").game, 0
    for actions in ([], [0, 3, 1], [4, 0, 2, 6, 3]):
        ends += walk_lines(game, after(game, actions))
    assert ends > 3


def walk_lines(game, start):
    """Checks all lines from a position; returns how many end the game."""
    progress = anytime_search("tic_tac_toe").start(start.current.state).run(200)
    found, tree, ends = progress.analysis(), jax.device_get(progress.tree), 0
    parents, actions, visits = (
        x[0, :201] for x in (tree.parents, tree.action_from_parent, tree.node_visits)
    )
    for first in found.ranked_actions():
        line = found.principal_variation(first)
        node = int(np.flatnonzero((parents == 0) & (actions == first))[0])
        record = start.play(first)
        for action in line[1:]:
            below = np.flatnonzero(parents == node)
            node = int(below[actions[below] == action][0])
            assert visits[node] == visits[below].max()
            assert not record.current.over
            record = record.play(action)
        # An illegal move would have lost at once, so no move before the last was illegal.
        assert record.current.over or not (parents == node).any()
        ends += record.current.over
    return ends


def test_a_win_in_one_has_value_one():
    search = anytime_search("tic_tac_toe")
    state = after(search.game, [0, 3, 1, 4]).current.state
    found = search.start(state).run(100).analysis()
    assert (found.action, found.value) == (2, 1.0)
    assert found.principal_variation(2) == (2,)


def test_root_actions_restrict_the_choice():
    """Other actions are never visited at the root, but are visited below it."""
    search = anytime_search("tic_tac_toe")
    state = after(search.game, [0, 3, 1, 4]).current.state  # 2 wins, and all but 5 lose
    found = search.start(state, root_actions=[8, 5]).run(100).analysis()
    assert found.action == 5
    assert set(np.flatnonzero(found.visits)) <= {5, 8}
    np.testing.assert_array_equal(np.flatnonzero(found.prior), [5, 8])
    assert set(found.action_to_node[found.action_to_node >= 0]) > {2, 6, 7}
    listed = search.start(state, root_actions=[2, 5, 6, 7, 8]).run(100).analysis()
    unrestricted = search.start(state).run(100).analysis()
    np.testing.assert_array_equal(listed.visits, unrestricted.visits)


def test_before_any_simulation_the_network_decides():
    search = anytime_search("tic_tac_toe")
    state = after(search.game, [4]).current.state
    found = search.start(state).analysis()
    prediction = search.network.apply(search.variables, search.game.observe(state)[None])
    logits = np.array(prediction.policy_logits[0])
    logits[4] = -np.inf
    assert found.action == logits.argmax()
    np.testing.assert_allclose(found.prior, np.exp(logits) / np.exp(logits).sum(), atol=1e-5)
    np.testing.assert_allclose(found.value, prediction.value[0], atol=1e-6)
    np.testing.assert_allclose(found.draw, jax.nn.softmax(prediction.value_logits[0])[1], atol=1e-6)
    assert found.ranked_actions() == [found.action]
    assert found.principal_variation(found.action) == (found.action,)


def test_a_full_tree_stays_as_it_is():
    search = anytime_search("tic_tac_toe", max_nodes=21)
    progress = search.start(start_game(search.game).current.state).run(15)
    assert not progress.full
    progress = progress.run(15)
    assert progress.full
    before = progress.analysis()
    assert before.visits.sum() == before.simulations == 20
    progress = progress.run(5)
    np.testing.assert_array_equal(progress.analysis().visits, before.visits)
    assert list(continue_search(progress)) == []


@pytest.mark.parametrize("name", GAMES)
def test_a_continued_tree_is_the_subtree_of_the_move(name):
    """Every line of the subtree is compared, with visits, values and states, then searched on."""
    search = anytime_search(name)
    key = jax.random.PRNGKey(1)
    record = start_game(search.game)
    progress = search.start(record.current.state, key).run(150)
    for _ in range(3):
        found = progress.analysis()
        moves = [found.action]
        if len(line := found.principal_variation(found.action)) > 2:
            moves = list(line[:2])
        before = lines_below(progress, moves)
        after = record
        for move in moves:
            after = after.play(move)
        state = after.current.state
        continued = search.start(state, key, after=progress, moves=moves)
        assert progress.is_used_up()
        assert continued.simulations == len(before) - 1 > 2
        assert lines_below(continued, []) == before
        fresh = search.start(state, key)
        np.testing.assert_allclose(continued.analysis().prior, fresh.analysis().prior, atol=1e-6)
        assert continued.analysis().draw == fresh.analysis().draw
        record, progress = after, continued.run(60)
        check_counts(progress)
        assert lines_below(progress, []).keys() >= before.keys()


def lines_below(progress, moves):
    """Returns (visits, value, state, prior) of every node below a line, by the moves from there."""
    count = progress.simulations + 1
    tree = jax.device_get(progress.tree)
    lines = {0: ()}
    for node in range(1, count):
        parent = int(tree.parents[0, node])
        lines[node] = (*lines[parent], int(tree.action_from_parent[0, node]))
        if progress.tree.children is not None:
            assert tree.children[0, parent, lines[node][-1]] >= node
    facts = {}
    for node, line in lines.items():
        if line[: len(moves)] == tuple(moves):
            below = line[len(moves) :]
            # A finished game is visited again and again, each time as another node.
            below = (*below, node) if below in facts else below
            states = b"".join(x[0, node].tobytes() for x in jax.tree.leaves(tree.embeddings))
            facts[below] = (tree.node_visits[0, node], tree.node_values[0, node], states)
    return facts


def check_counts(progress):
    """Checks that a node's visits are its own and those of the nodes below it."""
    count = progress.simulations + 1
    tree = jax.device_get(progress.tree)
    parents, visits = tree.parents[0, :count], tree.node_visits[0, :count]
    below = np.bincount(parents[1:], weights=visits[1:], minlength=count)
    np.testing.assert_array_equal(visits, below + 1)
    assert (tree.parents[0, count:] == tree.NO_PARENT).all()


# The last tree has more edges than the limit, and few of them are used: no array of children.
@pytest.mark.parametrize(
    ("name", "max_nodes"), [("tic_tac_toe", 256), ("dots_and_boxes_2x2", 256), ("gomoku", 100)]
)
def test_a_continued_search_equals_a_search_of_the_position(name, max_nodes, monkeypatch):
    """All simulations go to one move, so the tree below it is that of a search from there."""
    monkeypatch.setattr("azjax.search.tree._FEW_EDGES", 2**14)
    search = anytime_search(name, max_nodes=max_nodes)
    first, more = max_nodes // 2, max_nodes // 4
    record = start_game(search.game)
    legal = list(record.legal_moves())
    progress = search.start(record.current.state, root_actions=legal[1:2]).run(first + 1)
    after = record.play(legal[1])
    state = after.current.state
    continued = search.start(state, after=progress, moves=legal[1:2])
    assert (continued.tree.children is None) == (name == "gomoku")
    assert continued.simulations == first
    fresh = search.start(state).run(first)
    np.testing.assert_array_equal(continued.analysis().visits, fresh.analysis().visits)
    continued, fresh = continued.run(more).analysis(), fresh.run(more).analysis()
    np.testing.assert_array_equal(continued.visits, fresh.visits)
    np.testing.assert_allclose(continued.action_values, fresh.action_values, atol=1e-5)


def test_memory_of_another_search_changes_nothing():
    """Nothing of the old tree is found in the new one, also where its nodes are in use again."""
    search = anytime_search("tic_tac_toe")
    start = start_game(search.game)
    after = start.play(4)
    fresh = search.start(after.current.state).run(100)
    cases = [
        (start, None),  # the moves are not known
        (start, [3]),  # another position
        (start.play(0), [4]),  # a move that the tree does not have there
    ]
    for record, moves in cases:
        old = search.start(record.current.state).run(200)
        again = search.start(after.current.state, after=old, moves=moves)
        assert again.simulations == 0
        again = again.run(100)
        check_counts(again)
        assert lines_below(again, []) == lines_below(fresh, [])
    restricted = search.start(after.current.state, root_actions=[0, 1]).run(10)
    again = search.start(after.current.state, after=restricted, moves=[]).run(100)
    assert lines_below(again, []) == lines_below(fresh, [])
    whole = search.start(after.current.state, after=again, moves=[])
    assert whole.simulations == 100
    small = anytime_search("tic_tac_toe", max_nodes=21)
    assert small.start(after.current.state, after=whole, moves=[]).simulations == 0


def test_the_tree_takes_the_given_memory():
    for name in ("go_9x9", "gardner_chess"):
        game = make(name)
        tower = NetworkConfig(architecture="mlp", blocks=1, channels=16)
        network = make_network(game, tower)
        config = SearchConfig()
        fake = SearchPlayer(game=game, network=network, variables={}, config=config)
        sizes = [make_anytime_search(fake, memory_mb=mb).max_nodes for mb in (1, 16, 32)]
        assert sizes == sorted(set(sizes))
        # A node has a state, priors, children if the tree keeps them, and some numbers.
        arrays = jax.tree.leaves(jax.eval_shape(game.init))
        state = sum(x.size * x.dtype.itemsize for x in arrays)
        for nodes, mb in zip(sizes, (1, 16, 32), strict=True):
            kept = 8 if game.num_actions <= 2 * nodes else 4
            assert 0.9 * mb < nodes * (state + kept * game.num_actions + 28) / 2**20 <= mb


@pytest.mark.parametrize("name", ["tic_tac_toe", "dots_and_boxes_2x2", "gardner_chess"])
def test_a_batch_searches_each_position_as_if_it_were_alone(name):
    """The moves and visits of a player's batch are those of a search in pieces, of any sizes."""
    of = player(name)
    config = dataclasses.replace(of.config, num_simulations=19)
    of = dataclasses.replace(of, config=config)
    game, search = of.game, make_anytime_search(of, memory_mb=1)
    assert search.algorithm.width > 1
    states = [after(game, actions).current.state for actions in ([], *OPENINGS[name])]
    states = [state for state in states if game.legal_action_mask(state).sum() > 1]
    found = jax.jit(of.analyse)(
        jax.random.PRNGKey(0), jax.tree.map(lambda *x: np.stack(x), *states)
    )
    progress = None
    for i, state in enumerate(states):
        progress = search.start(state, after=progress)
        while progress.simulations < 19:
            progress = progress.run(min(2 + i, 19 - progress.simulations), most=19)
        alone = progress.analysis()
        np.testing.assert_array_equal(found.visits[i], alone.visits, str(i))
        assert alone.visits.sum() == 19
        assert found.action[i] == alone.action
        np.testing.assert_allclose(found.value[i], alone.value, atol=1e-5)
        np.testing.assert_allclose(found.prior[i], alone.prior, atol=1e-6)


def test_several_moves_a_step_count_their_simulations():
    """A step visits fewer moves where fewer simulations are left, or fewer moves are legal."""
    game = make("tic_tac_toe")
    state = functools.reduce(game.step, [0, 1, 2, 4, 3], game.init())  # 4 legal moves
    search = anytime_search("tic_tac_toe", 40, width=6)
    progress = search.start(state)
    for simulations in (1, 7, 2):
        progress = progress.run(simulations)
    assert progress.simulations == 10
    found = progress.analysis()
    assert found.visits.sum() == 10
    assert found.visits[np.flatnonzero(game.legal_action_mask(state))].min() > 0
    nodes = np.asarray(progress.tree.parents)[0, 1:11]
    assert (nodes >= 0).all()
    full = progress.run(100)
    assert full.full
    found = full.analysis()
    assert found.visits.sum() == full.simulations == 39
    # The next search takes over the tree, though its last step left places without nodes.
    after = [game.step(state, action) for action in range(9)]
    going = [bool(found.visits[x]) and not game.is_terminal(after[x]) for x in range(9)]
    action = int(np.argmax(np.where(going, found.visits, -1)))
    again = search.start(after[action], after=full, moves=[action])
    kept = again.simulations
    assert kept == found.visits[action] - 1
    again = again.run(5)
    assert again.analysis().visits.sum() == kept + 5
    # A finished game has nothing to search, and the search ends.
    over = functools.reduce(game.step, [0, 3, 1, 4, 2], game.init())
    assert search.start(over, after=again).run(5).simulations == 0


def test_a_step_visits_the_moves_furthest_behind_their_share():
    """Before the first visit all values are equal, so the priors alone decide."""
    progress = anytime_search("tic_tac_toe", width=3).start(make("tic_tac_toe").init()).run(3)
    prior = progress.analysis().prior
    expected = np.argsort(-prior, kind="stable")[:3]  # no visits yet: all values are equal
    np.testing.assert_array_equal(np.flatnonzero(progress.analysis().visits), np.sort(expected))
