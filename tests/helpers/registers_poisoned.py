"""Registers `poisoned` where a method is looked up by this module's name, and not before.

What is registered while tests are collected would be among the methods of other files' parameters.
"""

from __future__ import annotations

from helpers.poisoned import Poisoned
from rllib_ride import register_method

register_method("poisoned", Poisoned)
