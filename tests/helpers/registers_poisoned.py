"""Registers `poisoned` when a method `helpers.registers_poisoned:poisoned` is looked up.

If it were registered while tests are collected, tests parametrized by all methods would include it.
"""

from __future__ import annotations

from helpers.poisoned import Poisoned
from rllib_ride import register_method

register_method("poisoned", Poisoned)
