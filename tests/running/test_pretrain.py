"""Runs that learn from recorded games."""

import io

import jax
import numpy as np
import pytest
from azjax_envs import make
from rich.console import Console

import azjax
from azjax.cli.main import main
from azjax.config import NetworkConfig
from azjax.errors import UserError
from azjax.files.game_record import start_game
from azjax.learning.batch import make_batch
from azjax.network.results import expected_result, told_apart
from azjax.replay import Ring
from azjax.replay.buffer import Replay
from azjax.replay.custom_targets import RunTargets
from azjax.running.recorded_games import HELD_OUT, fill_replay, learning_from, rows_of_cycle
from azjax.sharding import local
from tests import tiny
from tests.oracles.dice import recorded_games

GAME = make("tic_tac_toe")
CHANGES = {
    "cycles": 6,
    "learning": {"batch_size": 32, "updates_per_cycle": 8, "learning_rate": 1e-2},
    "evaluation": {"every": 0},
}

ALONE = CHANGES | {
    "learning": CHANGES["learning"] | {"games_fraction": 1.0, "updates_per_cycle": 16}
}


def games(count, seed=0):
    """Returns games of players who often take the first free cell."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        record = start_game(GAME)
        while not record.current.over:
            legal = sorted(record.legal_moves())
            record = record.play(legal[0] if rng.random() < 0.7 else int(rng.choice(legal)))
        found.append(record)
    return found


@pytest.fixture(scope="module")
def data():
    return azjax.dataset(GAME, games(120))


def test_it_learns_resumes_and_self_play_goes_on(data, tmp_path):
    config, silent = tiny.config(**ALONE), Console(file=io.StringIO())
    whole = azjax.train(config, tmp_path / "a", games=data, console=silent)
    rows = [x for x in azjax.read_metrics(tmp_path / "a") if x["kind"] == "cycle"]
    assert rows[-1]["heldout/move_accuracy"] > 0.5 > rows[0]["heldout/move_accuracy"] - 0.3
    assert rows[-1]["heldout/policy_loss"] < rows[0]["heldout/policy_loss"]
    assert (tmp_path / "a" / "plots" / "predictions.png").is_file()
    assert int(whole.learner.num_updates) == 6 * 16
    # Stopped and resumed, bit for bit; the run keeps its examples.
    stop = lambda progress: progress.cycle == 3  # noqa: E731
    azjax.train(config, tmp_path / "b", games=data, console=silent, on_cycle=stop)
    resumed = azjax.resume(tmp_path / "b", console=silent)
    tiny.assert_equal(resumed, whole)
    # Self-play begins with its network.
    begun = azjax.train(
        tiny.config(evaluation={"every": 0}),
        tmp_path / "c",
        start_from=tmp_path / "a",
        console=silent,
        on_cycle=lambda progress: True,
    )
    assert int(begun.cycle) == 1


@pytest.mark.parametrize("devices", [1, 2])
def test_games_fill_the_buffer_and_a_share_of_each_batch(data, devices):
    trainer = tiny.trainer(devices, **CHANGES)
    mixed = learning_from(trainer, data)
    state = fill_replay(mixed, tiny.start(trainer), data)
    replay = jax.device_get(state.replay)
    learned, _ = data.split(HELD_OUT, trainer.config.seed)
    plies = learned.plies(trainer.config.selfplay.parallel_games, len(replay.transitions.learn), 4)
    rows = int(replay.filled)
    assert rows == len(plies.learn) > 0
    for stored, given in zip(*map(jax.tree.leaves, (replay.transitions, plies)), strict=True):
        np.testing.assert_array_equal(stored[:rows], given)
    # Every ply has the result of its own game: that of the next end in its lane.
    targets = Ring().targets(replay, root_value_weight=0.0, max_games=10**6)
    valid = np.asarray(targets.valid)[:rows]
    assert valid.all()
    outcome = np.asarray(targets.outcome)[:rows]
    np.testing.assert_array_equal(outcome[..., 0] - outcome[..., 2], plies.value)
    # So updates begin in the first cycle.
    state, metrics = mixed.cycle(state)
    assert int(local(metrics["train/updates"])) == 8
    assert {"heldout/move_accuracy", "selfplay/game_length"} <= {*metrics}


def test_a_mixed_run_resumes_bit_for_bit(data, tmp_path):
    config, silent = tiny.config(**CHANGES), Console(file=io.StringIO())
    whole = azjax.train(config, tmp_path / "a", games=data, console=silent)
    stop = lambda progress: progress.cycle == 3  # noqa: E731
    azjax.train(config, tmp_path / "b", games=data, console=silent, on_cycle=stop)
    tiny.assert_equal(azjax.resume(tmp_path / "b", console=silent), whole)


DICE = make("hypergammon")
OF_DICE = {
    "game": {"name": "hypergammon"},
    "network": {"value_head": "results"},
    "search": {"num_simulations": 2},
    "selfplay": {"parallel_games": 8, "plies_per_cycle": 16},
    "replay": {"capacity_plies": 64, "min_positions": 64},
    "learning": {"batch_size": 64, "updates_per_cycle": 12, "learning_rate": 1e-2},
    "cycles": 8,
    "evaluation": {"every": 0},
}


@pytest.fixture(scope="module")
def games_of_dice():
    return azjax.dataset(DICE, recorded_games(DICE, jax.random.key(0), 256, 150))


def test_games_of_dice_with_points(games_of_dice, tmp_path, compile_once):
    """A network learns moves and chances of gammons; the run goes on bit for bit."""
    data, silent = games_of_dice, Console(file=io.StringIO())
    config = tiny.config(**OF_DICE)
    config = tiny.replace(config, learning=tiny.replace(config.learning, games_fraction=1.0))
    whole = azjax.train(config, tmp_path / "a", games=data, console=silent)
    rows = [x for x in azjax.read_metrics(tmp_path / "a") if x["kind"] == "cycle"]
    _, held = data.split(HELD_OUT, config.seed)
    results = held.sample.transitions.value.astype(float)
    assert rows[-1]["heldout/move_accuracy"] > 0.6
    assert rows[-1]["heldout/policy_loss"] < rows[0]["heldout/policy_loss"]
    assert rows[-1]["heldout/value_error"] < (results**2).mean()
    stop = lambda progress: progress.cycle == 4  # noqa: E731
    azjax.train(config, tmp_path / "b", games=data, console=silent, on_cycle=stop)
    tiny.assert_equal(azjax.resume(tmp_path / "b", console=silent), whole)


@pytest.mark.parametrize("head", ["results", "wdl"])
def test_a_buffer_has_the_outcomes_of_the_games(games_of_dice, head):
    """What a batch of recorded games tells is what the replay buffer tells of the same games."""
    results = told_apart(DICE, NetworkConfig(value_head=head))
    data = games_of_dice.with_targets(DICE, RunTargets(()), results)
    outcome = data.sample.outcome
    assert outcome.shape == (len(data), len(results))
    assert len(np.unique(outcome, axis=0)) == 6
    plies = jax.tree.map(lambda x: x[:, None], games_of_dice.sample.transitions)
    whole = Replay(plies, position=np.int32(0), filled=np.int32(len(data)))
    targets = Ring.of(results).targets(whole, root_value_weight=0.0, max_games=0)
    assert np.asarray(targets.valid).all()
    np.testing.assert_allclose(np.asarray(targets.outcome)[:, 0], outcome, atol=1e-3)
    value = expected_result(targets.outcome, results)[:, 0]
    np.testing.assert_allclose(value, data.sample.transitions.value, atol=1e-3)


def test_games_of_dice_besides_self_play(games_of_dice):
    trainer = tiny.trainer(**OF_DICE)
    mixed = learning_from(trainer, games_of_dice)
    state = fill_replay(mixed, tiny.start(trainer), games_of_dice)
    assert int(state.replay.filled) > 0
    _, metrics = mixed.cycle(state)
    assert int(local(metrics["train/updates"])) == 12
    assert np.isfinite(local(metrics["train/loss"]))
    assert {"heldout/move_accuracy", "selfplay/game_length"} <= {*metrics}


def test_each_position_is_seen_once_before_one_is_seen_again():
    seen = np.concatenate([rows_of_cycle(100, cycle, 30, seed=3) for cycle in range(10)])
    for epoch in np.split(seen, 3):
        assert sorted(epoch) == list(range(100))
    assert (seen[:100] != seen[100:200]).any()


@pytest.mark.parametrize("devices", [1, 2])
def test_one_update_from_any_batch(data, devices):
    trainer = tiny.trainer(devices, learning={"learning_rate": 1e-2, "schedule": "constant"})
    sample = data.rows(np.arange(32))
    batch = make_batch(GAME, jax.random.key(0), sample, symmetries=False)
    state, losses = tiny.start(trainer), []
    for _ in range(20):
        state, metrics = trainer.learn(state, batch)
        losses.append(float(local(metrics["train/loss"])))
    assert losses[-1] < 0.9 * losses[0]
    assert int(local(state.learner.num_updates)) == 20
    assert int(local(state.cycle)) == 0


def test_the_command(tmp_path, capsys):
    config = tiny.write_config(tmp_path / "tiny.toml", **CHANGES | {"cycles": 1})
    lines = ["# tic_tac_toe", *(" ".join(x.moves) for x in games(40)), "a1 b1"]
    (tmp_path / "games.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "chess.pgn").write_text("1. e4 e5 1-0")
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "other.txt").write_text("# hex_3x3\n" + "a1 b2 c3\n" * 12)
    broken = ("none.txt", "empty.txt", "chess.pgn", "binary.txt", "other.txt", ".")
    files = [str(tmp_path / name) for name in (*broken[:3], "games.txt", *broken[3:])]
    assert main(["pretrain", str(config), *files, "--run-dir", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    reasons = (
        "there is no such file",
        "it holds no game",
        "files .pgn are of chess, not tic_tac_toe",
    )
    reasons += ("game 1: move 1: ", "game 1: it has moves of hex_3x3", "there is no such file")
    lines = out.splitlines()
    for name, reason in zip(broken, reasons, strict=True):
        (line,) = [x for x in lines if x.startswith(str(tmp_path / name)) and reason in x]
        lines.remove(line)
    assert f"{tmp_path / 'games.txt'}, game 41: it has no result\n" in out
    repeats = 40 - len({record.moves for record in games(40)})
    assert repeats > 1
    told = f"positions of 40 games; {repeats} repeat another game; 1 left out; 6 files cannot"
    assert f"{told} be read\n" in out
    assert "moves predicted" in out


def test_mistakes(data, tmp_path):
    few = azjax.dataset(GAME, games(2))
    for config, given, message in (
        (
            tiny.config(learning={"batch_size": 64, "games_fraction": 1.0}),
            few,
            r"positions to learn from; learning\.batch",
        ),
        (
            tiny.config(selfplay={"actor": "gated"}, learning={"games_fraction": 1.0}),
            data,
            'selfplay.actor must be "latest"',
        ),
    ):
        with pytest.raises(UserError, match=message):
            azjax.train(config, tmp_path / "run", games=given)
