"""The verbs (subcommands) of `rllib-ride`, one file each; `rllib_ride.cli` combines them.

Each has `add_parser`, which declares its arguments, and a function that returns the exit code. That
function imports Ray and torch itself, so that `--help` and a mistyped file answer at once.
"""
