"""How a verb says how it ended."""

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
