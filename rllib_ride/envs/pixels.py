"""What the paper's two games share: resizing, action repeat, frame stack and state key.

From the paper's appendix on networks: RGB is converted to grey and resized to 42x42; the current
frame is stacked with the previous three; actions are repeated four times in training and not at
inference.

One class does this instead of several Gymnasium wrappers: only the last frame of a repeat has to be
rendered, and time limit, action repeat and the number of frames taken depend on each other.
Gymnasium's wrapper for resizing needs OpenCV; Pillow comes with Matplotlib.
"""

from __future__ import annotations

import abc
import hashlib
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIZE = 42
STACK = 4
CELLS = (11, 8)  # [width, height]
SHADES = 8
RENDER_MODES = ("rgb_array",)


def shrink(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Resizes a grey image [H, W] to the agent's uint8 [42, 42] by averaging pixels.

    The aspect ratio is not kept, as in the paper.
    """
    return np.asarray(Image.fromarray(grey).resize((SIZE, SIZE), Image.Resampling.BOX))


def state_key(frame: NDArray[np.uint8]) -> np.uint64:
    """A 64-bit hash of a coarse version of a frame, so that similar views count as one state.

    The frame, uint8 [42, 42], is reduced to 11x8 cells of 8 shades of grey, the cells of Go-Explore
    (Ecoffet et al. 2019). N_ep counts these states; the paper does not say what it counts in these
    games. The hash is equal in every process.
    """
    cells = np.asarray(Image.fromarray(frame).resize(CELLS, Image.Resampling.BOX))
    shades = cells // (256 // SHADES)
    digest = hashlib.blake2b(shades.tobytes(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


class PixelEnv(gym.Env[NDArray[np.uint8], np.int64], abc.ABC):
    """Base class of games, preprocessed as in the paper.

    Observations are uint8 [42, 42, 4]: grey, the newest frame last. An episode's first frame fills
    the stack. Infos of `reset` and `step` have `state_key` (`np.uint64`, of the newest frame) and
    `env_frames` (int, the number of game frames that this step took: `action_repeat`, or fewer if
    the episode ended earlier; 0 for a reset).

    Args:
        num_actions: size of the action space.
        action_repeat: frames for which an action is held. Only the last of them is observed.
        max_frames: frames after which an episode is truncated; None: no limit besides the game's.
        render_mode: `"rgb_array"` or None.

    Raises:
        ValueError: if an option's value is not supported.
    """

    def __init__(
        self,
        num_actions: int,
        action_repeat: int,
        max_frames: int | None,
        render_mode: str | None,
    ) -> None:
        if action_repeat < 1:
            raise ValueError(f"action_repeat={action_repeat}: expected 1 or more")
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode={render_mode!r}: expected one of {RENDER_MODES} or None")
        self.observation_space = gym.spaces.Box(0, 255, (SIZE, SIZE, STACK), np.uint8)
        self.action_space = gym.spaces.Discrete(num_actions)
        self.action_repeat = action_repeat
        self.max_frames = max_frames
        self.render_mode = render_mode
        self._frames = 0
        self._stack = np.zeros((SIZE, SIZE, STACK), np.uint8)

    @abc.abstractmethod
    def _begin(self) -> None:
        """Starts an episode."""

    @abc.abstractmethod
    def _play(self, action: int, frames: int) -> tuple[int, float, bool]:
        """Holds an action for `frames` frames, or fewer if the episode ends.

        Returns:
            Frames taken, the sum of their rewards, whether the episode has ended.
        """

    @abc.abstractmethod
    def _grey(self) -> NDArray[np.uint8]:
        """The current screen, or the last one if the game has ended: uint8 [H, W]."""

    @abc.abstractmethod
    def _rgb(self) -> NDArray[np.uint8]:
        """The same in colour: uint8 [H, W, 3]."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Starts an episode; `options` are ignored."""
        super().reset(seed=seed)
        self._begin()
        self._frames = 0
        frame = shrink(self._grey())
        self._stack = np.repeat(frame[:, :, None], STACK, axis=2)
        return self._stack.copy(), {"state_key": state_key(frame), "env_frames": 0}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Holds `action` for `action_repeat` frames and returns the last."""
        frames = self.action_repeat
        if self.max_frames is not None:
            frames = min(frames, self.max_frames - self._frames)
        taken, reward, terminated = self._play(int(action), frames)
        self._frames += taken
        truncated = not terminated and self._frames == self.max_frames

        frame = shrink(self._grey())
        self._stack[:, :, :-1] = self._stack[:, :, 1:]
        self._stack[:, :, -1] = frame
        infos = {"state_key": state_key(frame), "env_frames": taken}
        return self._stack.copy(), reward, terminated, truncated, infos

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """The game's own screen in colour, uint8 [H, W, 3], if made with `"rgb_array"`."""
        return self._rgb() if self.render_mode is not None else None
