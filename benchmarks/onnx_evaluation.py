"""The time of an evaluation in ONNX Runtime, and a comparison with JAX, for all configs.

    python benchmarks/onnx_evaluation.py --json onnx_evaluation.json

Each config's game and untrained network become the ONNX model that `azjax web` writes. The model
and JAX play the same random games. All arrays of all states must be equal, priors and values equal
up to rounding. A difference stops the command.
"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import jax
import tyro

from azjax.config.toml import load_config
from azjax.games import make_game
from azjax.keys import first_keys
from azjax.network.two_headed import make_network
from azjax.web.onnx_model import export_model, make_evaluation
from azjax.web.verify import check_model


@dataclasses.dataclass(frozen=True)
class Arguments:
    configs: tyro.conf.Positional[tuple[Path, ...]] = tuple(sorted(Path("configs").glob("*.toml")))
    """Config files."""
    games: int = 50
    """Random games for each config."""
    seed: int = 0
    """Seed of the games."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the table to this file, again after each config."""


def main(options: Arguments) -> None:
    table = []
    for path in options.configs:
        table.append(_measured(path, options))
        print(", ".join(f"{name} {value}" for name, value in table[-1].items()), flush=True)
        if options.json:
            options.json.write_text(json.dumps(table, indent=2) + "\n")


def _measured(path: Path, options: Arguments) -> dict[str, object]:
    """Returns the results of one config."""
    config = load_config(path)
    game = make_game(config)
    network = make_network(game, config.network)
    variables = jax.jit(network.init)(first_keys(jax.random.PRNGKey(options.seed)).network)
    parts = (game, network, variables)
    check = check_model(
        game,
        make_evaluation(*parts),
        export_model(*parts),
        games=options.games,
        seed=options.seed,
    )
    return {
        "config": path.name,
        "games": check.games,
        "positions": check.positions,
        "milliseconds": round(check.milliseconds, 3),  # median
        "largest_difference": check.error,  # between priors and values
    }


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
