"""The RLlib integration: RLModules, connectors, Learners, EnvRunners and the config helper."""

from rllib_ride.rllib.config import add_intrinsic_reward

__all__ = ["add_intrinsic_reward"]
