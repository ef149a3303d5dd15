"""N MiniGrid environments in lock-step: the package's levels and steps, one batched view."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from minigrid.core.actions import Actions
from minigrid.core.constants import DIR_TO_VEC
from minigrid.envs.multiroom import MultiRoomEnv
from minigrid.minigrid_env import MiniGridEnv
from numpy.typing import NDArray

from rllib_ride.envs.minigrid_cells import Cells, cell_code
from rllib_ride.envs.minigrid_effects import Effect, step_effect
from rllib_ride.envs.minigrid_view import MAX_VIEW_SIZE, EgocentricView
from rllib_ride.envs.singleton import pin_level

_TURNS = frozenset({int(Actions.left), int(Actions.right)})
_FORWARD = int(Actions.forward)
_DONE = int(Actions.done)
_FORWARD_STEP = tuple((int(dx), int(dy)) for dx, dy in DIR_TO_VEC)
_ANY_CELL = (Effect.ANYWHERE, Effect.UNKNOWN)
OBSERVATIONS = ("image", "dict")


def _no_observation() -> None:
    """Replaces `MiniGridEnv.gen_obs`, which takes nine tenths of a step's time."""


def _compile_levels(envs: Sequence[Any]) -> None:
    """Makes MultiRoom tasks generate the package's levels with compiled code."""
    if isinstance(envs[0], MultiRoomEnv):
        from rllib_ride.envs import multiroom_levels  # Imports numba, which no other task needs.

        if multiroom_levels.has_package_levels(type(envs[0])):
            for env in envs:
                env._gen_grid = functools.partial(multiroom_levels.gen_grid, env)


class MiniGridVectorEnv(VectorEnv):
    """A vector environment of N copies of any registered MiniGrid or BabyAI environment.

    Rewards, episode ends and infos come from the package's own objects. Levels do too, except that
    compiled code draws those of MultiRoom (`multiroom_levels`). Views are built here, for all N at
    once. Levels and views equal the package's byte for byte.

    An environment is reset on the step after its episode ended (`AutoresetMode.NEXT_STEP`). On that
    step the reward is 0, `terminated` and `truncated` are False, and the action is ignored.

    `infos["state_key"]`, uint64 [N], on `reset` and on every `step`, identifies the full grid with
    the agent in it (see `minigrid_cells`).

    Args:
        env_id: the registered id.
        num_envs: N.
        observation: `"image"`, only the egocentric view, uint8 [N, size, size, 3]; or `"dict"`, as
            in the package: `image`, `direction` and `mission`.
        singleton_seed: every episode of every environment starts in the level of this seed
            (`singleton.pin_level`); None: new levels.
        max_episode_steps: truncates episodes after this many steps, besides the environment's own
            limit `max_steps`; by default the value the id was registered with.
        **kwargs: for the environment's class; they override those the id was registered with.

    Attributes:
        can_be_pickled: True: an unpickled copy continues exactly as the original would.
        envs: the package's N environments, for inspection. Their `gen_obs` may be disabled; call
            `MiniGridEnv.gen_obs(env)` for a view.

    Raises:
        ValueError: if the id is not a MiniGrid environment or an option's value is not supported.
    """

    metadata: dict[str, Any] = {
        "autoreset_mode": AutoresetMode.NEXT_STEP,
        "render_modes": MiniGridEnv.metadata["render_modes"],
        "render_fps": MiniGridEnv.metadata["render_fps"],
    }

    can_be_pickled = True
    envs: Sequence[Any] = ()

    def __init__(
        self,
        env_id: str,
        num_envs: int = 1,
        *,
        observation: str = "image",
        singleton_seed: int | None = None,
        max_episode_steps: int | None = None,
        **kwargs: Any,
    ) -> None:
        if observation not in OBSERVATIONS:
            raise ValueError(f"observation={observation!r}: expected one of {OBSERVATIONS}")
        made = [
            gym.make(
                env_id, max_episode_steps=max_episode_steps, disable_env_checker=True, **kwargs
            )
            for _ in range(num_envs)
        ]
        self.envs = [env.unwrapped for env in made]
        first = self.envs[0]
        if not isinstance(first, MiniGridEnv):
            raise ValueError(f"{env_id} makes a {type(first).__name__}, not a MiniGrid environment")

        if singleton_seed is not None:
            for env in self.envs:
                pin_level(env, singleton_seed)

        self.num_envs = num_envs
        self.render_mode = first.render_mode
        self._time_limit = made[0].spec.max_episode_steps if made[0].spec else None
        self._as_dict = observation == "dict"
        package_space: Any = first.observation_space
        self._image_space: gym.spaces.Box = package_space["image"]
        self.single_observation_space = package_space if self._as_dict else self._image_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = first.action_space
        self.action_space = batch_space(self.single_action_space, num_envs)

        self._effect = step_effect(type(first))
        if first.agent_view_size > MAX_VIEW_SIZE:
            self._effect = Effect.UNKNOWN
        self._cells = Cells(num_envs, first.width, first.height, pad=first.agent_view_size - 1)
        self._view: EgocentricView | None = None
        if self._effect is not Effect.UNKNOWN:
            self._view = EgocentricView(self._cells, first.agent_view_size, first.see_through_walls)
            for env in self.envs:
                env.gen_obs = _no_observation
        _compile_levels(self.envs)
        # A class with its own `reset` may change the level after taking the first view: BabyAI's
        # PutNext does if the agent starts with the object in hand. For such a class, the first view
        # of an episode is the package's.
        self._own_reset = type(first).reset is not MiniGridEnv.reset
        self._package_views: dict[int, NDArray[np.uint8]] = {}
        self._ended = np.zeros(num_envs, bool)
        self._everywhere = np.ones(num_envs, bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a new episode in every environment.

        Args:
            seed: an int seeds environment i with `seed + i`; a sequence has a seed for each; None,
                alone or in the sequence, continues with an environment's current generator.
            options: passed to every environment.

        Returns:
            Observations of all N and infos.
        """
        if seed is None:
            seeds: list[int | None] = [None] * self.num_envs
        elif isinstance(seed, (int, np.integer)):
            seeds = [int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments")
        infos: dict[str, Any] = {}
        for i, env_seed in enumerate(seeds):
            info = self._reset_env(i, env_seed, options)
            if info:
                infos = self._add_info(infos, info, i)
        self._ended = np.zeros(self.num_envs, bool)
        return self._observe(), self._with_state_keys(infos)

    def step(
        self, actions: NDArray[np.integer]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Steps every environment, or resets it if its episode ended on the previous step.

        Args:
            actions: ints [N].

        Returns:
            Observations, rewards float64 [N], terminated bool [N], truncated bool [N], infos.
        """
        rewards = [0.0] * self.num_envs  # Lists: setting an array's items one by one is slow.
        terminated, truncated = [False] * self.num_envs, [False] * self.num_envs
        infos: dict[str, Any] = {}
        ended = self._ended.tolist()
        for i, action in enumerate(np.asarray(actions).tolist()):
            if ended[i]:
                info = self._reset_env(i)
            else:
                env = self.envs[i]
                observation, rewards[i], terminated[i], truncated[i], info = env.step(action)
                if self._time_limit is not None and env.step_count >= self._time_limit:
                    truncated[i] = True
                self._follow_step(i, env, action, observation)
            if info:
                infos = self._add_info(infos, info, i)
        ends = np.array([terminated, truncated], bool)  # [2, N]
        self._ended = ends.any(axis=0)
        return (
            self._observe(),
            np.array(rewards, np.float64),
            *ends,
            self._with_state_keys(infos),
        )

    def full_grids(self) -> NDArray[np.uint8]:
        """The full grids with the agents in them, as the package's `FullyObsWrapper` shows them.

        Returns:
            uint8 [N, W, H, 3].
        """
        return self._cells.full_grids()

    def get_frame(self, index: int, **kwargs: Any) -> NDArray[np.uint8]:
        """A picture of environment `index` (`MiniGridEnv.get_frame`): uint8 [height, width, 3]."""
        return self.envs[index].get_frame(**kwargs)

    def render(self) -> tuple[Any, ...] | None:
        """Pictures of all N, if made with `render_mode="rgb_array"`."""
        if self.render_mode is None:
            return None
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the package's environments and their windows."""
        for env in self.envs:
            env.close()

    def _reset_env(
        self, index: int, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        env = self.envs[index]
        if self._own_reset and self._view is not None:
            vars(env).pop("gen_obs", None)  # Restores the class's method for this reset.
            observation, info = env.reset(seed=seed, options=options)
            env.gen_obs = _no_observation
            self._package_views[index] = observation["image"]
        else:
            observation, info = env.reset(seed=seed, options=options)
            if self._view is None:
                self._package_views[index] = observation["image"]
        self._follow_all(index, env)
        return info

    def _follow_step(
        self, index: int, env: MiniGridEnv, action: int, observation: dict[str, Any] | None
    ) -> None:
        """Updates the arrays with what a step of environment `index` changed."""
        if self._effect in _ANY_CELL:
            self._follow_all(index, env)
            if observation is not None:
                self._package_views[index] = observation["image"]
        elif action == _FORWARD:
            self._cells.set_agent(index, *env.agent_pos)
        elif action in _TURNS:
            self._cells.direction[index] = env.agent_dir
        elif action != _DONE:
            x, y = env.agent_pos
            dx, dy = _FORWARD_STEP[env.agent_dir]
            self._cells.set_cell(index, x + dx, y + dy, env.grid.get(x + dx, y + dy))
            self._cells.carried[index] = cell_code(env.carrying)
        if self._effect is Effect.LISTED:
            for x, y in self.envs[index].changed_cells(action):
                self._cells.set_cell(index, x, y, env.grid.get(x, y))
            self._cells.carried[index] = cell_code(env.carrying)

    def _follow_all(self, index: int, env: MiniGridEnv) -> None:
        """Updates the arrays with the whole state of environment `index`."""
        self._cells.set_grid(index, env.grid)
        self._cells.set_agent(index, *env.agent_pos)
        self._cells.direction[index] = env.agent_dir
        self._cells.carried[index] = cell_code(env.carrying)

    def _observe(self) -> Any:
        if self._view is not None:
            images = self._view.images()
        else:
            images = np.empty((self.num_envs, *self._image_space.shape), np.uint8)
        for i, image in self._package_views.items():
            images[i] = image
        self._package_views.clear()
        if not self._as_dict:
            return images
        return {
            "image": images,
            "direction": self._cells.direction.copy(),
            "mission": tuple(env.mission for env in self.envs),
        }

    def _with_state_keys(self, infos: dict[str, Any]) -> dict[str, Any]:
        infos["state_key"] = self._cells.state_keys()
        infos["_state_key"] = self._everywhere.copy()
        return infos
