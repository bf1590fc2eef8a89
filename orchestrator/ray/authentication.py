"""The token of a local Ray. It lies in the sweep's scratch and goes with it; that of a cluster is the account's, in HOME."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ray

from orchestrator.secret import write_secret

_TOKEN, _PATH = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


@contextmanager
def local_token(scratch: str) -> Iterator[None]:
    """Inside, Ray has a token of its own, in a file of the scratch directory; afterwards the account's holds again. OSError if it
    cannot be written."""
    before = {name: os.environ.get(name) for name in (_TOKEN, _PATH)}
    path = Path(scratch, "auth_token")
    write_secret(path, secrets.token_hex(32))
    os.environ.pop(_TOKEN, None)  # it would go before the file
    os.environ[_PATH] = str(path)
    _read_again()
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        _read_again()


def _read_again() -> None:
    """Ray reads the token once, and this process may have had another before."""
    loader = ray._raylet.AuthenticationTokenLoader  # type: ignore[attr-defined]
    loader.instance().reset_cache()
