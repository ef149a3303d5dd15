"""MultiRoom with a noisy TV: a ball whose colour one of the agent's actions redraws at random."""

from __future__ import annotations

from typing import Any

from minigrid.core.actions import Actions
from minigrid.core.constants import COLOR_NAMES
from minigrid.core.world_object import Ball
from minigrid.envs.multiroom import MultiRoomEnv

from rllib_ride.envs import multiroom_levels

# The other five are needed: to move, to open doors, and to take the ball out of a doorway.
TV_ACTIONS = {action.name: int(action) for action in (Actions.done, Actions.drop)}


class MultiRoomNoisyTVEnv(MultiRoomEnv):
    """MultiRoom whose first room also holds a ball, the TV (RIDE, section 6.1, fig:minigrid).

    One action only redraws the ball's colour, uniformly and wherever the ball and the agent are;
    the new colour may equal the old one. Otherwise the ball is an ordinary object: it blocks the
    way, and can be picked up, carried and dropped. All draws use the environment's own generator.

    A reset draws the level first and the ball afterwards: apart from the ball, the level is the one
    that `MultiRoomEnv` makes from the same generator.

    Args:
        *args: for `MultiRoomEnv`.
        tv_action: `"done"`, which is otherwise useless in these levels; or `"drop"`, as in the
            authors' code, and then the ball can be picked up but not dropped.
        tv_colors: the number of colours to draw from, 1 to 6; 1 switches the TV off.
        **kwargs: for `MultiRoomEnv`.

    Attributes:
        tv: the ball; a new one each episode.

    Raises:
        ValueError: if an option's value is not supported.
    """

    tv: Ball

    def __init__(
        self,
        *args: Any,
        tv_action: str = "done",
        tv_colors: int = len(COLOR_NAMES),
        **kwargs: Any,
    ) -> None:
        if tv_action not in TV_ACTIONS:
            raise ValueError(f"tv_action={tv_action!r}: expected one of {tuple(TV_ACTIONS)}")
        if not isinstance(tv_colors, int) or not 1 <= tv_colors <= len(COLOR_NAMES):
            raise ValueError(f"tv_colors={tv_colors!r}: expected 1 to {len(COLOR_NAMES)}")
        self._tv_action = TV_ACTIONS[tv_action]
        self._tv_colors = COLOR_NAMES[:tv_colors]
        super().__init__(*args, **kwargs)

    def _gen_grid(self, width: int, height: int) -> None:
        multiroom_levels.gen_grid(self, width, height)
        self.tv = Ball(self._rand_elem(self._tv_colors))
        self.place_obj(self.tv, self.rooms[0].top, self.rooms[0].size)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Steps as the package does; the TV's action redraws the ball's colour instead."""
        if action == self._tv_action:
            self.tv.color = self._rand_elem(self._tv_colors)
            action = int(Actions.done)
        return super().step(action)

    def changed_cells(self, action: int) -> list[tuple[int, int]]:
        """Cells a step with `action` may have changed, besides the one in front of the agent."""
        if action != self._tv_action or self.carrying is self.tv:
            return []
        x, y = self.tv.cur_pos  # type: ignore[misc]  # it has been placed
        return [(x, y)]
