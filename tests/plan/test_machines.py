import pytest

from azjax.errors import UserError
from azjax.plan.kernels import READ, Kernel
from azjax.plan.machines import CHIPS, chip_of, kernel_seconds, machine


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


def test_a_kernel_takes_the_longest_of_its_parts():
    here = machine("h100")
    chip = here.chip
    assert kernel_seconds(Kernel("copy"), here) == chip.kernel
    assert kernel_seconds(READ, here) == chip.read
    flops = Kernel("dot", matrix_flops=989e12, matrix_dtype="bf16", bytes=1e9)
    assert kernel_seconds(flops, here) == pytest.approx(chip.product + 1 / chip.matrix_share)
    copy = Kernel("copy", bytes=3.35e12)
    assert kernel_seconds(copy, here) == pytest.approx(chip.kernel + 1 / chip.bandwidth_share)


def test_a_collective_takes_longer_on_more_chips():
    reduce = Kernel("all-reduce", collective="all-reduce", sent=1e9)
    times = [kernel_seconds(reduce, machine(name)) for name in ("h100x2", "h100x4", "h100x8")]
    assert times == sorted(times)


def test_figures_are_in_their_units():
    for chip in CHIPS.values():
        assert 1e10 < chip.memory < 1e12
        assert 5e11 < chip.bandwidth < 1e13
        assert 1e14 < chip.float32_rate <= chip.matrix_rate < 2e15
        assert 1e11 < chip.link < 1e12
