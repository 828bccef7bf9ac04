"""Messages are one line that a terminal can show, whatever a file had in it."""

import json

import pytest

from azjax.cli.main import main
from azjax.config.toml import load_config
from azjax.errors import UserError, printable

HOSTILE = "\x1b]0;owned\x07\x1b[2J\r\nazjax: all is well\u202e\x9b31m"


def test_control_characters_become_escapes():
    assert printable("Österreich, 将棋, a\\b") == "Österreich, 将棋, a\\b"
    assert printable("a\x1b[2J\nb") == r"a\x1b[2J\nb"
    assert printable("\u202e\udcff\u2028") == r"\u202e\udcff\u2028"
    assert printable(printable(HOSTILE)) == printable(HOSTILE)


def test_a_message_is_one_printable_line_of_bounded_length():
    assert str(UserError("a" + HOSTILE)) == "a" + printable(HOSTILE)
    assert str(UserError("fine")) == "fine"
    long = str(UserError("start" + "x" * 10**6 + "end"))
    assert long.startswith("startxx")
    assert long.endswith("xxend")
    assert "[998,008 characters]" in long
    assert len(long) < 2100


@pytest.mark.parametrize("place", ["key", "value", "section", "game"])
def test_text_of_a_config_does_not_reach_the_terminal(place, tmp_path, capsys):
    quoted = json.dumps(HOSTILE)
    text = {
        "key": f"{quoted} = 1",
        "value": f"seed = {quoted}",
        "section": f"[{quoted}]\na = 1",
        "game": f"[game]\n{quoted} = [1]",
    }
    file = tmp_path / "a.toml"
    file.write_text(text[place])
    with pytest.raises(UserError) as caught:
        load_config(file)
    assert str(caught.value).isprintable()
    assert main(["train", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert r"\x1b" in line or r"\u001b" in line
