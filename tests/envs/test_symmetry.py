import numpy as np
import pytest
from azjax_envs.symmetry import dihedral, on_cells


@pytest.mark.parametrize(("height", "width", "count"), [(3, 3, 8), (2, 3, 4), (5, 1, 4)])
def test_dihedral(height, width, count):
    cells = dihedral(height, width)
    assert cells.dtype == np.int32
    assert cells.shape == (count, height * width)
    np.testing.assert_array_equal(cells[0], np.arange(height * width))
    np.testing.assert_array_equal(np.sort(cells, axis=1), np.tile(cells[0], (count, 1)))


def test_actions_follow_their_cells():
    cells = dihedral(2, 2)
    symmetries = on_cells(cells, np.array([3, 0]), num_actions=3)  # the other cells have no action
    quarter_turns_move_them_off = symmetries.actions[:, :2].min(axis=1) < 0
    np.testing.assert_array_equal(symmetries.actions[:, 2], 2)
    for k in np.flatnonzero(~quarter_turns_move_them_off):
        for action, cell in enumerate([3, 0]):
            assert [3, 0][symmetries.actions[k, action]] == cells[k, cell]
