"""The paper's environments, registered with Gymnasium."""

from rllib_ride.envs.registration import register

__all__ = ["register"]
