"""The grids of N MiniGrid environments as arrays, kept in sync with the package's objects.

A cell is one number, its *code*: the three bytes `(type, colour, state)` of the `minigrid` package
and a fourth byte that is 1 if the cell's object blocks the view. With one code per cell, a single
gather makes a view and also returns what blocks it.

The *state key* of an environment is a 64-bit hash of its full grid with the agent in it, the grid
that `minigrid.wrappers.FullyObsWrapper` shows (RIDE's N_ep counts these states, key `full`). Equal
grids have equal keys in every process. Different grids have different keys, except for rare 64-bit
collisions. What the agent carries is not part of the key. A key is the sum modulo 2^64 of one hash
per cell, so that a changed cell costs two terms instead of a whole grid (Zobrist hashing, with a
mixing function instead of a table).
"""

from __future__ import annotations

import numpy as np
from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX
from minigrid.core.grid import Grid
from minigrid.core.world_object import Wall, WorldObj
from numpy.typing import NDArray

# Little-endian on every machine: code_bytes reads the bytes of a code in this order.
CODE = np.dtype("<u4")
OPAQUE = 1 << 24


def cell_code(obj: WorldObj | None) -> int:
    """Code of a cell that holds `obj` (None: an empty cell)."""
    if obj is None:
        return _EMPTY
    kind, color, state = obj.encode()
    return kind | color << 8 | state << 16 | (0 if obj.see_behind() else OPAQUE)


_EMPTY: int = OBJECT_TO_IDX["empty"]
_AGENT = OBJECT_TO_IDX["agent"] | COLOR_TO_IDX["red"] << 8


def grid_codes(grid: Grid) -> NDArray[np.uint32]:
    """Codes of a whole grid.

    Returns:
        uint32 [W, H].
    """
    codes = []
    last, code = None, _EMPTY
    for obj in grid.grid:
        # Neighbours are often the same object: None, or one wall that the whole level uses.
        if obj is not last:
            last, code = obj, cell_code(obj)
        codes.append(code)
    return np.array(codes, CODE).reshape(grid.height, grid.width).T


def _mix(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mixes 64 bits, as a bijection (the finalizer of SplitMix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


class Cells:
    """Codes, agents and state keys of N grids of the same size.

    The grids lie in one array. Each has a border of `pad` cells of wall, as the package shows
    outside a grid, so that no view reaches outside the array.

    Attributes:
        codes: uint32 [N, W + 2 pad, H + 2 pad].
        agent: int64 [N], the agents' cells as indices into the flattened `codes`.
        direction: int64 [N], the agents' directions, 0 to 3.
        carried: uint32 [N], codes of what the agents carry (an empty cell's if nothing).
    """

    def __init__(self, num_envs: int, width: int, height: int, pad: int) -> None:
        self.pad = pad
        self.width, self.height = width, height
        shape = (num_envs, width + 2 * pad, height + 2 * pad)
        self.codes = np.full(shape, cell_code(Wall()), CODE)
        self.agent = np.zeros(num_envs, np.int64)
        self.direction = np.zeros(num_envs, np.int64)
        self.carried = np.full(num_envs, _EMPTY, CODE)

        self._size = shape[1] * shape[2]
        self.stride = shape[2]
        # Hashes use a cell's place in its grid, not in the padded array: keys must not depend on
        # the view's size.
        x, y = np.indices(shape[1:], dtype=np.uint64)
        self._place = x - np.uint64(pad) << np.uint64(48) | (y - np.uint64(pad)) << np.uint64(32)
        agents = self._place.ravel() | np.array([[_AGENT | d << 16] for d in range(4)], np.uint64)
        self._agent_hash = _mix(agents)  # [4, cells]
        self._cell_hash = np.zeros((num_envs, self._size), np.uint64)
        self._grid_hash = np.zeros(num_envs, np.uint64)

    def _hash(self, codes: NDArray[np.uint32], place: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return _mix(place | (codes & np.uint32(OPAQUE - 1)))

    def set_grid(self, index: int, grid: Grid) -> None:
        """Updates the whole grid of environment `index`."""
        inner = slice(self.pad, self.pad + self.width), slice(self.pad, self.pad + self.height)
        self.codes[index][inner] = grid_codes(grid)
        hashes = self._cell_hash[index].reshape(self._place.shape)
        hashes[inner] = self._hash(self.codes[index][inner], self._place[inner])
        self._grid_hash[index] = hashes.sum()

    def set_cell(self, index: int, x: int, y: int, obj: WorldObj | None) -> None:
        """Updates the cell (x, y) of environment `index`."""
        i, j = x + self.pad, y + self.pad
        code = cell_code(obj)
        if self.codes.item(index, i, j) == code:
            return
        self.codes[index, i, j] = code
        cell = slice(i, i + 1), slice(j, j + 1)
        new = self._hash(self.codes[index][cell], self._place[cell])[0]
        flat = i * self.stride + j
        self._grid_hash[index : index + 1] += new - self._cell_hash[index, flat]
        self._cell_hash[index, flat] = new[0]

    def set_agent(self, index: int, x: int, y: int) -> None:
        """Puts the agent of environment `index` on cell (x, y)."""
        self.agent[index] = index * self._size + (x + self.pad) * self.stride + y + self.pad

    def state_keys(self) -> NDArray[np.uint64]:
        """Hashes of the full grids with the agents in them.

        Returns:
            uint64 [N].
        """
        under = self._cell_hash.ravel().take(self.agent)
        place = self.agent % self._size
        return self._grid_hash - under + self._agent_hash[self.direction, place]

    def full_grids(self) -> NDArray[np.uint8]:
        """The full grids with the agents in them, as the package's `FullyObsWrapper` shows them.

        Returns:
            uint8 [N, W, H, 3].
        """
        codes = self.codes.copy()
        codes.ravel()[self.agent] = _AGENT | self.direction << 16
        inner = codes[:, self.pad : self.pad + self.width, self.pad : self.pad + self.height]
        return code_bytes(inner)


def code_bytes(codes: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The package's encoding of cells.

    Args:
        codes: uint32 [...].

    Returns:
        uint8 [..., 3]: type, colour, state.
    """
    codes = np.ascontiguousarray(codes)
    return np.ascontiguousarray(codes.view(np.uint8).reshape(*codes.shape, 4)[..., :3])
