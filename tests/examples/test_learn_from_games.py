"""The example that learns from games which it makes itself."""

from pathlib import Path

from tests.examples.test_own_parts import load


def test_it_learns(tmp_path, monkeypatch, capsys):
    example = load("learn_from_games")
    assert len(Path(example.__file__).read_text().splitlines()) < 120
    monkeypatch.setattr(example, "GAMES", 150)
    predicted, score = example.main(tmp_path, 20)
    assert predicted > 0.25
    assert score > 0.6
    assert f"{predicted:.0%} of the moves predicted" in capsys.readouterr().out
