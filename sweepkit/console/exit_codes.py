"""Exit codes of the commands beside 0, 1 and 2."""

INTERRUPTED = 130
"""A person ended the command, by Ctrl-C or SIGTERM."""


class Interrupted(SystemExit):
    """The orderly end of a command that a person ended. It is not an error of the user's file that runs just then."""

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)
