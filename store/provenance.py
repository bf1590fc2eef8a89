"""Where stored results come from: the commit of the code in a folder."""

import subprocess
from pathlib import Path


def brief(sha: str) -> str:
    """A commit in nine characters, followed by the `+` of one that files differ from."""
    return sha.removesuffix("+")[:9] + "+" * sha.endswith("+")


def commit_of(folder: Path, *within: str) -> str:
    """The commit, followed by `+` if files below the paths `within` (by default all) differ from it; empty outside a repository
    or without git."""

    def git(*args: str) -> str:
        # The folder may belong to another account: on a cluster it was copied there.
        done = subprocess.run(
            ["git", "-c", f"safe.directory={folder}", "-C", folder, *args], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        sha = git("rev-parse", "HEAD")
        return sha + ("+" if sha and git("status", "--porcelain", "--untracked-files=no", "--", *within) else "")
    except OSError:
        return ""
