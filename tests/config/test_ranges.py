"""Every number of a config has a range, and what is beyond it is refused in one line."""

import math
import typing

import pytest

from azjax.config.checks import ranges
from tests.config.sections import FIELDS, SECTIONS, nested, refused


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("section", "name"),
    [(s, n) for s, n in FIELDS if typing.get_type_hints(SECTIONS[s])[n] is float],
)
def test_floats_are_finite(section, name, value):
    assert f"{section}.{name} = {value} must be a finite number" in refused(
        nested(section, {name: value})
    )


def test_floats_in_lists_are_finite():
    assert "learning.lr_drops = nan must be a finite" in refused(
        {"learning": {"lr_drops": [float("nan")]}}
    )


RANGES = {(s, n): found for s, kind in SECTIONS.items() for n, found in ranges(kind).items()}


def test_every_number_has_a_range():
    numbers = {(s, n) for s, n in FIELDS if typing.get_type_hints(SECTIONS[s])[n] in (int, float)}
    assert numbers == set(RANGES)


@pytest.mark.parametrize(("section", "name"), RANGES)
def test_ranges_end_where_they_should(section, name):
    kind, allowed = RANGES[section, name]
    step = 1 if kind is int else 1e-6
    least = allowed.low + (step if allowed.above else 0)
    wrong = [allowed.low - (0 if allowed.above else step)]
    right = [] if name == "full_search_fraction" else [least]  # which needs a whole ply
    if allowed.high < math.inf:
        wrong.append(allowed.high + step)
        right.append(allowed.high)
    for value in right:
        SECTIONS[section](**{name: kind(value)})
    for value in wrong:
        said = refused(nested(section, {name: kind(value)}))
        assert said == f"{section}.{name} = {kind(value)} must be {allowed.wanted}"
    if kind is int:
        said = refused(nested(section, {name: 2**31}))
        assert said == f"{section}.{name} = {2**31} must be below 2**31"
    elif allowed.high == math.inf:
        SECTIONS[section](**{name: 1e38})
        said = refused(nested(section, {name: 1e39}))
        assert said == f"{section}.{name} = 1e+39 must be at most 1e38"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"cycles": 0}, "cycles = 0 must be at least 1"),
        ({"seed": 2**32}, "seed = 4294967296 must be between 0 and 4294967295"),
        ({"gate": {"threshold": 1.5}}, "gate.threshold = 1.5 must be between 0.0 and 1.0"),
        ({"learning": {"clip_norm": 0}}, "learning.clip_norm = 0.0 must be above 0.0"),
        (
            {"selfplay": {"resign_disabled_fraction": 2}},
            "selfplay.resign_disabled_fraction = 2.0 must be above 0.0 and at most 1.0",
        ),
    ],
)
def test_messages_say_what_would_be_right(data, said):
    assert refused(data) == said
