"""The end of a command whose process holds libraries that do not end in order."""

import os
import sys
from collections.abc import Callable
from typing import NoReturn


def run_and_leave(command: Callable[[], object]) -> NoReturn:
    """Run the command, then end the process at once, with its exit code.

    In an ordinary end Ray keeps modules alive to the last, and DuckDB's bindings report them as leaks.
    """
    code: object = 0
    try:
        command()
    except SystemExit as error:
        code = error.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)
