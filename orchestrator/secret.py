"""Files that hold a secret: their owner alone can read them, from their first moment on."""

import os
import tempfile
from pathlib import Path

from sweepkit.console.writing import sync


def write_secret(path: Path, text: str) -> bool:
    """Write a secret unless there is one; return whether it was written. The file is there in whole or not at all.

    OSError if it cannot be written.
    """
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # readable by its owner alone, whatever the umask
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            sync(file.fileno())
        if path.exists() and not path.stat().st_size:
            os.replace(part, path)  # an empty file may be open to others
            return True
        try:
            os.link(part, path)  # of two that write it at once, the first one's stays
        except FileExistsError:
            return False
        except OSError:  # there are no hard links, as on vfat; what else is wrong shows again
            if path.exists():
                return False
            os.replace(part, path)
        return True
    finally:
        Path(part).unlink(missing_ok=True)
