"""How a verb says how it ended."""

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
NO_READER = 141  # as a shell tells of a command that SIGPIPE (13) has ended: 128 + 13
