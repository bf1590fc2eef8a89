"""Where this user keeps what can be made again. `trainables.cache`, which may know no store, is its twin."""

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """A folder of this user's that can be written: under XDG_CACHE_HOME or ~/.cache, else beside other temporary files."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    last = Path(tempfile.gettempdir(), f"sweep-orchestrator-{os.getuid()}")
    for folder in (Path(home, "sweep-orchestrator"), last):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.getuid():
                continue
            folder.chmod(folder.stat().st_mode & ~0o022)
        except OSError:  # a home that is not there or read-only: the next place
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="sweep-orchestrator-"))
