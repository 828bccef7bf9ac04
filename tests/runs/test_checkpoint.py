import functools
import re
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

from azjax.config.toml import save_config
from azjax.errors import UserError
from azjax.players.load import load_network
from azjax.running.saved_state import restore_state, save_state
from azjax.runs.checkpoint import Checkpoints
from tests import tiny


@functools.cache
def states():
    """Returns host copies of the states after 0 to 4 cycles."""
    trainer = tiny.trainer(1)
    state = tiny.start(trainer)
    kept = [tiny.on_host(state)]
    for _ in range(4):
        state, _ = trainer.cycle(state)
        kept.append(tiny.on_host(state))
    return kept


def on_devices(state, devices=1):
    abstract = tiny.trainer(devices).abstract_state()
    return jax.tree.map(lambda x, a: jax.device_put(x, a.sharding), state, abstract)


def save(run_dir, cycles, *, keep=9, metrics=()):
    metrics = dict(zip(cycles, metrics, strict=False))
    with Checkpoints(run_dir, keep=keep) as checkpoints:
        for cycle in cycles:
            save_state(
                checkpoints, on_devices(states()[cycle]), selection_metric=metrics.get(cycle)
            )


def restore(run_dir, devices=1, trainer=None):
    """Returns the newest state and the warnings."""
    said = []
    abstract = (trainer or tiny.trainer(devices)).abstract_state()
    with Checkpoints(run_dir, keep=9) as checkpoints:
        return restore_state(checkpoints, abstract, warn=said.append), said


def test_taken_while_the_donated_state_trains_on(tmp_path):
    trainer = tiny.trainer(1)
    state = tiny.start(trainer)
    kept = {}
    with Checkpoints(tmp_path, keep=9) as checkpoints:
        for cycle in range(1, 6):
            state, _ = trainer.cycle(state)
            kept[cycle] = tiny.on_host(state)
            save_state(checkpoints, state)
            for _ in range(3):  # the buffers are written over before the write has ended
                state, _ = trainer.cycle(state)
            state = on_devices(kept[cycle])
    for cycle in reversed(kept):
        restored, said = restore(tmp_path)
        assert not said
        tiny.assert_equal(restored, kept[cycle])
        shutil.rmtree(tmp_path / "checkpoints" / str(cycle))


@pytest.mark.parametrize("devices", [2, 4])
def test_restored_on_other_devices(devices, tmp_path):
    save(tmp_path, [2])
    restored, said = restore(tmp_path, devices)
    assert not said
    tiny.assert_equal(restored, states()[2])
    assert len(restored.games.plies.sharding.device_set) == devices
    assert len(restored.replay.transitions.reward.addressable_shards) == devices
    assert restored.replay.transitions.reward.addressable_shards[0].data.shape == (
        16,
        16 // devices,
    )


@pytest.mark.parametrize(
    ("metrics", "kept", "best"),
    [
        ([0.1, 0.2, 0.3, 0.4], [3, 4], 4),
        ([0.4, 0.3, 0.2, 0.1], [1, 3, 4], 1),
        ([None, None, None, None], [3, 4], None),
        ([None, 0.5, None, None], [2, 3, 4], 2),
        ([None, -0.5, -0.7, None], [2, 3, 4], 2),
        ([0.5, 0.5, 0.1, None], [2, 3, 4], 2),
    ],
)
def test_the_newest_and_the_best_are_kept(metrics, kept, best, tmp_path):
    # The manager is opened twice: checkpoints from before a resumption count too.
    save(tmp_path, [1, 2], keep=2, metrics=metrics[:2])
    save(tmp_path, [3, 4], keep=2, metrics=metrics[2:])
    with Checkpoints(tmp_path, keep=2) as checkpoints:
        assert checkpoints.cycles() == kept
        assert checkpoints.best() == best
    there = {p.name for p in (tmp_path / "checkpoints").iterdir() if p.name.isdecimal()}
    assert there == set(map(str, kept))
    save_config(tiny.config(), tmp_path / "config.toml")
    for name, cycle in [("newest", 4), ("best", best), (3, 3)]:
        if cycle is None:
            with pytest.raises(UserError, match="@best: no checkpoint was evaluated"):
                load_network(tmp_path, checkpoint=name)
            continue
        _, _, variables = load_network(tmp_path, checkpoint=name)
        tiny.assert_equal(variables, states()[cycle].learner.variables)


@pytest.mark.parametrize("damage", ["half", "empty", "deleted"])
def test_no_damaged_file_gives_wrong_values(damage, tmp_path):
    save(tmp_path / "whole", [2, 4], metrics=[0.1, 0.2])
    newest = tmp_path / "whole" / "checkpoints" / "4"
    files = sorted(p.relative_to(newest) for p in newest.rglob("*") if p.is_file())
    assert len(files) > 15
    detected = []
    for file in files:
        run = tmp_path / "run"
        shutil.copytree(tmp_path / "whole", run)
        path = run / "checkpoints" / "4" / file
        if damage == "deleted":
            path.unlink()
        else:
            size = path.stat().st_size
            with path.open("r+b") as opened:
                opened.truncate(size // 2 if damage == "half" else 0)
        restored, said = restore(run)
        if said:
            detected.append(file)
            assert str(run / "checkpoints" / "4") in said[0], file
            assert "\n" not in said[0], file
        # Without its evaluation, a checkpoint is as good as before.
        broken = any("is broken" in line for line in said)
        assert not (broken and file.parts[0] == "metrics"), file
        tiny.assert_equal(restored, states()[2 if broken else 4])
        shutil.rmtree(run)
    # A damaged file that is needed for the values is always noticed.
    undetected = [str(f) for f in files if f not in detected]
    assert {"rest/manifest.ocdbt", "variables/manifest.ocdbt", "rest/_METADATA"}.isdisjoint(
        undetected
    )
    assert detected


@pytest.mark.parametrize("piece", ["variables", "rest"])
def test_other_values_in_intact_files_are_noticed(piece, tmp_path):
    save(tmp_path, [2, 3, 4])
    folder = tmp_path / "checkpoints"
    shutil.rmtree(folder / "4" / piece)
    shutil.copytree(folder / "3" / piece, folder / "4" / piece)
    restored, said = restore(tmp_path)
    (line,) = said
    assert re.fullmatch(
        rf"checkpoint {folder / '4'} is broken \({piece}/\S+ is not as it was written\); "
        "trying an older one",
        line,
    )
    tiny.assert_equal(restored, states()[3])


def written_with(tmp_path, change):
    """Writes a checkpoint of cycle 4 whose checksums are right, although its values are changed."""
    save(tmp_path, [2])
    variables, rest = on_devices(states()[4]).split()
    with Checkpoints(tmp_path, keep=9) as checkpoints:
        checkpoints.save(4, jax.tree.map(change, variables), rest)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(value, tmp_path):
    written_with(tmp_path, lambda x: x.at[(0,) * x.ndim].set(value))
    restored, said = restore(tmp_path)
    assert re.fullmatch(
        r"checkpoint \S+ is broken \(\S+ holds numbers that are not finite\); "
        "trying an older one",
        said[0],
    )
    tiny.assert_equal(restored, states()[2])


def test_other_types_are_refused(tmp_path):
    written_with(tmp_path, lambda x: x.astype("bfloat16"))
    with pytest.raises(UserError, match=r"is bfloat16\[.*\] in the checkpoint, float32\["):
        restore(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"selection_metric": "a"}', b"[" * 99999, b"\xff"]
)
def test_a_damaged_evaluation_counts_as_none(content, tmp_path):
    save(tmp_path, [2, 4], metrics=[0.1, 0.9])
    (tmp_path / "checkpoints" / "4" / "metrics" / "metrics").write_bytes(content)
    restored, said = restore(tmp_path)
    assert said == [
        f"checkpoint {tmp_path / 'checkpoints' / '4'}: its evaluation is damaged; "
        "it counts as not evaluated"
    ]
    tiny.assert_equal(restored, states()[4])
    save(tmp_path, [3], keep=1)  # the manager chooses by the evaluations that are left
    with Checkpoints(tmp_path, read_only=True) as checkpoints:
        assert checkpoints.best() == 2


@pytest.mark.parametrize("piece", ["variables", "rest", ".", "rest/ocdbt.process_0/d", "rest/d"])
def test_missing_pieces(piece, tmp_path):
    save(tmp_path, [2, 4])
    whole = tmp_path / "checkpoints" / "4"
    shutil.rmtree(whole / piece)
    if piece == ".":
        whole.mkdir()
    restored, said = restore(tmp_path)
    assert len(said) == 1
    assert str(whole) in said[0]
    tiny.assert_equal(restored, states()[2])


def test_only_broken_ones(tmp_path):
    save(tmp_path, [2, 4])
    for cycle in "24":
        shutil.rmtree(tmp_path / "checkpoints" / cycle / "rest" / "d")
    said = []
    with (
        Checkpoints(tmp_path) as checkpoints,
        pytest.raises(UserError, match="no intact checkpoint") as caught,
    ):
        restore_state(checkpoints, tiny.trainer(1).abstract_state(), warn=said.append)
    assert "\n" not in str(caught.value)
    assert [Path(s.split()[1]).name for s in said] == ["4", "2"]


def test_reading_says_nothing(tmp_path, caplog):
    save(tmp_path, [1])
    caplog.clear()
    with Checkpoints(tmp_path, read_only=True) as checkpoints:
        assert checkpoints.cycles() == [1]
    assert caplog.messages == []


def test_no_run(tmp_path):
    with pytest.raises(UserError, match="there is no run with checkpoints"):
        Checkpoints(tmp_path, read_only=True)
    assert not list(tmp_path.iterdir())


def test_of_another_config(tmp_path):
    save(tmp_path, [2, 4])
    for changes, named in [
        ({"network": {"channels": 24}}, "params.body.trunk.layers.0.kernel"),
        ({"network": {"norm": "none"}}, "params.body.trunk.layers.0.bias"),
        ({"replay": {"capacity_plies": 32}}, "replay.transitions"),
        ({"learning": {"optimizer": "sgd"}}, "optimizer_state"),
        ({"selfplay": {"actor": "gated"}}, "variables"),
    ]:
        trainer = tiny.trainer(1, **changes)
        with pytest.raises(UserError, match="another config") as caught:
            restore(tmp_path, trainer=trainer)
        message = str(caught.value)
        assert named in message.partition("another config: ")[2]
        assert "\n" not in message
        assert str(tmp_path / "checkpoints" / "4") in message


def test_one_cycle(tmp_path):
    save(tmp_path, [1, 2])
    variables = states()[1].learner.variables
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    abstract = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=device), variables
    )
    with Checkpoints(tmp_path, read_only=True) as checkpoints:
        with pytest.raises(UserError, match=re.escape("there is no checkpoint 7; available: 1, 2")):
            checkpoints.restore_variables(abstract, 7, warn=print)
        tiny.assert_equal(checkpoints.restore_variables(abstract, 1, warn=print), variables)


def test_a_write_cut_short_is_no_checkpoint(tmp_path):
    """A killed process leaves a folder without its final name."""
    save(tmp_path, [2])
    folder = tmp_path / "checkpoints"
    shutil.copytree(folder / "2", folder / "4.orbax-checkpoint-tmp-3")
    restored, said = restore(tmp_path)
    assert not said
    assert np.asarray(restored.cycle) == 2
