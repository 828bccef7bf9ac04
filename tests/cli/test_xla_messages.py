"""What the command line makes of XLA's messages: calm lines for its alarms, all else unchanged."""

import os
import subprocess
import sys

import pytest

from azjax.cli.xla_messages import AlarmRewriter

HEAD = "E1123 12:10:57.485940   14953 slow_operation_alarm.cc:73] "
STARS = "********************************\n"
ADVICE = (
    "If you want to file a bug, run with envvar XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the "
    "results.\n"
)
BODY = f"{STARS}[Compiling module jit_train_cycle] Very slow compile? {ADVICE}{STARS}"
COMPILING = f"{HEAD}\n{BODY}"
COMPILED = f"{HEAD.replace('73', '140')}The operation took 3m5.25s\n\n{BODY}"
FOLDING = (
    f"""{HEAD}Constant folding an instruction is taking > 1s:

  %reduce_window_sum.7 = f32[2000,2000]{{1,0}} reduce-window(%iota.3, %constant.1)

This isn't necessarily a bug; constant-folding is inherently a trade-off.

"""
    + ADVICE
)
OTHER = "E1123 12:10:58.000000   14953 cuda_executor.cc:73] out of memory\n"
SLOW = (
    "azjax: compiling train_cycle takes more than two minutes; this is usual for large networks "
    "and searches, and happens once\n"
)
DONE = "azjax: train_cycle is compiled, after 3m5.25s\n"


def rewritten(text):
    rewriter = AlarmRewriter()
    lines = [rewriter.line(line.encode()) for line in text.splitlines(keepends=True)]
    return (b"".join(lines) + rewriter.rest()).decode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (COMPILING, SLOW),
        (COMPILED, DONE),
        (
            COMPILED.replace("[Compiling module jit_train_cycle] ", ""),
            DONE.replace("train_cycle", "a program"),
        ),
        (FOLDING, ""),
        (FOLDING.replace("Constant folding", "Something else"),) * 2,
        (FOLDING + OTHER + COMPILING + "after\n", OTHER + SLOW + "after\n"),
        (OTHER, OTHER),
        ("no newline", "no newline"),
        # What begins like an alarm and goes on otherwise is shown as it is.
        (f"{HEAD}something new\n{OTHER}", f"{HEAD}something new\n{OTHER}"),
        (f"{HEAD}\n{STARS}", f"{HEAD}\n{STARS}"),
        (HEAD + "\n" * 100, HEAD + "\n" * 100),
    ],
)
def test_alarms_become_lines(text, shown):
    assert rewritten(text) == shown


def run(script):
    prelude = "import os, sys\nfrom azjax.cli.xla_messages import announce_slow_compilations\n"
    start = "announce_slow_compilations()\n"
    return subprocess.run(
        [sys.executable, "-c", f"{prelude}{start}{script}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_nothing_is_lost_when_a_library_aborts():
    done = run(f"os.write(2, {(COMPILING + OTHER).encode()!r}); os.write(2, b'F'); os.abort()")
    assert done.returncode == -6
    assert done.stderr == f"{SLOW}{OTHER}F"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_python_s_own_messages_pass():
    done = run("print('out'); print('a line', file=sys.stderr); raise ValueError('wrong')")
    assert (done.returncode, done.stdout) == (1, "out\n")
    assert done.stderr.startswith("a line\nTraceback")
    assert done.stderr.endswith("ValueError: wrong\n")
