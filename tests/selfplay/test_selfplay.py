import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make, random_action

from azjax.config import Config, GumbelConfig, ReplayConfig, SearchConfig, SelfPlayConfig
from azjax.errors import UserError
from azjax.search.search import SearchResult, search
from azjax.selfplay.openings import read_openings, start_games
from azjax.selfplay.selfplay import draw_full_search_mask, next_start, play_plies
from tests.oracles.pig import Pig
from tests.oracles.searches import flat_params, make_evaluate, random_params

LANES, PLIES, CYCLES, EXPLORE = 64, 7, 3, 2
CASES = [("tic_tac_toe", "gumbel"), ("dots_and_boxes_2x2", "puct"), ("tic_tac_toe", "puct")]


def config_of(policy):
    return Config(
        search=SearchConfig(
            policy, num_simulations=4, gumbel=GumbelConfig(max_considered_actions=3)
        ),
        selfplay=SelfPlayConfig(parallel_games=LANES, plies_per_cycle=PLIES, sampled_plies=EXPLORE),
        replay=ReplayConfig(capacity_plies=PLIES, min_positions=1),
    )


@functools.lru_cache
def played(name, policy):
    """Returns transitions [T, B, ...], states and plies [T + 1, B, ...], and sums of each cycle."""
    game = make(name)
    options = {"xla_backend_optimization_level": 0}  # compiling takes longer than playing
    run = jax.jit(
        lambda params, key, games: play_plies(
            game, make_evaluate(game), params, key, games, config_of(policy)
        ),
        compiler_options=options,
    )
    games = start_games(game, jax.random.key(0), LANES, SelfPlayConfig())
    transitions, ends, sums = [], [], []
    for cycle in range(CYCLES):
        # Every mover expects to win, so that all moves seem lost and all are tried.
        params = flat_params(game, value=50.0)
        games, new, total = run(params, jax.random.key(cycle), games)
        transitions.append(new)
        ends.append(games)
        total = jax.tree.map(float, vars(total))
        sums.append({name: x for name, x in total.items() if x is not None})
    transitions = jax.tree.map(lambda *x: np.concatenate(x), *transitions)
    return game, transitions, ends, sums


@functools.partial(jax.jit, static_argnums=0)
def children(game, states):
    """Returns states [N, A], ends and returns after every action, and mover and mask before."""

    def one(state):
        after = jax.vmap(game.step, in_axes=(None, 0))(state, jnp.arange(game.num_actions))
        over, returns = jax.vmap(lambda s: (game.is_terminal(s), game.returns(s)))(after)
        player = jax.vmap(game.current_player)(after)
        return (
            after,
            over,
            returns,
            player,
            game.current_player(state),
            game.legal_action_mask(state),
        )

    return jax.vmap(one)(states)


@functools.lru_cache
def replayed(name, policy):
    """Returns all actions that could lead from each transition to the next, bool [T, B, A]."""
    game, transitions, ends, _ = played(name, policy)
    steps = CYCLES * PLIES
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), transitions.states)
    found = jax.tree.map(
        lambda x: np.asarray(x).reshape(steps, LANES, *x.shape[1:]), children(game, flat)
    )
    after, over, returns, player, mover, legal = found
    following = jax.tree.map(
        lambda x, end: np.concatenate([x[1:], end[None]]),
        transitions.states,
        jax.tree.map(np.asarray, ends[-1].states),
    )
    start = jax.tree.map(np.asarray, game.init())

    def same(a, b):
        """Returns whether all leaves are equal, bool [T, B, A]."""
        equal = jax.tree.map(lambda x, y: x == y, a, b)
        leaves = [x.reshape(*x.shape[:3], -1).all(-1) for x in jax.tree.leaves(equal)]
        return np.logical_and.reduce(leaves)

    goes_on = same(after, jax.tree.map(lambda x: x[:, :, None], following)) & ~over
    begun_again = same(
        jax.tree.map(lambda x: x[:, :, None], following),
        jax.tree.map(lambda x: np.broadcast_to(x, (1, 1, 1, *x.shape)), start),
    )
    # Transitions do not hold a game's end, so any move that ends it with this reward may be it.
    result = np.take_along_axis(returns, mover[:, :, None, None], axis=-1)[..., 0]
    ends_so = over & begun_again & (result == transitions.reward[:, :, None])
    over_now = transitions.discount == 0
    possible = legal & np.where(over_now[:, :, None], ends_so, goes_on)
    return possible, player, mover


@pytest.mark.parametrize(("name", "policy"), CASES)
def test_transitions_are_games_played_by_the_rules(name, policy):
    _, transitions, _, _ = played(name, policy)
    possible, player, mover = replayed(name, policy)
    assert possible.any(-1).all()
    goes_on = transitions.discount != 0
    assert (possible[goes_on].sum(-1) == 1).all()
    assert (transitions.reward[goes_on] == 0).all()
    action = possible.argmax(-1)[..., None]
    again = np.take_along_axis(player, action, axis=-1)[..., 0] == mover
    np.testing.assert_array_equal(transitions.discount[goes_on], np.where(again, 1, -1)[goes_on])
    assert (transitions.discount == 1).any() == (name == "dots_and_boxes_2x2")
    assert transitions.policy.dtype == np.float16
    assert transitions.reward.dtype == np.float16
    assert transitions.discount.dtype == np.int8
    np.testing.assert_allclose(transitions.policy.astype(np.float32).sum(-1), 1, atol=5e-3)
    # The search has visited every move that was played.
    assert (np.where(possible, transitions.policy, 0).max(-1) > 0).all()


@pytest.mark.parametrize(("name", "policy"), CASES)
def test_counts_are_those_of_a_recount(name, policy):
    _, transitions, ends, sums = played(name, policy)
    _, _, mover = replayed(name, policy)
    plies = np.zeros(LANES, int)
    for cycle in range(CYCLES):
        expected = dict.fromkeys(sums[cycle], 0.0)
        for t in range(cycle * PLIES, (cycle + 1) * PLIES):
            over = transitions.discount[t] == 0
            plies += 1
            first = np.where(mover[t] == 0, 1, -1) * transitions.reward[t]
            expected["games_finished"] += over.sum()
            expected["game_plies"] += plies[over].sum()
            expected["draws"] += (over & (transitions.reward[t] == 0)).sum()
            expected["first_player_result"] += first[over].sum()
            policy_ = np.asarray(transitions.policy[t], np.float64)
            expected["learned_plies"] += LANES
            expected["policy_entropy"] -= (policy_ * np.log(np.maximum(policy_, 1e-12))).sum()
            plies[over] = 0
        np.testing.assert_array_equal(ends[cycle].plies, plies)
        entropy, recounted = sums[cycle].pop("policy_entropy"), expected.pop("policy_entropy")
        np.testing.assert_allclose(entropy, recounted, rtol=0.01)
        assert sums[cycle] == expected
    assert (transitions.discount == 0).sum() >= LANES
    assert plies.max() > 0


def plies_of(transitions):
    """Returns the number of moves before each transition, int [T, B]."""
    plies, now = np.zeros(transitions.discount.shape, int), np.zeros(LANES, int)
    for t, over in enumerate(transitions.discount == 0):
        plies[t] = now
        now = np.where(over, 0, now + 1)
    return plies


def test_gumbel_noise_is_for_the_first_plies_only():
    """After the first plies, equal positions have equal policies and moves in all games."""
    game, transitions, _, _ = played("tic_tac_toe", "gumbel")
    possible, _, _ = replayed("tic_tac_toe", "gumbel")
    plies = plies_of(transitions)
    boards = np.stack([transitions.states.own, transitions.states.taken], -1)
    seen = {}
    for t, lane in np.ndindex(plies.shape):
        position = (plies[t, lane] < EXPLORE, *boards[t, lane])
        moves = np.flatnonzero(possible[t, lane]) if transitions.discount[t, lane] else [-1]
        found = (transitions.policy[t, lane].tobytes(), tuple(moves))
        seen.setdefault(position, []).append(found)
    late = [found for (early, *_), found in seen.items() if not early and len(found) > 1]
    assert len(late) > 5
    assert all(len(set(found)) == 1 for found in late)
    start = seen[True, 0, 0]
    assert len({moves for _, moves in start}) == game.num_actions


def test_puct_is_greedy_after_the_first_plies():
    _, transitions, _, _ = played("tic_tac_toe", "puct")
    possible, _, _ = replayed("tic_tac_toe", "puct")
    late = plies_of(transitions) >= EXPLORE
    best = np.asarray(transitions.policy).argmax(-1)[..., None]
    greedy = np.take_along_axis(possible, best, axis=-1)[..., 0]
    assert greedy[late].all()
    assert not greedy[~late].all()


def test_a_search_of_ones_own_decides_the_moves():
    game, config = make("tic_tac_toe"), config_of("gumbel")

    def last_legal(game, evaluate, params, key, states, *, config, exploration):
        mask = jax.vmap(game.legal_action_mask)(states)
        action = (game.num_actions - 1 - jnp.argmax(mask[:, ::-1], axis=-1)).astype(jnp.int32)
        chosen = jax.nn.one_hot(action, game.num_actions)
        visits = chosen.astype(jnp.int32)
        value, learn = jnp.zeros(len(mask)), action > 4
        return SearchResult(action, chosen, visits, chosen, 0 * chosen, value, learn)

    games = start_games(game, jax.random.key(0), LANES, config.selfplay)
    run = jax.jit(
        lambda: play_plies(game, None, None, jax.random.key(1), games, config, search=last_legal)
    )
    _, transitions, _ = run()
    for ply in range(PLIES):
        # 9 moves from the last cell to the first: X holds a diagonal after seven.
        np.testing.assert_array_equal(transitions.policy[ply].argmax(-1), 8 - ply)
        np.testing.assert_array_equal(transitions.learn[ply], 8 - ply > 4)
    np.testing.assert_array_equal(transitions.reward[-1], 1)


def test_random_openings():
    game, most = make("tic_tac_toe"), 3
    begin = jax.jit(lambda key: start_games(game, key, 512, SelfPlayConfig(opening_plies=most)))
    games = begin(jax.random.key(0))
    marks = jax.lax.population_count(games.states.taken)
    np.testing.assert_array_equal(games.plies, marks)
    counts = np.bincount(np.asarray(games.plies))
    assert len(counts) == most + 1
    assert (counts > 512 / (most + 1) / 2).all()
    assert len(np.unique(np.asarray(games.states.taken)[np.asarray(games.plies) == 1])) == 9
    assert not jax.vmap(game.is_terminal)(games.states).any()
    none = start_games(game, jax.random.key(0), 8, SelfPlayConfig())
    assert not none.plies.any()
    assert not none.states.taken.any()


@pytest.mark.parametrize("lanes", [1, 2, 3, 64])
def test_lanes_that_start_together_take_different_starts(lanes):
    taken = [np.asarray(next_start(lanes, jnp.full(lanes, n, jnp.int32))) for n in range(3)]
    for starts in taken:
        np.testing.assert_array_equal(np.sort(starts), np.arange(lanes))
    np.testing.assert_array_equal(taken[0], np.arange(lanes))
    assert lanes <= 2 or (np.diff(taken, axis=0) != 0).all()


def test_games_after_the_first_begin_with_random_moves_as_well():
    """Every game ends at once, by resignation, so that each ply is a game's first."""
    config = Config(
        search=SearchConfig(num_simulations=2),
        selfplay=SelfPlayConfig(
            plies_per_cycle=4,
            opening_plies=3,
            resign_false_positive_rate=0.05,
            resign_disabled_fraction=1e-9,
        ),
    )
    game, key = make("tic_tac_toe"), jax.random.key(3)
    games = start_games(game, key, LANES, config.selfplay)
    play = jax.jit(functools.partial(play_plies, game, make_evaluate(game), config=config))
    params = random_params(game, key)
    _, transitions, sums = play(params, key, games, resign_threshold=jnp.float32(2.0))
    assert sums.games_finished == 4 * LANES
    marks = np.asarray(jax.lax.population_count(transitions.states.taken))
    for ply in range(1, 4):
        counts = np.bincount(marks[ply], minlength=4)
        assert counts.sum() == LANES
        assert (counts > 4).all()
    lanes_moved = marks[1:] != marks[:-1]
    assert lanes_moved.mean() > 0.5  # a lane's second start is another than its first


def test_full_searches_are_the_same_number_in_every_cycle():
    config = Config(selfplay=SelfPlayConfig(plies_per_cycle=8, full_search_fraction=0.25))
    masks = np.stack([draw_full_search_mask(jax.random.key(i), config.selfplay) for i in range(40)])
    assert masks.shape == (40, 8)
    assert (masks.sum(-1) == 2).all()
    assert (masks.sum(0) > 2).all()
    assert draw_full_search_mask(jax.random.key(0), SelfPlayConfig()) is None


@functools.partial(jax.jit, static_argnums=(0, 1))
def one_cycle_of(game, config, key, full):
    games = start_games(game, jax.random.key(0), 32, config.selfplay)
    params = random_params(game, key)
    return play_plies(game, make_evaluate(game), params, key, games, config, full_search_mask=full)


def test_fast_searches_are_short_and_without_noise():
    game, key = make("tic_tac_toe"), jax.random.key(1)
    config = Config(
        search=SearchConfig(num_simulations=24),
        selfplay=SelfPlayConfig(plies_per_cycle=2, full_search_fraction=0.5, fast_simulations=3),
    )
    _, transitions, sums = one_cycle_of(game, config, key, jnp.asarray([False, True]))
    np.testing.assert_array_equal(transitions.learn, np.broadcast_to([[False], [True]], (2, 32)))
    states = jax.tree.map(lambda x: x[0], transitions.states)
    short = dataclasses.replace(config.search, num_simulations=3)
    found = search(
        game, make_evaluate(game), random_params(game, key), jax.random.key(5), states, config=short
    )
    np.testing.assert_array_equal(transitions.policy[0], found.policy.astype(jnp.float16))
    assert (transitions.policy[0] == transitions.policy[0, 0][None]).all()
    assert len(np.unique(transitions.policy[1], axis=0)) > 4
    assert sums.learned_plies == 32


def test_dice_are_rolled_between_plies():
    game, batch, plies = Pig(6), 256, 16
    config = Config(selfplay=SelfPlayConfig(parallel_games=batch, plies_per_cycle=plies))

    def random_moves(game, evaluate, params, key, states, **_):
        mask = jax.vmap(game.legal_action_mask)(states)
        flat = jnp.where(mask, 1.0, 0.0) / jnp.maximum(mask.sum(-1, keepdims=True), 1)
        nothing = jnp.zeros(batch)
        action = random_action(key, mask)
        return SearchResult(action, flat, mask.astype(jnp.int32), flat, 0 * flat, nothing)

    @jax.jit
    def run(key):
        games = start_games(game, key, batch, config.selfplay)
        evaluate = make_evaluate(game)
        params = flat_params(game)
        return play_plies(game, evaluate, params, key, games, config, search=random_moves)

    _, new, stats = jax.device_get(run(jax.random.key(3)))
    before, after = (
        jax.tree.map(lambda x, s=s: x[s], new.states) for s in (slice(-1), slice(1, None))
    )
    assert not new.states.rolling.any()
    assert stats.games_finished > batch
    goes_on = new.discount[:-1] != 0
    # Turns go on or pass by the dice, which come after the move.
    same = before.player == after.player
    np.testing.assert_array_equal(
        np.sign(new.discount[:-1])[goes_on], np.where(same, 1, -1)[goes_on]
    )
    assert not new.reward[:-1][goes_on].any()
    assert (new.reward[new.discount == 0] == 1).all()  # who holds with enough points wins
    rolled = goes_on & (before.turn == 0)
    counts = np.bincount(after.turn[rolled], minlength=7) / rolled.sum()
    np.testing.assert_allclose(counts, [1 / 6, 0, *[1 / 6] * 5], atol=0.05)
    # The positions before the dice lead to these by an outcome. Without dice they are the same.
    dice = jax.tree.map(lambda x: x[1:], new.before_dice)
    np.testing.assert_array_equal(dice.same_mover, dice.states.player == after.player)
    more = np.maximum(after.turn - dice.states.turn - 1, 1)  # at most six points count
    outcome = np.where(after.turn == 0, 0, more)
    is_chance = np.asarray(game.is_chance(dice.states))
    assert is_chance[goes_on & (before.player == after.player)].all()
    assert (~is_chance[~goes_on]).all()  # what led to a new game's start is not known
    rolled = jax.vmap(jax.vmap(game.chance_step))(dice.states, jnp.asarray(outcome))
    for name in ("scores", "turn", "player", "rolling", "winner"):
        np.testing.assert_array_equal(getattr(rolled, name), getattr(after, name))


def test_openings_from_a_file_have_no_dice(tmp_path):
    with pytest.raises(UserError, match="is a game of chance, whose openings no file lists"):
        read_openings(Pig(6), tmp_path / "openings.txt")
