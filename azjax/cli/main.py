"""The command line. A user's mistake is reported in one line, with exit code 2."""

import contextlib
import io
import os
import sys
import time
from collections.abc import Callable

from azjax.cli.analyse import analyse
from azjax.cli.arguments import PROGRAM, summary
from azjax.cli.compiled_programs import keep_compiled_programs
from azjax.cli.evaluate import bench, evaluate, match, rate, report, solve
from azjax.cli.exit import exit_at_once
from azjax.cli.plan import plan
from azjax.cli.play import gtp, play, uci, usi
from azjax.cli.train import export, pretrain, resume, train
from azjax.cli.web import web
from azjax.errors import FatalError, UserError, printable

COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "train": train,
    "pretrain": pretrain,
    "resume": resume,
    "eval": evaluate,
    "match": match,
    "report": report,
    "rate": rate,
    "solve": solve,
    "play": play,
    "analyse": analyse,
    "gtp": gtp,
    "uci": uci,
    "usi": usi,
    "web": web,
    "export": export,
    "bench": bench,
    "plan": plan,
}
MEASURE_COMPILATION = ("bench", "plan")
_OTHERS_S = 1.0  # for what threads of a failed write print, so that the last line tells why


def main(arguments: list[str] | None = None) -> int:
    """Runs one command and returns the exit code: 0, or 2 after a user's mistake.

    Args:
      arguments: a command and its arguments; None for those of this process, which is then the
        command line's own: its compiled programs are kept.
    """
    own_process = arguments is None
    _prepare_output(own_process)
    try:
        try:
            _run(list(sys.argv[1:] if arguments is None else arguments), own_process)
        finally:
            sys.stdout.flush()  # at the end of a process, nobody can handle that this fails
    except FatalError as error:
        time.sleep(_OTHERS_S)
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        exit_at_once(2)
    except UserError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # who reads the output has read enough
        _discard_output(own_process)
        return 141
    except OSError as error:  # no permission, a full disk, no such directory
        path = f"{error.filename}: " if error.filename else ""
        print(printable(f"{PROGRAM}: {path}{error.strerror or error}"), file=sys.stderr)
        _discard_output(own_process)
        return 2
    except Exception as error:
        if reason := _why_no_device(error):
            print(f"{PROGRAM}: {reason}", file=sys.stderr)
            return 2
        raise
    return 0


def _run(arguments: list[str], own_process: bool) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_usage())
        return
    if arguments[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"{PROGRAM} {version('azjax')}")
        return
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        from azjax_envs.nearest import nearest

        near = nearest(name, COMMANDS)
        hint = f"did you mean {near}? " if near else ""
        raise UserError(f"unknown command {name}; {hint}the commands are {', '.join(COMMANDS)}")
    if own_process and name not in MEASURE_COMPILATION:
        keep_compiled_programs()
    if own_process and name != "plan":  # which imports JAX quietly, and always takes the CPU
        from azjax.devices import avoid_missing_tpu

        avoid_missing_tpu()
    COMMANDS[name](rest)


def _prepare_output(own_process: bool) -> None:
    """Gives missing streams a place, and makes those of an own process take every text."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed; files that are opened later would get its number
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif own_process and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output(own_process: bool) -> None:
    """Discards what could not be written, which the end of the process would try again."""
    if own_process:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _why_no_device(error: Exception) -> str | None:
    """Returns why JAX cannot compute here, if that is why the command failed."""
    if "jax" not in sys.modules:
        return None
    from azjax.devices import why_no_device

    return why_no_device(error)


def _usage() -> str:
    lines = [
        f"usage: {PROGRAM} COMMAND ...   ({PROGRAM} COMMAND --help shows its options)",
        "",
        f"  {PROGRAM} play connect_four          play against a trained player, in the terminal",
        f"  {PROGRAM} play connect_four --web    the same in a browser",
        f"  {PROGRAM} train tic_tac_toe          train a player, in about a minute",
        "",
    ]
    for name, command in COMMANDS.items():
        lines.append(f"  {name:<8} {summary(command)}".rstrip())
    return "\n".join(lines)
