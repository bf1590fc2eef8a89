"""Exit codes of the commands beside 0, 1 and 2."""

INTERRUPTED = 130
"""A person ended the command, by Ctrl-C or SIGTERM."""
