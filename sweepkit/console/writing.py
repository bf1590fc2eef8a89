"""Files that are written whole or not at all, with the rights of the folder they are written to; and checks, before minutes of
work, that a command can write where `--out` says."""

import errno
import os
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO

_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""The errors of a file system that cannot do what was asked, such as CIFS or FUSE. Nothing is wrong with the disk then."""


@contextmanager
def whole(file: Path, aside: str = "", durable: bool = False) -> Iterator[BinaryIO]:
    """A file to write into that becomes `file` once it is complete, so that readers see either the old one or the whole new one.

    Until then it has the name `aside`, a new one by default, and an error removes it. The folder is made if there is none.
    `durable`: `file` survives a power cut as soon as this returns. OSError if it cannot be written.
    """
    make_folder(file.parent)
    part = file.with_name(aside or f".{file.name}.{uuid.uuid4().hex[:8]}")
    try:
        with open(part, "wb") as sink:
            share(sink.fileno(), file.parent)
            yield sink
            sink.flush()
            sync(sink.fileno())
        os.replace(part, file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if durable:
        try:
            _sync_folder(file.parent)
        except OSError as error:
            said = f"it is written, but a power cut may undo that, as its folder cannot be brought to the disk ({error.strerror})"
            raise OSError(error.errno, said) from error


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a small file, text as UTF-8, as `whole` does. OSError that names the file if it cannot be written."""
    try:
        with whole(file) as sink:
            sink.write(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise OSError(error.errno, f"cannot be written ({error.strerror})", str(file)) from error


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing. Each is shared as the folder that it lies in."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:  # another process was faster
        if not folder.is_dir():
            raise
    else:
        share(folder, folder.parent)


@contextmanager
def lock_file(file: Path) -> Iterator[TextIO]:
    """A file for flock that all users of a shared folder can open, made if it is not there."""
    with file.open("a") as lock:
        if os.fstat(lock.fileno()).st_uid == os.geteuid():
            share(lock.fileno(), file.parent)
        yield lock


def share(made: int | Path, folder: Path) -> None:
    """Give a new file (its descriptor) or a new folder in `folder` the rights that the group has there, if the folder is shared.
    Its owner may read and write it in any case.

    The umask says what a user's private files look like. It says nothing of a folder that is made for several: members of the
    group must be able to read and replace what others wrote there. Nobody gets more than in the folder itself.
    """
    above, own = os.stat(folder), os.stat(made)
    owners = 0o700 if stat.S_ISDIR(own.st_mode) else 0o600
    if own.st_mode & owners != owners:  # an umask that takes the rights of the user's own
        os.chmod(made, stat.S_IMODE(own.st_mode) | owners)
        own = os.stat(made)
    if not _is_shared(above.st_mode):
        return
    try:
        if own.st_gid != above.st_gid:  # a group-writable folder without setgid
            os.chown(made, -1, above.st_gid)
        bits = 0o777 if stat.S_ISDIR(own.st_mode) else 0o666
        mode = (own.st_mode | above.st_mode & 0o070) & (above.st_mode | 0o700) & bits
        if stat.S_ISDIR(own.st_mode):
            mode |= above.st_mode & stat.S_ISGID
        if mode != stat.S_IMODE(own.st_mode):
            os.chmod(made, mode)
    except OSError as error:
        # The user is not a member of the folder's group, and no other group is to get more; or there are no such rights here.
        if error.errno not in (errno.EPERM, errno.EACCES, *_UNSUPPORTED):
            raise


def _is_shared(mode: int) -> bool:
    """True for the mode of a folder that a group works in, false for a sticky one that all may write, such as /tmp."""
    public = mode & stat.S_ISVTX and mode & stat.S_IWOTH
    return bool(mode & (stat.S_ISGID | stat.S_IWGRP)) and not public


def sync(descriptor: int) -> None:
    """Bring a file or a folder to the disk, where the file system can: one that cannot loses nothing by it but a power cut's
    worth."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def _sync_folder(folder: Path) -> None:
    # Without this the rename itself may be lost in a power cut.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


RANDOM = 8
"""Characters that the name of a temporary file adds."""


def check_file(out: Path, usual: str = "") -> None:
    """Stop the command unless `write_whole` can write this file into a folder that exists. `usual`: a name to propose where `out`
    is a folder."""
    folder = out.absolute().parent
    try:
        if out.is_dir():
            _refuse(f"{out} is a directory: name a file with --out{f', such as {out / usual}' if usual else ''}")
        if not folder.is_dir():
            _refuse(f"no directory {folder} to write {out.name} in: make it, or name another file with --out")
        _try(folder, out.name)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            _refuse(f"cannot write {out}: {error.strerror}")
        _refuse(f"cannot write in {folder}: name another file with --out")


def check_folder(out: Path) -> None:
    """Stop the command unless files can be written into this folder, which may still be missing."""
    try:
        there = next(path for path in (out, *out.absolute().parents) if path.exists())
        _try(there, "")
    except OSError as error:
        _refuse(f"cannot write in {out}: {error.strerror}; name a folder with --out")


def _refuse(message: str) -> NoReturn:
    from sweepkit.console.terminal import stop  # here: a store imports this module, and needs no terminal

    stop(message)


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
