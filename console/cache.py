"""The folder for files that each machine makes or fetches once: compiled loops, its measured speed, data, copies of results."""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def cache_folder() -> Path:
    """A folder of this user that can be written: under XDG_CACHE_HOME or ~/.cache, else among the temporary files."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    last = Path(tempfile.gettempdir(), f"sweep-orchestrator-{os.getuid()}")
    for folder in (Path(home, "sweep-orchestrator"), last):
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
    """16 hex digits that change with the content of any of these files and with the words."""
    found = hashlib.sha256("\n".join(words).encode())
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()[:16]
