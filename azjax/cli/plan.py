"""The command that compiles for machines that are not here."""

import dataclasses
import json
from typing import Annotated

import tyro

from azjax.cli.arguments import parse
from azjax.errors import UserError


def plan(arguments: list[str]) -> None:
    """Compile a run for TPUs and GPUs that are not here: azjax plan connect_four --on v5e:2x2 h100

    Prints, before anyone rents the machine: whether the training cycle compiles and how long that
    takes, the memory that a chip needs, the operations and collectives of a cycle, and how long it
    takes at least. Keys of the config can be changed, as in `azjax train`. It needs compilers for
    these machines: pip install "azjax[plan-tpu]", "azjax[plan-gpu]" or both.
    """
    from azjax.config import Config, load_config

    base, rest = None, arguments
    if arguments and not arguments[0].startswith("-"):
        base, rest = load_config(arguments[0]), arguments[1:]

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        config: Annotated[Config, tyro.conf.arg(name="")] = dataclasses.field(
            default_factory=lambda: base or Config()
        )
        on: tuple[str, ...] = ()
        """The machines: TPU slices such as v5e:4x4 or v4:2x2x1, GPUs such as h100 or h200x8."""
        json: bool = False
        """Print JSON."""

    options = parse(plan, Arguments, rest, "plan CONFIG")
    if base is None:
        raise UserError("plan needs a config file, or the name of a config such as connect_four")
    from azjax.plan.machines import machine

    name, config = arguments[0], options.config
    machines = [machine(name) for name in options.on]
    if not machines:
        raise UserError("plan needs a machine: --on v5e:2x2, for example")

    from azjax.plan.silence import quiet

    with quiet():  # JAX's plugins look for their devices when it is imported
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.devices()
    from rich.console import Console

    from azjax.plan.plan import make_plans, plan_table

    with Console(stderr=True).status("") as status:
        plans = make_plans(config, machines, progress=status.update)
    if options.json:
        facts = {"config": name, "jax": jax.__version__}
        print(json.dumps(facts | {"plans": [found.to_dict() for found in plans]}, indent=2))
    else:
        Console().print(plan_table(name, plans))
