"""The egocentric views of N MiniGrid agents at once, byte for byte those of `MiniGridEnv.gen_obs`.

The package builds a view object by object: it cuts the square out of the grid, rotates it up to
four times, spreads light over it cell by cell and encodes the lit cells. Here a view is one gather,
with tables of offsets that include the rotation, and light spreads a row at a time. How light
passes a row depends only on which of its cells it reaches and which block it, so a table holds
every case.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from minigrid.core.constants import DIR_TO_VEC
from numpy.typing import NDArray

from rllib_ride.envs.minigrid_cells import OPAQUE, Cells, code_bytes

MAX_VIEW_SIZE = 9  # A row's table has 4^size entries.


class EgocentricView:
    """Builds the views of all agents of a `Cells`.

    Args:
        cells: the grids, with a border of at least `size - 1` cells.
        size: cells along an edge of the view, odd, at most `MAX_VIEW_SIZE`.
        see_through_walls: whether light passes through everything (the package's option).
    """

    def __init__(self, cells: Cells, size: int, see_through_walls: bool) -> None:
        self._cells = cells
        self._size = size
        self._offsets = _view_offsets(size, cells.stride)
        self._tables = None if see_through_walls else _row_tables(size)

    def images(self) -> NDArray[np.uint8]:
        """What each agent sees, in the package's encoding.

        Returns:
            uint8 [N, size, size, 3].
        """
        cells = self._cells
        places = cells.agent[:, None, None] + self._offsets[cells.direction]  # [N, i, j]
        codes = cells.codes.ravel().take(places)
        if self._tables is not None:
            codes &= _light(codes, *self._tables)
        codes[:, self._size // 2, -1] = cells.carried
        return code_bytes(codes)


def _view_offsets(size: int, stride: int) -> NDArray[np.int64]:
    """Offsets of a view's cells from the agent's cell in flat codes: [direction, i, j]."""
    right, ahead = np.arange(size)[:, None] - size // 2, size - 1 - np.arange(size)
    dx, dy = np.array(DIR_TO_VEC).T[:, :, None, None]
    return (dx * ahead - dy * right) * stride + dy * ahead + dx * right


def _light(
    codes: NDArray[np.uint32],
    lit_table: NDArray[np.int64],
    above_table: NDArray[np.int64],
    ones_table: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    """A bit mask of each view's lit cells, all bits set where lit: uint32 [N, i, j]."""
    size = codes.shape[1]
    opaque = (1 << np.arange(size)) @ (codes >= OPAQUE)  # [N, j], one bit a cell of the row
    lit = np.empty_like(opaque)
    reached: Any = 1 << size // 2  # The agent's own cell, in the middle of the last row.
    for j in reversed(range(size)):
        row = reached << size | opaque[:, j]
        lit[:, j] = lit_table.take(row)
        reached = above_table.take(row)
    return ones_table.take(lit, axis=0).transpose(0, 2, 1)


@functools.cache
def _row_tables(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
    """How light passes one row of a view, for every possible row (`Grid.process_vis`).

    Bit i of a number stands for column i. Light comes from the row below. It runs to the right
    through cells that do not block it, then to the left. From each cell that it passes through, it
    also reaches the row above: the same column and the next one in its direction.

    Returns:
        The cells lit in this row, [4^size], and the cells reached in the row above, [4^size], both
        indexed by `reached << size | opaque`; and for every set of lit cells a row of bit masks,
        [2^size, size], with all bits set for a lit cell.
    """
    lit, opaque = np.divmod(np.arange(4**size), 2**size)
    above = np.zeros_like(lit)
    for columns, step in ((range(size - 1), 1), (range(size - 1, 0, -1), -1)):
        for i in columns:
            passes = lit >> i & ~opaque >> i & 1
            lit |= passes << i + step
            above |= passes << i | passes << i + step
    bits = np.arange(2**size)[:, None] >> np.arange(size) & 1
    return lit, above, np.where(bits, np.uint32(0xFFFFFFFF), np.uint32(0)).astype(np.uint32)
