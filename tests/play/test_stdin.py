"""Lines that come in by a pipe."""

import os
import time

import pytest

from azjax.play.stdin import LONGEST, TOO_LONG, Lines


@pytest.fixture
def pipe():
    read, write = os.pipe()
    yield Lines(read), write
    os.close(read)


def taken(lines):
    found = []
    while (line := lines.next()) is not None:
        found.append(line)
    return found


def test_lines_come_as_they_were_sent_however_they_are_cut(pipe):
    lines, write = pipe
    for block in (b"one\ntw", b"o\n\nthr\xc3", b"\xbc\xff\r\n", b"last"):
        os.write(write, block)
        time.sleep(0.01)
    os.close(write)
    assert taken(lines) == ["one", "two", "", "thr\u00fc\ufffd", "last"]
    assert lines.next() is None  # it stays ended
    assert lines.waiting()


def test_nothing_is_kept_of_a_line_that_is_too_long(pipe):
    lines, write = pipe
    whole = "a" * LONGEST
    for text in ("x" * (3 * LONGEST), whole, "quit " * LONGEST, "b", TOO_LONG):
        write_all(write, f"{text}\n".encode())
    os.close(write)
    found = taken(lines)
    assert found == [TOO_LONG, whole, TOO_LONG, "b", TOO_LONG]
    # The same text as a line of its own is not that object.
    assert [line is TOO_LONG for line in found] == [True, False, True, False, False]


def write_all(write, data):
    """A pipe holds less; the thread reads meanwhile."""
    while data:
        data = data[os.write(write, data) :]


def test_waits_only_where_nothing_is_there(pipe):
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
