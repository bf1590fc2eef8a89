"""The folder for files that each machine makes or fetches once: compiled loops, its measured speed, data, copies of results."""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path


def cache_folder() -> Path:
    """A folder of this user that can be written: under XDG_CACHE_HOME or ~/.cache, else among the temporary files. A relative
    path does not count, as XDG says: it would be another folder for each working directory."""
    homes = (os.environ.get("XDG_CACHE_HOME", ""), os.path.join(os.path.expanduser("~"), ".cache"))
    homes_there = [Path(home, "sweep-orchestrator") for home in homes if os.path.isabs(home)][:1]
    for folder in (*homes_there, Path(tempfile.gettempdir(), f"sweep-orchestrator-{os.getuid()}")):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.getuid():
                continue
            folder.chmod(folder.stat().st_mode & ~0o022)
        except OSError:  # a missing or read-only home: try the next place
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="sweep-orchestrator-"))


def digest(files: Iterable[Path], *words: str) -> str:
    """16 hex digits that change with the text of any of these files, but not with its line ends, and with the words."""
    found = hashlib.sha256("\n".join(words).encode())
    for file in sorted(files):
        found.update(unified(file.read_bytes()))
    return found.hexdigest()[:16]


def unified(text: bytes) -> bytes:
    """The text with the line ends of Unix, as Python and YAML read it: a digest of it is the same on every system."""
    return re.sub(rb"\r\n?", b"\n", text)
