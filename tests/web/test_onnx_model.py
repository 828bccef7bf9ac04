"""Every game as an ONNX model, compared with JAX over whole random games."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import available_games, make

from azjax.errors import UserError
from azjax.web.onnx_model import export_model, make_evaluation, run_model
from azjax.web.verify import check_model, open_session
from tests.web.sites import untrained

pytest.importorskip("onnxruntime")

GAMES = 50
QUICK = (
    ("tic_tac_toe", "resnet"),
    ("connect_four", "mlp"),
    ("dots_and_boxes_2x2", "mlp"),
    ("dots_and_boxes_5x5", "mlp"),
    ("mancala", "mlp"),
    ("hex_4x4", "mlp"),
    ("mnk_4x4x3", "mlp"),
    ("othello_4x4", "mlp"),
    ("go_3x3", "resnet"),
    ("ur_2", "mlp"),
    ("hypergammon", "points"),
)
SLOW = (
    ("hex", "resnet"),
    ("gomoku", "resnet"),
    ("othello", "resnet"),
    ("go_9x9", "resnet"),
    ("gardner_chess", "resnet"),
    ("ur", "resnet"),
    ("backgammon", "points"),
    # Their fifty games are 15,000 to 27,000 positions.
    ("go_19x19", "resnet"),
    ("chess", "resnet"),
    ("shogi", "resnet"),
)


@pytest.mark.parametrize(
    ("name", "tower"),
    [*QUICK, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
)
def test_a_game_agrees_with_jax_over_fifty_random_games(name, tower):
    player = untrained(name, tower)
    parts = (player.game, player.network, player.variables)
    movers = set()
    check = check_model(
        player.game,
        make_evaluation(*parts),
        export_model(*parts, lanes=4),
        games=GAMES,
        seed=3,
        on_position=lambda state: movers.add(int(player.game.current_player(state))),
    )
    assert check.games == GAMES
    assert check.positions > 4 * GAMES
    assert movers == {0, 1}


def test_every_game_of_azjax_is_tested():
    bases = {make(name).name for name, _ in (*QUICK, *SLOW)}
    assert {*available_games()} - {"mnk"} <= {
        name for base in bases for name in (base, base.rpartition("_")[0])
    }


def test_a_model_that_differs_is_an_error():
    player = untrained("tic_tac_toe")
    parts = (player.game, player.network, player.variables)
    model, evaluate = export_model(*parts), make_evaluation(*parts)

    names = [output.name for output in open_session(model).get_outputs()]

    def other(*inputs):
        outputs = evaluate(*inputs)
        view = names.index("view")
        outputs[view] = jnp.where(outputs[view] == 2, 1, outputs[view])  # all are player 0's
        return outputs

    assert model.lanes == 1
    with pytest.raises(UserError, match="view differs from JAX's after 2 moves"):
        check_model(player.game, other, model, games=5, seed=0)

    def less_exact(*inputs):
        outputs = evaluate(*inputs)
        value = names.index("value")
        outputs[value] = outputs[value] + 1e-3
        return outputs

    with pytest.raises(UserError, match="value differs"):
        check_model(player.game, less_exact, model, games=1, seed=0)


@pytest.mark.parametrize(
    ("part", "words"), [("chance", "chance differs"), ("roll", "the state's array next_4 differs")]
)
def test_a_model_with_other_dice_is_an_error(part, words):
    player = untrained("ur_1")
    game = player.game
    model = export_model(game, player.network, player.variables)

    class Loaded(type(game)):
        def chance_probabilities(self, state):
            fair = super().chance_probabilities(state)
            return fair[::-1] * np.array([2, 1, 1, 1, 0]) if part == "chance" else fair

        def chance_step(self, state, outcome):
            return super().chance_step(state, 4 - outcome if part == "roll" else outcome)

    other = make_evaluation(Loaded(1), player.network, player.variables)
    with pytest.raises(UserError, match=words):
        check_model(game, other, model, games=1, seed=0)


def test_a_position_before_the_dice_has_a_value_of_its_own():
    player = untrained("ur_1")
    game = player.game
    model = export_model(game, player.network, player.variables)
    session = open_session(model)
    before = [np.asarray(x) for x in jax.tree.leaves(game.init())]
    found = run_model(session, model, before, -1)
    assert (16 * found["chance"]).tolist() == [1, 4, 6, 4, 1]
    assert not found["legal"].any()
    rolled = run_model(session, model, before, game.num_actions + 2)
    assert not rolled["chance"].any()
    assert rolled["legal"].any()
    for state, told in ((game.init(), found), (game.chance_step(game.init(), 2), rolled)):
        (value,) = player.predict(jax.tree.map(lambda x: x[None], state)).value
        assert told["value"] == pytest.approx(float(value), abs=1e-6)
    assert abs(rolled["value"] - found["value"]) > 1e-3


def test_minus_one_evaluates_without_a_move():
    player = untrained("connect_four")
    model = export_model(player.game, player.network, player.variables)
    session, state = open_session(model), player.game.init()
    leaves = [np.asarray(x) for x in jax.tree.leaves(state)]
    facts = run_model(session, model, leaves, -1)
    for name, leaf in zip(model.outputs, leaves, strict=False):
        np.testing.assert_array_equal(facts[name], leaf)
    assert facts["player"] == 0
    assert not facts["over"]
    assert facts["legal"].all()
    assert facts["prior"].sum() == pytest.approx(1, abs=1e-5)
    assert run_model(session, model, leaves, 3)["player"] == 1


def test_a_game_that_cannot_be_exported_is_an_error():
    player = untrained("tic_tac_toe")

    class Sorts(type(player.game)):
        def view(self, state):
            return jnp.sort(super().view(state))

    with pytest.raises(UserError, match=r"tic_tac_toe cannot run in a browser .*sort.*--web"):
        export_model(Sorts(), player.network, player.variables)


def test_networks_in_bfloat16_are_exported_in_float32():
    player = untrained("tic_tac_toe", "resnet")
    network = dataclasses.replace(
        player.network, config=dataclasses.replace(player.network.config, dtype="bfloat16")
    )
    same = export_model(player.game, player.network, player.variables)
    assert export_model(player.game, network, player.variables).proto == same.proto
