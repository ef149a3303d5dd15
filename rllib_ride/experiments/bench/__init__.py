"""How fast a trial trains here, how fast each of its parts is alone, and what memory it takes.

Rates are of frames that were really trained on: transitions the agent chose, seen by the loss.
"""
