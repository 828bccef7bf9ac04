"""Self-play against a pool of opponents."""

import functools
import io
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from rich.console import Console

import azjax
from azjax.config import LeagueConfig
from azjax.errors import UserError
from azjax.pytrees import take
from azjax.selfplay.league import LeagueStats, advance, first_league
from azjax.sharding import local, make_mesh
from tests import tiny

GAME = make("dots_and_boxes_2x2")  # in which a player may move several times in a row
CHANGES = {
    "game": {"name": "dots_and_boxes_2x2"},
    "league": {"every": 2, "capacity": 3, "fraction": 0.5},
    "search": {"num_simulations": 2},
    "replay": {"capacity_plies": 32, "min_positions": 64},
    "evaluation": {"every": 0},
}
LANES, LEAGUE = 16, 8  # the last ones


@functools.cache
def trained(cycles=6):
    """Returns the states of a run after each cycle, in NumPy, and the metrics."""
    trainer = tiny.trainer(1, **CHANGES)
    state, seen = tiny.start(trainer), []
    for _ in range(cycles):
        before = tiny.on_host(state)
        state, metrics = trainer.cycle(state)
        seen.append((before, jax.device_get(local(metrics))))
    return trainer, [*seen, (tiny.on_host(state), {})]


def test_opponents_moves_are_not_learned_and_all_others_are():
    """Follows each game of the league: who moved, and whether it is learned."""
    _, seen = trained()
    state, _ = seen[-1]
    stored = state.replay.transitions
    mover = np.asarray(jax.vmap(jax.vmap(GAME.current_player))(stored.states))
    assert stored.learn[:, : LANES - LEAGUE].all()
    order = (int(state.replay.position) + np.arange(32)) % 32
    learners = set()
    for lane in range(LANES - LEAGUE, LANES):
        learn, over = stored.learn[order, lane], stored.discount[order, lane] == 0
        ends = [-1, *np.flatnonzero(over), 31]
        for first, last in itertools.pairwise(ends):
            rows = slice(first + 1, last + 1)
            seats = set(mover[order, lane][rows][learn[rows]])
            others = set(mover[order, lane][rows][~learn[rows]])
            assert not seats & others
            learners |= seats
    assert learners == {0, 1}
    assert 0.2 < stored.learn[:, LANES - LEAGUE :].mean() < 0.8


def test_games_are_played_to_their_end_against_one_network():
    """An active network changes only when no game in progress is against it."""
    _, seen = trained()
    changes = 0
    for (before, _), (after, _) in itertools.pairwise(seen):
        changes += before.league.newest != after.league.newest
        in_progress = set(after.games.seats.opponent[-LEAGUE:].tolist())
        for number in range(2):
            old, new = (tiny.leaves(take(x.league.active, number)) for x in (before, after))
            same = all((old[name] == new[name]).all() for name in old)
            assert same or number not in in_progress
    assert changes >= 2


def test_the_pool_grows_and_the_oldest_leaves():
    _, seen = trained()
    sizes = [int(state.league.size) for state, _ in seen]
    assert sizes == [1, 1, 2, 2, 3, 3, 3]
    state, _ = seen[-1]
    assert state.league.added.tolist() == [6, 2, 4]
    newest = jax.tree.map(lambda x: x[0], state.league.pool)
    tiny.assert_equal(newest, state.learner.variables)
    for (_, metrics), size in zip(seen[:-1], sizes, strict=False):
        assert metrics["league/members"] == size
        assert np.isfinite(metrics["league/cycle_1"])
        assert np.isfinite(metrics["league/cycle_3"]) == (size == 3)
    games = sum(metrics["league/games"] for _, metrics in seen[:-1])
    scores = [m["league/score"] for _, m in seen[:-1] if m["league/games"]]
    assert games >= LEAGUE
    assert all(0 <= x <= 1 for x in scores)


def test_one_program_whatever_the_pool():
    trainer, _ = trained()
    assert trainer.cycle.__closure__[0].cell_contents._cache_size() == 1


def test_a_full_pool_keeps_the_given_and_drops_results_of_what_left():
    config = LeagueConfig(every=1, capacity=2, opponents=("a",))
    league = first_league(config, {"x": jnp.zeros(1)}, {"x": jnp.full((1, 1), 7.0)})
    assert league.pool["x"].ravel().tolist() == [7, 0]
    stats = LeagueStats(jnp.zeros(2), jnp.zeros(2), jnp.float32(1))  # one game waits
    for cycle in (1, 2):
        latest = {"x": jnp.full(1, float(cycle))}
        after = advance(config, league, latest, jnp.int32(cycle), stats, jax.random.key(cycle))
        assert after.pool["x"].ravel().tolist() == [7, cycle]
        assert after.newest == league.newest
        tiny.assert_equal(after.active, league.active)
        league = after
    drawn = set()
    done = stats.__class__(stats.games, stats.points, jnp.float32(0))
    for seed in range(20):
        after = advance(config, league, latest, jnp.int32(3), done, jax.random.key(seed))
        assert int(after.newest) == 1 - int(league.newest)
        member = int(after.members[after.newest])
        drawn.add((member, float(after.active["x"][after.newest, 0])))
    assert drawn == {(0, 7.0), (-1, 2.0)}  # the second was replaced in the same cycle


def test_side_by_side():
    """The pool is part of the state, so trainings can be mapped."""
    trainer, seen = trained()
    shape = lambda x: jax.ShapeDtypeStruct((2, *x.shape), x.dtype)  # noqa: E731
    states = jax.tree.map(shape, seen[0][0])
    _, metrics = jax.eval_shape(jax.vmap(trainer.cycle), states)
    assert metrics["league/score"].shape == (2,)


def test_a_run_with_given_opponents_goes_on_bit_for_bit(tmp_path):
    silent = Console(file=io.StringIO())
    changes = CHANGES | {"cycles": 4, "checkpoint": {"every": 2}}
    trainer = tiny.trainer(1, **changes)
    player = azjax.trained_player(trainer, tiny.start(trainer, seed=5))
    config = tiny.config(**changes)
    azjax.save_player(tmp_path / "five.safetensors", config, player.variables)
    options = {"opponent_fraction": 0.25, "console": silent}
    for name, stop, given in (("a", 9, player), ("b", 3, tmp_path / "five.safetensors")):
        azjax.train(
            config,
            tmp_path / name,
            opponents=[given],
            **options,
            on_cycle=lambda progress, stop=stop: progress.cycle == stop,
        )
    (tmp_path / "five.safetensors").unlink()
    resumed = azjax.resume(tmp_path / "b", console=silent)
    whole = azjax.load_player(tmp_path / "a").variables
    tiny.assert_equal(local(resumed.learner.variables), whole)
    assert (tmp_path / "a" / "plots" / "league.png").is_file()
    assert int(resumed.league.size) == 3
    last = azjax.read_metrics(tmp_path / "a")[-1]
    assert last["league/members"] == 3
    assert azjax.load_config(tmp_path / "a" / "config.toml").league.fraction == 0.25


class Players:
    """Opponents that do not fit."""

    @staticmethod
    def of(**changes):
        trainer = tiny.trainer(1, **changes)
        return azjax.trained_player(trainer, tiny.start(trainer))


BOXES = {"game": CHANGES["game"], "search": CHANGES["search"]}
MISTAKES = {
    "another game": (
        lambda: Players.of(),
        {},
        r"^league: opponent <.*SearchPlayer> plays tic_tac_toe, not dots_and_boxes_2x2$",
    ),
    "other layers": (
        lambda: Players.of(**BOXES, network={"channels": 8}),
        {},
        r"^league: opponent <.*> has network\.channels = 8 and this config 16; its layers must ",
    ),
    "no network": (
        lambda: azjax.load_player("random", game=GAME),
        {},
        r"^league: opponent <.*RandomPlayer> has no network; members of a league are networks",
    ),
    "a full pool": (
        lambda: Players.of(**BOXES),
        {"league": {"every": 1, "capacity": 1}},
        r"^league\.capacity = 1 must be at least 2, for 1 opponents and the latest network$",
    ),
    "too few games": (
        lambda: Players.of(**BOXES),
        {"league": {"fraction": 0.01}},
        r"^league\.fraction = 0\.01 of 16 games on a device is less than one game; .* 0\.0625$",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    opponent, changes, message = MISTAKES[name]
    config, mesh, player = tiny.config(**BOXES | changes), make_mesh(jax.devices()[:1]), opponent()
    with pytest.raises(UserError, match=message):
        azjax.make_trainer(GAME, config, mesh, opponents=[player])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("uct:10", "^uct:10 has no network to play with; name a run or a player.s file$"),
        ("nowhere.safetensors", "nowhere.safetensors"),
        ("connect_four", "dots_and_boxes_2x2"),
    ],
)
def test_opponents_by_name(spec, message, tmp_path):
    with pytest.raises(UserError, match=message):
        azjax.train(tiny.config(**BOXES), tmp_path / "run", opponents=[spec])
    assert not (tmp_path / "run").exists()


def test_names_alone_are_not_enough_for_a_trainer():
    config = tiny.config(**BOXES, league={"opponents": ["runs/a"]})
    with pytest.raises(UserError, match=r"\['runs/a'\] must be handed over as players, opponents="):
        azjax.make_trainer(GAME, config)
