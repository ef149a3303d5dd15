"""VizDoom's `my_way_home`: find the vest at the other end of nine rooms.

Built from the scenario that the `vizdoom` package ships. docs/environments.md shows the map and
says which rooms the paper means.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rllib_ride.envs.pixels import RENDER_MODES, PixelEnv
from rllib_ride.envs.vizdoom_wad import fixed_spawn

# Ids of the level's spawn spots; None draws one of 17 and a heading each episode.
SPAWNS = {"dense": None, "sparse": 10, "very_sparse": 15}
BUTTONS = ("MOVE_FORWARD", "TURN_LEFT", "TURN_RIGHT")
# The paper's order: forward, left, right, nothing. It says "move" left and right; the environment
# it names, DoomMyWayHome-v0, turns.
ACTIONS = ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0])
MAX_FRAMES = 2100
GREY = (0.21, 0.72, 0.07)  # The engine's own weights.


class VizDoomMyWayHomeEnv(PixelEnv):
    """VizDoom's `my_way_home`, headless, rendered at 160x120.

    The reward is 1 at the vest, which ends the episode, and 0 otherwise. An episode is truncated
    after 2100 frames, whatever the action repeat. The engine runs in its own process from the first
    `reset` to `close`; on Linux it also ends when this process dies.

    Args:
        spawn: `"sparse"` (the room 270 frames from the vest), `"very_sparse"` (350 frames) or
            `"dense"` (one of 17 spots and any heading, drawn anew each episode).
        action_repeat: frames for which an action is held: 4 in the paper's training, 1 in its
            evaluation.
        render_mode: `"rgb_array"` or None.

    Raises:
        gymnasium.error.DependencyNotInstalled: if `vizdoom` is missing.
        ValueError: if an option's value is not supported.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 35}
    resolution = "RES_160X120"  # The smallest there is, and what Pathak et al. (2017) used.

    def __init__(
        self, spawn: str = "sparse", *, action_repeat: int = 4, render_mode: str | None = None
    ) -> None:
        super().__init__(len(ACTIONS), action_repeat, MAX_FRAMES, render_mode)
        if spawn not in SPAWNS:
            raise ValueError(f"spawn={spawn!r}: expected one of {tuple(SPAWNS)}")
        try:
            import vizdoom
        except ImportError as error:
            raise gym.error.DependencyNotInstalled(
                f"VizDoom is not installed ({error}): pip install 'rllib-ride[vizdoom]'"
            ) from error
        self._vizdoom: Any = vizdoom
        self._spot = SPAWNS[spawn]
        self._game: Any = None
        self._screen = np.zeros((0, 0), np.uint8)

    @property
    def pose(self) -> tuple[float, float, float]:
        """The agent's position (x, y in map units) and heading (degrees, 0 is east)."""
        variable = self._vizdoom.GameVariable
        x, y, angle = (
            self._game.get_game_variable(which)
            for which in (variable.POSITION_X, variable.POSITION_Y, variable.ANGLE)
        )
        return x, y, angle

    def close(self) -> None:
        """Ends the engine's process."""
        if self._game is not None:
            self._game.close()
            self._game = None

    def _begin(self) -> None:
        if self._game is None:
            # A running engine has opened all it needs, so the folder can be deleted at once.
            with tempfile.TemporaryDirectory(prefix="rllib_ride_vizdoom_") as folder:
                self._game = self._start_engine(Path(folder))
        self._game.set_seed(int(self.np_random.integers(2**31)))
        self._game.new_episode()
        self._screen = self._game.get_state().screen_buffer

    def _play(self, action: int, frames: int) -> tuple[int, float, bool]:
        self._game.set_action(ACTIONS[action])
        taken, found = 0, False
        while taken < frames and not found:
            taken += 1
            # Rendering takes longer than simulating, and only the last frame is observed.
            self._game.advance_action(1, taken == frames)
            # Nothing but the vest ends the game: there are no enemies, and no time limit is set.
            found = self._game.is_episode_finished()
        if not found:
            self._screen = self._game.get_state().screen_buffer
        return taken, float(found), found

    def _grey(self) -> NDArray[np.uint8]:
        if self.render_mode is None:
            return self._screen
        # Equals the engine's own grey screen, byte for byte.
        red, green, blue = (self._screen[:, :, i] * GREY[i] for i in range(3))
        return (red + green + blue).astype(np.uint8)

    def _rgb(self) -> NDArray[np.uint8]:
        return self._screen

    def _start_engine(self, folder: Path) -> Any:
        scenario = Path(self._vizdoom.scenarios_path) / "my_way_home.cfg"
        game = self._vizdoom.DoomGame()
        game.load_config(str(scenario))
        if self._spot is not None:
            wad = folder / "my_way_home.wad"
            wad.write_bytes(fixed_spawn(scenario.with_suffix(".wad").read_bytes(), self._spot))
            game.set_doom_scenario_path(str(wad))
        game.set_doom_config_path(os.devnull)  # It would save its settings on exit.
        game.set_vizdoom_path(str(_launcher(folder, Path(self._vizdoom.__file__))))
        game.set_available_buttons([getattr(self._vizdoom.Button, name) for name in BUTTONS])
        game.set_screen_resolution(getattr(self._vizdoom.ScreenResolution, self.resolution))
        formats = self._vizdoom.ScreenFormat
        game.set_screen_format(formats.GRAY8 if self.render_mode is None else formats.RGB24)
        game.set_window_visible(False)
        game.set_episode_timeout(0)
        game.init()
        return game


def _launcher(folder: Path, package: Path) -> Path:
    """Writes a script that starts the engine inside `folder`, where the engine puts its files.

    An engine whose parent was killed waits forever and ignores SIGTERM. On Linux, `setpriv` asks
    the kernel to kill it with its parent.
    """
    command = [str(package.with_name("vizdoom"))]
    if setpriv := shutil.which("setpriv"):
        command = [setpriv, "--pdeathsig", "KILL", *command]
    script = folder / "engine"
    script.write_text(
        f'#!/bin/sh\ncd {shlex.quote(str(folder))} && exec {shlex.join(command)} "$@"\n'
    )
    script.chmod(0o700)
    return script
