"""Commands that train."""

import dataclasses
import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from azjax.cli.arguments import (
    PROGRAM,
    FileArgument,
    RunArgument,
    TrustOption,
    parse,
)
from azjax.cli.exit import second_signal_ends
from azjax.errors import UserError

if TYPE_CHECKING:
    from azjax.config import Config
    from azjax.devices import Hosts
    from azjax.files.dataset import Dataset


def train(arguments: list[str]) -> None:
    """Train a player from a config: azjax train tic_tac_toe, or azjax train my_config.toml"""
    from azjax.config import Config, load_config
    from azjax.devices import Hosts

    name = _first_word(arguments)
    config = load_config(name) if name else None

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        config: Annotated[Config, tyro.conf.arg(name="")] = dataclasses.field(
            default_factory=lambda: config or Config()
        )
        run_dir: Path | None = None
        """Where the run is kept; runs/NAME of the config if left out."""
        start_from: str | None = None
        """Begin with the network of this player instead of random weights: RUN, RUN@best,
        RUN@CYCLE, a file, or a player that comes with azjax. Its layers must be those of
        [network]."""
        games: tuple[Path, ...] = ()
        """Files of recorded games to learn from besides self-play, SGF or PGN for example;
        `learning.games_fraction` of each batch is of them."""
        wandb: str | None = None
        """Also send the metrics to this project of Weights & Biases; needs
        pip install "azjax[wandb]"."""
        hosts: Annotated[Hosts, tyro.conf.arg(name="")] = dataclasses.field(default_factory=Hosts)

    options = parse(train, Arguments, arguments[1:] if name else arguments, "train CONFIG")
    if config is None:
        raise UserError("train needs a config file, or the name of a config such as tic_tac_toe")
    run_dir = options.run_dir or Path("runs") / Path(name).stem
    _start_jax(options.config, options.hosts)
    from azjax.cli.multihost import lost_peers_named
    from azjax.running.loop import train as run

    with lost_peers_named(options.hosts.heartbeat_timeout), second_signal_ends(_ended(run_dir)):
        games = _read_games(options.config, options.games) if options.games else None
        loggers = _loggers(run_dir, options.wandb)
        run(
            options.config,
            run_dir,
            start_from=options.start_from,
            games=games,
            loggers=loggers,
        )


def _read_games(config: "Config", files: Sequence[Path]) -> "Dataset":
    from rich.console import Console

    from azjax.games import make_game
    from azjax.running.pretrain import read_examples

    return read_examples(files, make_game(config), Console())


def pretrain(arguments: list[str]) -> None:
    """Learn from recorded games: azjax pretrain go_9x9 games/*.sgf

    The run is like one of azjax train: azjax resume continues it, and
    azjax train CONFIG --start-from RUN goes on by self-play.
    """
    from azjax.config import Config, load_config

    words = list(itertools.takewhile(lambda word: not word.startswith("-"), arguments))
    config = load_config(words[0]) if words else None

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        config: Annotated[Config, tyro.conf.arg(name="")] = dataclasses.field(
            default_factory=lambda: config or Config()
        )
        run_dir: Path | None = None
        """Where the run is kept; runs/NAME_from_games of the config if left out."""
        start_from: str | None = None
        """As in `azjax train`."""

    options = parse(pretrain, Arguments, arguments[len(words) :], "pretrain CONFIG FILES")
    if len(words) < 2:
        raise UserError("pretrain needs a config and files of games: azjax pretrain go_9x9 a.sgf")
    run_dir = options.run_dir or Path("runs") / f"{Path(words[0]).stem}_from_games"
    from azjax.devices import Hosts

    _start_jax(options.config, Hosts())
    from azjax.running.pretrain import pretrain as run

    with second_signal_ends(_ended(run_dir)):
        run(options.config, words[1:], run_dir, start_from=options.start_from)


def resume(arguments: list[str]) -> None:
    """Continue a run from its newest intact checkpoint: azjax resume runs/tic_tac_toe

    Settings that are given hold from here on: azjax resume runs/tic_tac_toe --cycles 2000
    """
    from azjax.config import Config
    from azjax.devices import Hosts
    from azjax.players.load import load_run_config

    name = _first_word(arguments)
    saved = load_run_config(name) if name else None

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        config: Annotated[Config, tyro.conf.arg(name="")] = dataclasses.field(
            default_factory=lambda: saved or Config()
        )
        wandb: str | None = None
        """As in `azjax train`; the page of the run goes on."""
        hosts: Annotated[Hosts, tyro.conf.arg(name="")] = dataclasses.field(default_factory=Hosts)

    options = parse(resume, Arguments, arguments[1:] if saved else arguments, "resume RUN")
    if saved is None:
        raise UserError("resume needs a run directory, such as runs/tic_tac_toe")
    _start_jax(options.config, options.hosts)
    from azjax.cli.multihost import lost_peers_named
    from azjax.running.loop import resume as run

    run_dir = Path(os.path.expanduser(name))
    config = None if options.config == saved else options.config
    with lost_peers_named(options.hosts.heartbeat_timeout), second_signal_ends(_ended(run_dir)):
        run(run_dir, config=config, loggers=_loggers(run_dir, options.wandb))


def export(arguments: list[str]) -> None:
    """Write a run's player into one file to share: azjax export runs/h hex.safetensors

    With --dtype float32 it is for programs that read the weights themselves.
    """
    from azjax.players.compact_weights import Precision

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: RunArgument
        """The run directory, another checkpoint (RUN@best, RUN@CYCLE), a player's file, or a player
        that comes with azjax."""
        file: FileArgument
        """The new file, whose name ends in .safetensors."""
        dtype: Precision = "compact"
        """Type of the weights. compact: float16, and 8 bits in large layers; float32 rounds
        nothing."""
        trust: TrustOption = False

    options = parse(export, Arguments, arguments, "export")
    from azjax.players.load import export_player

    export_player(options.run, options.file, dtype=options.dtype, trust=options.trust)
    print(f"{options.file}: {options.file.stat().st_size:,} bytes")


def _first_word(arguments: list[str]) -> str:
    """Returns what a command is about, a config or a run; "" if an option is first."""
    return arguments[0] if arguments and not arguments[0].startswith("-") else ""


def _start_jax(config: "Config", hosts: "Hosts") -> None:
    from azjax.devices import join_hosts, use_all_cores
    from azjax.training import divisible_by_devices

    join_hosts(hosts)
    splits = tuple(value // share for _, value, share in divisible_by_devices(config))
    use_all_cores(splits=splits, processes=hosts.num_processes or 1)


def _loggers(run_dir: Path, project: str | None) -> list[Any]:
    """Returns the loggers that a command line asks for."""
    from azjax.runs.wandb_logger import WandbLogger

    return [] if project is None else [WandbLogger(run_dir, project)]


def _ended(run_dir: Path) -> str:
    shown = quote(str(run_dir))
    return f"{PROGRAM}: ended at once; azjax resume {shown} continues from the last checkpoint"
