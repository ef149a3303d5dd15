"""Measures how fast a trial trains here, how fast each of its parts is alone, and its memory.

Rates count frames that were really trained on: transitions that the agent chose and the loss saw.
"""
