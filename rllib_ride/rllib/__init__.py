"""The plug into RLlib: module, connectors, learner, environment runner and config helper."""

from rllib_ride.rllib.config import add_intrinsic_reward

__all__ = ["add_intrinsic_reward"]
