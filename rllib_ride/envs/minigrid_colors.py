"""MultiRoom in changing colours: generalization to colours never seen in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrid.core.constants import COLOR_NAMES
from minigrid.core.world_object import Wall
from minigrid.envs.multiroom import MultiRoomEnv

# MiniGrid's own colours of walls (grey) and goals (green) are training colours.
TRAINING_COLORS = ("red", "green", "blue", "grey")
HELD_OUT_COLORS = ("purple", "yellow")


class MultiRoomColorsEnv(MultiRoomEnv):
    """MultiRoom whose colours are drawn anew each episode (RIDE, appendix A.8, fig:walls).

    All walls of a level share one colour and its goal has one, each drawn uniformly and
    independently. Doors are drawn from the same colours, each different from the previous door if
    possible. A colour that is not among `colors` never appears in a level.

    A reset draws the level first and its colours afterwards: apart from colours, the level is the
    one that `MultiRoomEnv` makes from the same generator.

    Args:
        *args: for `MultiRoomEnv`.
        colors: names of the colours to draw from.
        **kwargs: for `MultiRoomEnv`.

    Raises:
        ValueError: if a colour is unknown or repeated, or there is none.
    """

    def __init__(self, *args: Any, colors: Sequence[str] = TRAINING_COLORS, **kwargs: Any) -> None:
        if not colors or not set(colors) <= set(COLOR_NAMES) or len(set(colors)) < len(colors):
            raise ValueError(f"colors={colors!r}: expected some of {COLOR_NAMES}, each once")
        self._colors = tuple(colors)
        super().__init__(*args, **kwargs)

    def _gen_grid(self, width: int, height: int) -> None:
        from rllib_ride.envs import multiroom_levels  # imports numba, not needed to register

        multiroom_levels.gen_grid(self, width, height)
        wall_color = self._rand_elem(self._colors)
        for obj in self.grid.grid:
            if isinstance(obj, Wall):
                obj.color = wall_color
        self._paint(self.goal_pos, self._rand_elem(self._colors))
        before = None
        for room in self.rooms[1:]:
            others = [color for color in self._colors if color != before]
            before = self._rand_elem(others or self._colors)
            self._paint(room.entryDoorPos, before)

    def _paint(self, place: tuple[int, int], color: str) -> None:
        obj = self.grid.get(*place)
        assert obj is not None
        obj.color = color
