"""Super Mario Bros, level 1-1, with either version of `gym-super-mario-bros`.

Version 9 uses Gymnasium and needs Python 3.13; version 7.4 uses the old Gym and needs NumPy 1. The
emulator, the level and the images are the same. The rewards differ: version 9 added coins, score
and more. `MarioEnv` gives version 7's rewards with both, the version at the time of the paper.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rllib_ride.envs.pixels import RENDER_MODES, PixelEnv

_BUTTONS: tuple[tuple[str, ...], ...] = ((), ("A",), ("B",), ("A", "B"))

# The 14 actions of Pathak et al. (2017), with whom the paper compares, and of the paper's code:
# standing, moving left or moving right, each with any combination of A (jump) and B (run); up or
# down alone.
ACTIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("up",),
    ("down",),
    *(("left", *buttons) for buttons in _BUTTONS),
    *(("right", *buttons) for buttons in _BUTTONS),
    *_BUTTONS[1:],
)

# What the package reports at the start of the level.
START_X = 40
START_CLOCK = 400


class MarioEnv(PixelEnv):
    """Level 1-1 with one life; ends at the flag or when Mario dies, also if time runs out.

    The game is deterministic, and every episode starts from the same frame. The reward of a frame
    is Mario's movement to the right in pixels, minus the clock's ticks, minus 25 at death, clipped
    to [-15, 15]. A step sums it over its frames. Infos also have `x_pos` (int, pixels from the
    level's left end) and `flag_get` (bool).

    Args:
        action_repeat: frames for which an action is held: 4 in the paper's training, 1 in its
            evaluation.
        render_mode: `"rgb_array"` or None.

    Raises:
        gymnasium.error.DependencyNotInstalled: if `gym-super-mario-bros` is missing.
        ValueError: if an option's value is not supported.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 60}

    def __init__(self, *, action_repeat: int = 4, render_mode: str | None = None) -> None:
        super().__init__(len(ACTIONS), action_repeat, None, render_mode)
        self._game: Any = _make_game()
        self._screen = np.zeros((0, 0, 3), np.uint8)
        self._x = self._clock = 0
        self._flag = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Restarts the level; `options` are ignored."""
        observation, infos = super().reset(seed=seed, options=options)
        return observation, infos | self._progress()

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Holds `action` for `action_repeat` frames and returns the last."""
        observation, reward, terminated, truncated, infos = super().step(action)
        return observation, reward, terminated, truncated, infos | self._progress()

    def close(self) -> None:
        """Frees the emulator."""
        if self._game is not None:
            self._screen = self._rgb()
            self._game.close()
            self._game = None

    def _progress(self) -> dict[str, Any]:
        return {"x_pos": self._x, "flag_get": self._flag}

    def _begin(self) -> None:
        started = self._game.reset()
        # Version 9 returns infos, too.
        self._screen = started[0] if isinstance(started, tuple) else started
        self._x, self._clock, self._flag = START_X, START_CLOCK, False

    def _play(self, action: int, frames: int) -> tuple[int, float, bool]:
        taken, total, ended = 0, 0.0, False
        while taken < frames and not ended:
            taken += 1
            # Version 7: screen, reward, ended, infos. Version 9 has `truncated`, always False,
            # before the infos.
            self._screen, _, ended, *_, infos = self._game.step(action)
            total += self._reward(infos, ended)
        return taken, total, ended

    def _reward(self, infos: dict[str, Any], ended: bool) -> float:
        """Reward of one frame, as version 7 of the package computes it."""
        x, clock, self._flag = int(infos["x_pos"]), int(infos["time"]), bool(infos["flag_get"])
        moved, ticked = x - self._x, clock - self._clock
        self._x, self._clock = x, clock
        reward = moved if abs(moved) <= 5 else 0  # The game moves Mario further, as in a pipe.
        reward += min(ticked, 0)
        if ended and not self._flag:
            reward -= 25
        return float(np.clip(reward, -15, 15))

    def _grey(self) -> NDArray[np.uint8]:
        return np.asarray(Image.fromarray(self._rgb()).convert("L"))

    def _rgb(self) -> NDArray[np.uint8]:
        # The screen is a view of the emulator's memory.
        return self._screen.copy()


def _make_game() -> Any:
    """The package's level 1-1 with `ACTIONS`."""
    try:
        # The old Gym prints that it is unmaintained. Only its base class is used here.
        with contextlib.redirect_stderr(io.StringIO()):
            from gym_super_mario_bros.smb_env import SuperMarioBrosEnv
            from nes_py.wrappers import JoypadSpace
    except ImportError as error:
        raise gym.error.DependencyNotInstalled(
            f"Super Mario Bros is not installed ({error}): pip install 'rllib-ride[mario]'"
        ) from error
    return JoypadSpace(SuperMarioBrosEnv(target=(1, 1)), [list(a) for a in ACTIONS])
