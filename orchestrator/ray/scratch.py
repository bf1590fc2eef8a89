"""Where Tune keeps its state and checkpoints while a sweep runs: a directory of its own, gone afterwards. Knows no Ray.

On one node it lies on this disk, on several where all see it: beside the results, in a bucket too.
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

from store.files import LocalFiles, ResultsError, open_files
from store.leases import is_running

if TYPE_CHECKING:
    from pyarrow import fs


@contextmanager
def scratch_directory(results: str, several_nodes: bool) -> Iterator[str]:
    """Its path or URI. ResultsError where it cannot be made."""
    root = _shared(results) if several_nodes else tempfile.gettempdir()
    found = f"{root}/sweep-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"  # as `remove_left` reads it
    try:
        if isinstance(open_files(root), LocalFiles):  # a bucket has no folders to make
            Path(root).mkdir(parents=True, exist_ok=True)
            Path(found).mkdir(mode=0o700)
    except OSError as error:
        raise ResultsError(f"cannot write temporary files to {root}: {error.strerror}; TMPDIR names another place") from error
    try:
        yield found
    finally:
        remove(found)


def remove_left(results: str) -> None:
    """Delete those of drivers of this machine that are gone: killed ones could not."""
    from pyarrow import fs

    # Whole: names of other hosts may begin with this one's and a hyphen.
    ours = re.compile(rf"sweep-{re.escape(socket.gethostname())}-(\d+)-[0-9a-f]{{8}}")
    for root in (tempfile.gettempdir(), _shared(results)):
        with suppress(OSError):  # as in `remove`
            system, path = _opened(root)
            for left in system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
                own = ours.fullmatch(left.base_name)
                if own and not is_running(int(own[1])):
                    remove(f"{root}/{left.base_name}")


def remove(scratch: str) -> None:
    """Delete it. Where that fails, as a dying worker still writes there, the next sweep tries again."""
    with suppress(OSError):
        system, path = _opened(scratch)
        system.delete_dir(path)


def _shared(results: str) -> str:
    return f"{results}/.scratch"


def _opened(place: str) -> "tuple[fs.FileSystem, str]":
    """As Tune itself reads and writes there."""
    from pyarrow import fs

    return (fs.LocalFileSystem(), place) if isinstance(open_files(place), LocalFiles) else fs.FileSystem.from_uri(place)
