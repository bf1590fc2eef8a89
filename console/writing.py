"""Checks, before minutes of work, that a command can write what it makes where `--out` says."""

import errno
import tempfile
from pathlib import Path

from console.terminal import stop


def check_file(out: Path, usual: str = "") -> None:
    """Stop the command unless `write_whole` can write this file into a folder that exists. `usual`: a name to propose where `out`
    is a folder."""
    folder = out.absolute().parent
    try:
        if out.is_dir():
            stop(f"{out} is a directory: name a file with --out{f', such as {out / usual}' if usual else ''}")
        if not folder.is_dir():
            stop(f"no directory {folder} to write {out.name} in: make it, or name another file with --out")
        _try(folder, out.name)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            stop(f"cannot write {out}: {error.strerror}")
        stop(f"cannot write in {folder}: name another file with --out")


def check_folder(out: Path) -> None:
    """Stop the command unless files can be written into this folder, which may still be missing."""
    try:
        there = next(path for path in (out, *out.absolute().parents) if path.exists())
        _try(there, "")
    except OSError as error:
        stop(f"cannot write in {out}: {error.strerror}; name a folder with --out")


def _try(folder: Path, name: str) -> None:
    """Make a file there and remove it, with a name as long as `write_whole` uses. Rights do not tell: root has all in /proc."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}."):
        pass
