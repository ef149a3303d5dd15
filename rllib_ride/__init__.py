"""Intrinsic rewards for RLlib: RIDE (Raileanu and Rocktaeschel, ICLR 2020) and related methods.

Importing this package registers the environments. RLlib is imported only when first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rllib_ride.envs import register as _register_environments

if TYPE_CHECKING:
    from rllib_ride.intrinsic import methods, register_method
    from rllib_ride.rllib import add_intrinsic_reward

__all__ = ["add_intrinsic_reward", "methods", "register_method"]

_register_environments()


def __getattr__(name: str) -> Any:
    if name == "add_intrinsic_reward":
        from rllib_ride.rllib import add_intrinsic_reward

        return add_intrinsic_reward
    if name in ("methods", "register_method"):
        from rllib_ride import intrinsic

        return getattr(intrinsic, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
