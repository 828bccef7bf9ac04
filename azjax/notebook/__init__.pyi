from .board_drawing import board as board
from .board_drawing import boards as boards
from .curves import live_curves as live_curves
from .trees import search_tree as search_tree
from .widget import opponent as opponent
