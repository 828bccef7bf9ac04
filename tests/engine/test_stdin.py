"""Lines that are read from a pipe."""

import os
import time

import pytest

from azjax.engine.stdin import MAX_BYTES, TOO_LONG, Lines


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield Lines(read), write
    os.close(read)


def read_all(lines):
    found = []
    while (line := lines.next()) is not None:
        found.append(line)
    return found


def test_lines_do_not_depend_on_the_blocks_that_are_read(pipe):
    lines, write = pipe
    for block in (b"one\ntw", b"o\n\nthr\xc3", b"\xbc\xff\r\n", b"last"):
        os.write(write, block)
        time.sleep(0.01)
    os.close(write)
    assert read_all(lines) == ["one", "two", "", "thr\u00fc\ufffd", "last"]
    assert lines.next() is None  # further calls return None too
    assert lines.waiting()


def test_a_line_that_is_too_long_is_dropped(pipe):
    lines, write = pipe
    whole = "a" * MAX_BYTES
    for text in ("x" * (3 * MAX_BYTES), whole, "quit " * MAX_BYTES, "b", TOO_LONG):
        write_all(write, f"{text}\n".encode())
    os.close(write)
    found = read_all(lines)
    assert found == [TOO_LONG, whole, TOO_LONG, "b", TOO_LONG]
    # A line with the same text is another object.
    assert [line is TOO_LONG for line in found] == [True, False, True, False, False]


def write_all(write, data):
    """Writes in parts, because a pipe holds less; the thread reads meanwhile."""
    while data:
        data = data[os.write(write, data) :]


def test_waits_only_if_there_is_no_line(pipe):
    lines, write = pipe
    assert not lines.waiting()
    os.write(write, b"one\ntwo\n")
    lines.wait()
    assert lines.next() == "one"
    lines.give_back(["first", "second"])
    assert lines.waiting()
    assert [lines.next() for _ in range(3)] == ["first", "second", "two"]
    os.close(write)
    assert lines.next() is None
