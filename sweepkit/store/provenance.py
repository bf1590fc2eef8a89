"""Where stored results come from: the commit of the code in a folder, or its release."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from sweepkit import __version__

GIT_S = 20.0
"""Seconds that git may take; it hangs where a share does not answer, or where a program that its settings name does not end."""


def brief(sha: str) -> str:
    """A commit in nine characters, followed by the `+` of one that files differ from."""
    return sha.removesuffix("+")[:9] + "+" * sha.endswith("+")


def git(folder: Path, *words: str) -> str | None:
    """Git's answer about the folder, whatever repository, index or folder the variables of another program name (a hook of
    another repository runs with GIT_DIR). None without git, outside a repository, or if git fails or takes too long."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    process = None
    try:
        process = subprocess.Popen(  # a group of its own, without a terminal: it can ask nothing, and ends with what it started
            # The folder may belong to another account: on a cluster it was copied there.
            ["git", "-c", f"safe.directory={folder}", "-c", "core.fsmonitor=false", "-C", folder, *words],
            env=own | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="surrogateescape",
        )  # fmt: skip
        said, _ = process.communicate(timeout=GIT_S)
        return said.strip("\n") if process.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def code_of(folder: Path, *within: str) -> str:
    """The commit of the packages in a folder, as `commit_of` gives it; for those that a wheel installed, their release: `v0.2.0`.
    Empty for a copy of them, which anyone may have changed."""
    release = f"v{__version__}" if (folder / f"sweepkit-{__version__}.dist-info").is_dir() else ""
    return commit_of(folder, *within) or release


def commit_of(folder: Path, *within: str) -> str:
    """The commit, followed by `+` unless all files below the paths `within` (by default the folder) are known to be those of the
    commit. Empty without git, or where no repository tracks this code: a package that is installed below a repository of its
    user's is no part of that."""
    if not git(folder, "ls-files", "--", Path(__file__).parents[1].name):
        return ""
    if not (sha := git(folder, "rev-parse", "--verify", "--quiet", "HEAD")):
        return ""
    differ = git(folder, "status", "--porcelain", "--untracked-files=no", "--", *(within or (".",)))
    return sha if differ == "" else f"{sha}+"
