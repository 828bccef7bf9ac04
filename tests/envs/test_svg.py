import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from azjax_envs import make, to_svg
from azjax_envs.svg import element


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "dots_and_boxes_2x3"])
def test_every_cell_shows_its_code(play_line, name):
    game = make(name)
    state = play_line(game, [0, 2, 1])
    drawing = ET.fromstring(to_svg(game, state))
    shown = {p.get("data-cell"): p.get("data-code") for p in drawing.iter() if p.get("data-cell")}
    codes = np.asarray(game.view(state)).tolist()
    assert shown == {str(cell): str(code) for cell, code in enumerate(codes)}
    assert any(codes)
    style = drawing.find("{http://www.w3.org/2000/svg}style").text
    for code in set(codes) - {0}:
        assert f'[data-code="{code}"]' in style


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four_4x5", "dots_and_boxes_2x3"])
def test_every_action_can_be_clicked(name):
    game = make(name)
    actions = {int(a) for a in re.findall(r'data-action="(\d+)"', game.svg_board())}
    assert actions == set(range(game.num_actions))


def test_styles_stay_within_their_drawing():
    for name in ("tic_tac_toe", "connect_four", "dots_and_boxes"):
        board = ET.fromstring(make(name).svg_board())
        scope = f".{board.get('class')} "
        for rule in board.find("{http://www.w3.org/2000/svg}style").text.strip().splitlines():
            assert rule.startswith(scope)


def test_element():
    assert (
        element("rect", cls="cell", data_cell=3, x=1.5)
        == '<rect class="cell" data-cell="3" x="1.5"/>'
    )
    assert element("g", [element("a"), "b"]) == "<g><a/>b</g>"
