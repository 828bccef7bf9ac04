"""Progressive simulations: a run begins with small searches and doubles them on its way.

Of an untrained network's values many are worth little more than few, and fast games bring the
results that it needs first.
"""

from __future__ import annotations

from dataclasses import replace

from azjax.config import Config, SearchConfig


def simulation_stages(config: SearchConfig) -> tuple[int, ...]:
    """The numbers of simulations that a run goes through, the last being `num_simulations`."""
    if not config.start_simulations:
        return (config.num_simulations,)
    stages = [config.start_simulations]
    while stages[-1] < config.num_simulations:
        stages.append(min(2 * stages[-1], config.num_simulations))
    return tuple(stages)


def stage_of(config: Config, cycle: int) -> int:
    """The stage of the cycle after `cycle` cycles: each is an equal share of the run."""
    stages = len(simulation_stages(config.search))
    return min(cycle * stages // config.cycles, stages - 1)


def at_stage(config: Config, stage: int) -> Config:
    """The config with this stage's simulations; fast searches have no more than these."""
    simulations = simulation_stages(config.search)[stage]
    selfplay = config.selfplay
    return replace(
        config,
        search=replace(config.search, start_simulations=0, num_simulations=simulations),
        selfplay=replace(selfplay, fast_simulations=min(selfplay.fast_simulations, simulations)),
    )
