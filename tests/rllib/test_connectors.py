"""How the Learner's connectors batch episodes, and which they refuse."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_episode import SingleAgentEpisode

from rllib_ride.rllib.connectors import PadEpisodes
from rllib_ride.rllib.episodes import mark_piece
from rllib_ride.rllib.policy import RecurrentPolicy


def piece(num_steps: int, channels: int) -> SingleAgentEpisode:
    episode = SingleAgentEpisode(
        observations=[np.zeros((7, 7, channels), np.uint8)] * (num_steps + 1),
        actions=[0] * num_steps,
        rewards=[0.0] * num_steps,
        extra_model_outputs={Columns.ACTION_LOGP: [0.0] * num_steps},
        len_lookback_buffer=0,
    )
    return mark_piece(episode.to_numpy(), num_steps, {})


def test_episodes_without_what_a_connector_did_to_observations_are_refused() -> None:
    """As with FrameStackingEnvToModule: the policy sees stacks, episodes hold single frames."""
    policy = RecurrentPolicy(
        observation_space=gym.spaces.Box(0, 255, (7, 7, 12), np.uint8),
        action_space=gym.spaces.Discrete(7),
        model_config={"network": "paper"},
    )
    pad = PadEpisodes(time_limit_is_terminal=True, whole_fragments=True)
    module = {DEFAULT_MODULE_ID: policy}
    with pytest.raises(ValueError, match=r"\(7, 7, 3\).*acts on \(7, 7, 12\).*FrameStackObs"):
        pad(rl_module=module, batch={}, episodes=[piece(4, channels=3)])
    batch = pad(rl_module=module, batch={}, episodes=[piece(4, channels=12)])
    assert batch[DEFAULT_MODULE_ID][Columns.OBS].shape == (1, 5, 7, 7, 12)
