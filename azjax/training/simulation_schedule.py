"""Progressive simulations: a run begins with small searches and doubles them over time.

With an untrained network, many simulations are hardly better than few. Fast games give it the
results that it needs first.
"""

from __future__ import annotations

from dataclasses import replace

from azjax.config import Config, SearchConfig


def simulation_stages(config: SearchConfig) -> tuple[int, ...]:
    """Returns the numbers of simulations of a run in order; the last is `num_simulations`."""
    if not config.start_simulations:
        return (config.num_simulations,)
    stages = [config.start_simulations]
    while stages[-1] < config.num_simulations:
        stages.append(min(2 * stages[-1], config.num_simulations))
    return tuple(stages)


def stage_of(config: Config, cycle: int) -> int:
    """Returns the stage of the cycle that follows `cycle` cycles; stages are equally long."""
    stages = len(simulation_stages(config.search))
    return min(cycle * stages // config.cycles, stages - 1)


def at_stage(config: Config, stage: int) -> Config:
    """Returns the config with this stage's simulations; fast searches have at most as many."""
    simulations = simulation_stages(config.search)[stage]
    selfplay = config.selfplay
    return replace(
        config,
        search=replace(config.search, start_simulations=0, num_simulations=simulations),
        selfplay=replace(selfplay, fast_simulations=min(selfplay.fast_simulations, simulations)),
    )
