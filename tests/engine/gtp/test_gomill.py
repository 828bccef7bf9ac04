"""A match that another client runs: gomill's ringmaster, which controls engines by GTP."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from sgfmill import sgf

from tests.oracles import gnugo
from tests.oracles.clients import engine_command, untrained
from tests.players.engines.programs import needs

GOMILL = Path(__file__).parents[3] / ".gomill"
RINGMASTER = GOMILL / "bin" / "ringmaster"


# No failure under continuous integration: gomill is for Python 2.7, which may be missing there.
@pytest.mark.skipif(
    not RINGMASTER.exists(),
    reason="gomill is not installed (python2.7 -m pip install --target .gomill gomill)",
)
@needs("gnugo")
def test_gomill_referees_a_match_with_gnu_go(tmp_path):
    """Both programs must accept all moves, and agree on the scores."""
    ours = engine_command("gtp", untrained(tmp_path / "go.safetensors", "go_5x5"))
    rules = ["--chinese-rules", "--positional-superko", "--capture-all-dead"]
    other = [gnugo.program(), "--mode", "gtp", "--level", "1", "--never-resign", *rules]
    here = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    (tmp_path / "match.ctl").write_text(
        f"""
competition_type = "playoff"
record_games = True
board_size, komi = 5, 7.5
players = {{
    "azjax": Player({shlex.join(ours)!r}, environ={here!r}),
    "gnugo": Player({shlex.join(other)!r}),
}}
matchups = [
    Matchup("azjax", "gnugo", alternating=True, number_of_games=2, move_limit=99, scorer="players")
]
"""
    )
    run = [RINGMASTER, tmp_path / "match.ctl", "run", "--quiet"]
    subprocess.run(run, env=os.environ | {"PYTHONPATH": str(GOMILL)}, check=True, timeout=600)
    games = [sgf.Sgf_game.from_bytes(x.read_bytes()) for x in (tmp_path / "match.games").iterdir()]
    assert {game.get_player_name("b").partition(":")[0] for game in games} == {"GNU Go", "azjax"}
    for game in games:
        moves = [node.get_move() for node in game.get_main_sequence()[1:]]
        assert moves[-2:] == [("bw"[(len(moves) + i) % 2], None) for i in range(2)]  # two passes
        assert game.get_root().get("RE")[:2] in ("B+", "W+")
        assert "?" not in game.get_root().get("RE")
