"""Every number of a config has a range, and what is beyond it is refused in one line."""

import typing

import pytest

from azjax.errors import UserError
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


LEAST = {
    "network": {n: 1 for n in ("blocks", "channels", "policy_channels", "value_channels")}
    | {"value_hidden": 1, "filters": 1, "pooling_every": 0, "convolutions": 0},
    "search": {"num_simulations": 1},
    "search.gumbel": {"max_considered_actions": 1},
    "search.puct": {"dirichlet_fraction": 0.0},
    "selfplay": {
        "parallel_games": 1,
        "plies_per_cycle": 1,
        "sampled_plies": 0,
        "opening_plies": 0,
        "fast_simulations": 1,
        "final_temperature": 0.0,
        "resign_false_positive_rate": 0.0,
    },
    "replay": {"capacity_plies": 1, "max_games": 0, "min_positions": 1},
    "learning": {
        "batch_size": 1,
        "updates_per_cycle": 1,
        "warmup_updates": 0,
        "momentum": 0.0,
        "l2": 0.0,
        "weight_decay": 0.0,
        "root_value_weight": 0.0,
    },
    "gate": {"every": 1, "games": 2, "threshold": 0.0},
    "evaluation": {"every": 0, "games": 2, "num_simulations": 1, "opening_plies": 0},
    "checkpoint": {"every": 1, "keep": 1},
}
MOST = {
    "search.puct": {"dirichlet_fraction": 1.0},
    "learning": {
        "momentum": 1.0,
        "root_value_weight": 1.0,
    },
    "selfplay": {
        "full_search_fraction": 1.0,
        "resign_false_positive_rate": 1.0,
        "resign_disabled_fraction": 1.0,
    },
    "gate": {"threshold": 1.0},
}
POSITIVE = {
    "search.gumbel": ["value_scale"],
    "search.puct": ["pb_c_init", "pb_c_base", "dirichlet_concentration"],
    "selfplay": ["temperature", "full_search_fraction", "resign_disabled_fraction"],
    "learning": ["learning_rate", "clip_norm"],
}


def test_ranges_end_where_they_should():
    for section, bounds in LEAST.items():
        SECTIONS[section](**bounds)
        for name, low in bounds.items():
            below = low - (1 if isinstance(low, int) else 1e-6)
            with pytest.raises(UserError, match=rf"^{section}\.{name} = "):
                SECTIONS[section](**{name: below})
    for section, bounds in MOST.items():
        SECTIONS[section](**bounds)
        for name, high in bounds.items():
            with pytest.raises(UserError, match=rf"^{section}\.{name} = "):
                SECTIONS[section](**{name: high + 1e-6})
    for section, names in POSITIVE.items():
        for name in names:
            if name != "full_search_fraction":  # at least one ply of a cycle
                SECTIONS[section](**{name: 1e-6})
            with pytest.raises(UserError, match=rf"^{section}\.{name} = .*above 0"):
                SECTIONS[section](**{name: 0.0})


@pytest.mark.parametrize(
    ("section", "name"),
    [(s, n) for s, n in FIELDS if typing.get_type_hints(SECTIONS[s])[n] is int],
)
def test_integers_are_those_of_jax(section, name):
    said = refused(nested(section, {name: 2**31}))
    assert said == f"{section}.{name} = {2**31} must be below 2**31"


def test_every_number_has_a_range():
    bounded = {
        (section, name)
        for table in (LEAST, MOST, POSITIVE)
        for section, names in table.items()
        for name in names
    }
    numbers = {(s, n) for s, n in FIELDS if typing.get_type_hints(SECTIONS[s])[n] in (int, float)}
    assert numbers == bounded
