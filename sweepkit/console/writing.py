"""Checks, before minutes of work, that a command can write what it makes where `--out` says."""

import errno
import os
import tempfile
from pathlib import Path

from sweepkit.console.terminal import stop

RANDOM = 8
"""Characters that the name of a temporary file adds."""


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
    """OSError unless a file could be made in this folder, with a name as long as `write_whole` uses. Nothing is written, as other
    input may still be refused; only where a file system has no room, such as /sys, do rights not tell: root has all."""
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if len(os.fsencode(name)) + len("..") + RANDOM > os.pathconf(folder, "PC_NAME_MAX"):
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), str(folder))
    system = os.statvfs(folder)
    if system.f_flag & os.ST_RDONLY or not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    if not system.f_blocks:
        if not os.stat(folder).st_mode & 0o222:  # nobody may write there, as in /proc
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}."):
            pass
