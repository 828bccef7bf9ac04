import pytest

from azjax.errors import UserError
from azjax.plan.machines import CHIPS, chip_of, machine


@pytest.mark.parametrize(
    ("name", "chips", "topology"),
    [
        ("v5e:4x4", 16, "v5e:4x4"),
        ("v4:2x2x1", 4, "v4:2x2x1"),
        ("h100", 1, "1x1x1"),
        ("h200x8", 8, "1x1x8"),
        ("h100x16", 16, "1x2x8"),
    ],
)
def test_names(name, chips, topology):
    found = machine(name)
    assert (found.chips, found.topology) == (chips, topology)


@pytest.mark.parametrize("name", ["", "v9:2x2", "h100:2x2", "v5e", "h100x12", "h100x0", "cpu"])
def test_other_names_are_refused(name):
    with pytest.raises(UserError, match="no such machine; give a TPU slice such as v5e:2x2"):
        machine(name)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H200", "h200"),
        ("TPU v5 lite", "v5e"),
        ("TPU v6 lite", "v6e"),
        ("TPU v5p", "v5p"),
    ],
)
def test_devices_of_known_chips(kind, name):
    assert chip_of(kind) is CHIPS[name]


@pytest.mark.parametrize("kind", ["cpu", "NVIDIA A100-SXM4-40GB", "TPU v3"])
def test_devices_of_other_chips(kind):
    assert chip_of(kind) is None


def test_figures_are_in_their_units():
    for chip in CHIPS.values():
        assert 1e10 < chip.memory < 1e12
        assert 5e11 < chip.bandwidth < 1e13
        assert 1e14 < chip.float32_rate <= chip.matrix_rate < 2e15
