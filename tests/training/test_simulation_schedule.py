import pytest

from azjax.config import SearchConfig
from azjax.errors import UserError
from azjax.training.simulation_schedule import at_stage, simulation_stages, stage_of
from tests import tiny


@pytest.mark.parametrize(
    ("start", "end", "stages"),
    [(0, 32, (32,)), (8, 64, (8, 16, 32, 64)), (5, 32, (5, 10, 20, 32)), (16, 16, (16,))],
)
def test_simulations_double_up_to_the_last(start, end, stages):
    config = SearchConfig(num_simulations=end, start_simulations=start)
    assert simulation_stages(config) == stages


def test_stages_are_equal_shares_of_the_run():
    config = tiny.config(cycles=10, search={"num_simulations": 32, "start_simulations": 8})
    assert [stage_of(config, c) for c in range(10)] == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert stage_of(config, 25) == 2  # a run whose number of cycles was raised
    assert [at_stage(config, s).search.num_simulations for s in range(3)] == [8, 16, 32]
    assert at_stage(config, 0).selfplay.fast_simulations == 8


def test_a_start_above_the_end_is_refused():
    with pytest.raises(UserError, match=r"search\.start_simulations = 64 must be at most .* = 32"):
        SearchConfig(num_simulations=32, start_simulations=64)


def test_a_run_changes_stage_and_does_what_it_says():
    trainer = tiny.trainer(cycles=4, search={"num_simulations": 4, "start_simulations": 2})
    short, long = trainer.stages

    def entropies(*cycles):
        state, found = tiny.start(trainer), []
        for cycle in cycles:
            state, metrics = cycle(state)
            found.append(float(metrics["selfplay/policy_entropy"]))
        return found

    run = entropies(*4 * [trainer.cycle])
    assert run == entropies(short, short, long, long)
    assert run[2] != entropies(short, short, short)[2]
