"""The verbs of the command `rllib-ride`, one file each; `rllib_ride.cli` puts them together.

Each has `add_parser`, which names its arguments, and a function that returns the exit code. Ray and
torch are imported inside that function, so that `--help` and a mistyped file answer at once.
"""
