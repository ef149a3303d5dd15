"""Exit codes of the verbs."""

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
NO_READER = 141  # a shell's code for a command that SIGPIPE (13) has ended: 128 + 13
