"""Wrong shapes and dtypes at the entry points of self-play, replay and learning."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest
from azjax_envs import init_batch, make

from azjax.learning.batch import Batch, make_batch
from azjax.learning.loss import alphazero_loss
from azjax.learning.update import init_learner, make_optimizer, update
from azjax.network.two_headed import make_network
from azjax.replay.buffer import append, draw_indices, empty_replay, take
from azjax.replay.targets import compute_targets
from azjax.search.model import network_evaluate
from azjax.selfplay.openings import start_games
from azjax.selfplay.selfplay import self_play
from tests import tiny

CONFIG = tiny.config(search={"num_simulations": 2})
GAME = make("tic_tac_toe")
NETWORK = make_network(GAME, CONFIG.network)
KEY = jax.random.key(0)
LANES, PLIES = 16, 8


def shapes(function, *arguments):
    return jax.eval_shape(function, *arguments)


def play(games, **options):
    variables = shapes(NETWORK.init, KEY)
    evaluate = network_evaluate(GAME, NETWORK)

    def run(variables, games, options):
        return self_play(GAME, evaluate, variables, KEY, games, CONFIG, **options)

    return shapes(run, variables, games, options)


GAMES = shapes(lambda key: start_games(GAME, key, LANES, CONFIG.selfplay), KEY)
_, TRANSITIONS, _ = play(GAMES)
REPLAY = shapes(lambda new: empty_replay(jax.tree.map(lambda x: x[0], new), 16), TRANSITIONS)
ROWS = shapes(take, REPLAY, jnp.zeros(6, jnp.int32))
BATCH = shapes(
    lambda rows: make_batch(GAME, KEY, rows, jnp.zeros((6, 3)), symmetries=False),
    ROWS,
)


def zeros(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def learn(batch):
    optimizer = make_optimizer(CONFIG.learning, 10)

    def run(batch):
        learner = init_learner(NETWORK.init(KEY), optimizer)
        return update(NETWORK, optimizer, alphazero_loss(CONFIG), learner, batch, KEY)

    return shapes(run, batch)


def stored(**changes):
    return replace(REPLAY, transitions=replace(REPLAY.transitions, **changes))


def targets(replay):
    return shapes(lambda replay: compute_targets(replay, CONFIG), replay)


OTHER_GAME = replace(GAMES, states=shapes(lambda: init_batch(make("connect_four"), KEY, LANES)))
ONE_GAME = replace(GAMES, states=shapes(GAME.init))

WRONG = {
    "another game": (lambda: play(OTHER_GAME), "must be a batch of tic_tac_toe's"),
    "one state": (lambda: play(ONE_GAME), "must have a batch axis"),
    "plies": (
        lambda: play(replace(GAMES, plies=zeros(LANES))),
        r"games.plies must be int32 \[16\], given float32 \[16\]",
    ),
    "full-search mask": (
        lambda: play(GAMES, full_search_mask=zeros(LANES, dtype=bool)),
        r"full_search_mask must be bool \[8\], given bool \[16\]",
    ),
    "threshold": (
        lambda: play(GAMES, resign_threshold=zeros(LANES)),
        r"resign_threshold must be float \[\], given float32 \[16\]",
    ),
    "keys": (
        lambda: shapes(lambda k: draw_indices(k, jnp.ones((4, 4), bool), (3,)), zeros(2, 2)),
        "key must be one PRNG key",
    ),
    "flat valid": (
        lambda: shapes(lambda v: draw_indices(KEY, v, (3,)), zeros(16, dtype=bool)),
        r"valid must be bool \[R, B\], given bool \[16\]",
    ),
    "indices": (
        lambda: shapes(take, REPLAY, zeros(6)),
        r"indices must be int \[N\], given float32 \[6\]",
    ),
    "other lanes": (
        lambda: shapes(append, REPLAY, replace(TRANSITIONS, value=zeros(PLIES, 4))),
        r"transitions.value must be float16 \[8, 16\], given float32 \[8, 4\]",
    ),
    "ring of other shapes": (
        lambda: targets(stored(value=zeros(16, 4))),
        r"transitions.value must be float \[16, 16\], given float32 \[16, 4\]",
    ),
    "ring's position": (
        lambda: targets(replace(REPLAY, position=zeros())),
        r"replay.position must be int32 \[\], given float32 \[\]",
    ),
    "value targets": (
        lambda: shapes(lambda r, v: make_batch(GAME, KEY, r, v, symmetries=True), ROWS, zeros(5)),
        r"outcome must be float \[6, 3\], given float32 \[5\]",
    ),
    "policy": (
        lambda: learn(replace(BATCH, policy=zeros(6, 8))),
        r"batch.policy must be float \[6, 9\], given float32 \[6, 8\]",
    ),
    "masks": (
        lambda: learn(replace(BATCH, masks=zeros(6, 9))),
        r"batch.masks must be bool \[6, A\], given float32 \[6, 9\]",
    ),
    "value": (
        lambda: learn(replace(BATCH, outcome=zeros(6, 1))),
        r"batch.outcome must be float \[6, 3\], given float32 \[6, 1\]",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arrays_are_named_while_tracing(case):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_right_arrays_pass():
    assert play(GAMES, full_search_mask=zeros(PLIES, dtype=bool))
    assert play(GAMES, resign_threshold=zeros())
    assert shapes(append, REPLAY, TRANSITIONS)
    assert targets(REPLAY).outcome.shape == (16, LANES, 3)
    assert isinstance(BATCH, Batch)
