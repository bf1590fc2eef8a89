"""The scratch directory, in which Tune keeps its state and checkpoints while a sweep runs. Knows no Ray.

Each sweep has its own, and removes it at the end. On one node it lies in the folder for temporary files. On several nodes it lies
in the results, which all nodes see, also in a bucket.
"""

import os
import re
import socket
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sweepkit.console.writing import make_folder
from sweepkit.store.files import LocalFiles, ResultsError, open_files
from sweepkit.store.leases import is_running

if TYPE_CHECKING:
    from pyarrow import fs


@contextmanager
def scratch_directory(results: str, several_nodes: bool) -> Iterator[str]:
    """Make a scratch directory and yield its path or URI; remove it at the end. ResultsError if it cannot be made."""
    root = _shared(results) if several_nodes else tempfile.gettempdir()
    found = f"{root}/sweep-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"  # `remove_left` parses this name
    try:
        if isinstance(open_files(root), LocalFiles):  # a bucket needs no folders
            make_folder(Path(root))
            Path(found).mkdir(mode=0o700)
    except OSError as error:
        raise ResultsError(f"cannot write temporary files to {root}: {error.strerror}; TMPDIR names another place") from error
    try:
        yield found
    finally:
        remove(found)


def remove_left(results: str) -> None:
    """Delete the scratch directories that killed drivers of this machine left behind."""
    from pyarrow import fs

    # Matched as a whole: names of other hosts may begin with this one's name and a hyphen.
    ours = re.compile(rf"sweep-{re.escape(socket.gethostname())}-(\d+)-[0-9a-f]{{8}}")
    for root in (tempfile.gettempdir(), _shared(results)):
        with suppress(OSError):  # as in `remove`
            system, path = _opened(root)
            for left in system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
                own = ours.fullmatch(left.base_name)
                if own and not is_running(int(own[1])):
                    remove(f"{root}/{left.base_name}")


def remove(scratch: str) -> None:
    """Delete a scratch directory. That may fail, as when a dying worker still writes there; then the next sweep tries again."""
    with suppress(OSError):
        system, path = _opened(scratch)
        system.delete_dir(path)


def _shared(results: str) -> str:
    return f"{results}/.scratch"


def _opened(place: str) -> "tuple[fs.FileSystem, str]":
    """The file system and path by which Tune itself reads and writes at this place."""
    from pyarrow import fs

    return (fs.LocalFileSystem(), place) if isinstance(open_files(place), LocalFiles) else fs.FileSystem.from_uri(place)
