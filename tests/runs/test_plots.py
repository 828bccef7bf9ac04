"""Plots of a run show the metrics that exist, and nothing else."""

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib._pylab_helpers import Gcf
from rich.console import Console

from azjax.errors import UserError
from azjax.runs.metrics import evaluation_text, read_metrics
from azjax.runs.plots import draw, elo, evaluation, losses, mistakes_by_class, smooth
from azjax.runs.run_logger import RunLogger


def run(run_dir, cycles, evaluations=()):
    console = Console(quiet=True)
    with RunLogger(run_dir, total_cycles=max(len(cycles), 1), console=console) as log:
        for number, scalars in enumerate(cycles, 1):
            log.cycle(number, scalars)
        for scalars in evaluations:
            log.evaluation(len(cycles), scalars)
    return run_dir


CYCLES = [
    {
        "train/policy_loss": np.nan,
        "train/value_loss": np.nan,
        "selfplay/plies": 8.0,
        "time/cycle_s": 9.0,
        "selfplay/game_length": np.nan,
    },
    {
        "train/policy_loss": 1.0,
        "train/value_loss": 0.5,
        "selfplay/plies": 8.0,
        "time/cycle_s": 0.1,
        "selfplay/game_length": 7.0,
    },
    {
        "train/policy_loss": 0.8,
        "train/value_loss": 0.6,
        "selfplay/plies": 8.0,
        "time/cycle_s": 0.1,
        "selfplay/game_length": 8.0,
    },
]
MATCH = {"opponent": "random", "score": 0.9, "elo": 380.0, "elo_low": 300.0, "elo_high": 500.0}
WON_ALL = {"opponent": "policy", "score": 1.0, "elo": np.inf, "elo_low": 200.0, "elo_high": np.inf}


def test_everything_measured_is_drawn(tmp_path):
    before = dict(rcParams)
    written = draw(run(tmp_path, CYCLES, [MATCH, WON_ALL, {"mistakes": 1, "positions": 9}]))
    assert [path.name for path in written] == [
        "losses.png",
        "evaluation.png",
        "elo.png",
        "game_lengths.png",
        "speed.png",
    ]
    for path in written:
        assert path.parent == tmp_path / "plots"
        assert path.read_bytes().startswith(b"\x89PNG")
    assert dict(rcParams) == before
    assert not Gcf.get_all_fig_managers()  # pyplot knows of no figure


@pytest.mark.parametrize(
    ("cycles", "evaluations", "names"),
    [
        ([], [], []),
        (CYCLES[:1], [], ["speed.png"]),  # nothing learned yet, no game ended
        ([], [{"mistakes": 0, "positions": 9}], ["evaluation.png"]),
        ([], [{"opponent": "random", "score": 0.5}], ["evaluation.png"]),
        (
            [],
            [{"mistakes": 0, "positions": 9, "mistake_rate/easy": 0.1}],
            ["evaluation.png", "mistakes_by_class.png"],
        ),
    ],
)
def test_what_was_not_measured_is_left_out(tmp_path, cycles, evaluations, names):
    assert [path.name for path in draw(run(tmp_path, cycles, evaluations))] == names


def test_no_run_is_a_users_mistake(tmp_path):
    with pytest.raises(UserError, match=r"there is no run \(metrics\.jsonl is missing\)"):
        draw(tmp_path)


def test_curves_hold_the_numbers(tmp_path):
    lines = read_metrics(run(tmp_path, CYCLES, [MATCH, WON_ALL, {"mistakes": 1, "positions": 4}]))
    raw, mean = losses(lines).axes[0].lines
    np.testing.assert_array_equal(raw.get_ydata(), [np.nan, 1.0, 0.8])
    np.testing.assert_array_equal(mean.get_xdata(), [2, 3])
    np.testing.assert_allclose(mean.get_ydata(), [0.9, 0.9])
    exact, scores = evaluation(lines).axes
    np.testing.assert_array_equal(exact.lines[0].get_ydata(), [0.75])
    assert [line.get_ydata()[0] for line in scores.lines] == [0.9, 1.0]
    (axes,) = elo(lines).axes
    labels = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert labels["against random"] == [380.0]
    assert "against policy" not in labels
    assert labels["against policy, won all: at least"] == [200.0]


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.9, 0.0), (1.0, 0.5)])
def test_the_axis_of_shares_ends_at_all(tmp_path, rates):
    with RunLogger(tmp_path, total_cycles=3, console=Console(quiet=True)) as log:
        for cycle, rate in enumerate(rates):
            log.cycle(cycle + 1, {})
            log.evaluation(cycle, {"mistakes": int(10 * rate), "positions": 10})
            log.evaluation(cycle, {"opponent": "random", "score": 1 - rate})
    for axes in evaluation(read_metrics(tmp_path)).axes:
        low, high = axes.get_ylim()
        assert high == 1.0
        assert 0 <= low < 1
        (line,) = axes.lines
        assert not line.get_clip_on()  # a point at an end is drawn whole
        assert line.get_ydata().min() >= low


def test_mistakes_by_class_are_shown_in_percent(tmp_path):
    rates = [{"mistake_rate/hard": 0.5, "mistake_rate/easy": 0.02}]
    rates += [{"mistake_rate/hard": 0.25, "mistake_rate/easy": 0.0}]
    exact = [{"mistakes": 5, "positions": 20} | each for each in rates]
    assert evaluation_text(exact[0]) == "5 mistakes in 20 positions"
    (axes,) = mistakes_by_class(read_metrics(run(tmp_path, CYCLES, exact))).axes
    shown = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    assert shown == {"hard, at last 25%": [50.0, 25.0], "easy, at last 0%": [2.0, 0.1]}


def test_smoothing_is_a_centred_mean_that_skips_gaps():
    values = np.array([1.0, 2.0, np.nan, 4.0, 9.0, np.nan, np.nan, np.nan])
    expected = [1.5, 1.5, 3.0, 6.5, 6.5, 9.0, np.nan, np.nan]
    np.testing.assert_allclose(smooth(values, 3), expected)
    np.testing.assert_allclose(smooth(np.array([3.0, 5.0]), 5), [4.0, 4.0])
