"""Scratch directories: gone with their sweep, or removed by the next."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from orchestrator.ray.scratch import remove_left, scratch_directory
from sweepkit.store.files import ResultsError


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("several_nodes", [False, True])
def test_gone_afterwards(several_nodes, temporary, tmp_path):
    with scratch_directory(str(tmp_path / "r"), several_nodes) as found:
        assert Path(found).parent == (tmp_path / "r" / ".scratch" if several_nodes else temporary)
        Path(found, "state").touch()
    assert not Path(found).exists()


def test_what_a_killed_driver_left_is_removed_and_what_a_living_one_has_is_not(temporary, tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = [root / f"sweep-{socket.gethostname()}-{dead.pid}-0123abcd" for root in (temporary, tmp_path / "r" / ".scratch")]
    here = socket.gethostname()
    names = [f"{here}-{os.getpid()}-0123abcd", f"elsewhere-{dead.pid}-0123abcd", f"{here}-2-{dead.pid}-0123abcd"]
    others = [temporary / f"sweep-{name}" for name in names]  # the last is of a host whose name is longer
    for folder in (*left, *others):
        (folder / "a").mkdir(parents=True)
    remove_left(str(tmp_path / "r"))
    assert not any(folder.exists() for folder in left)
    assert all(folder.exists() for folder in others)


def test_no_room_is_said(temporary, tmp_path):
    temporary.rmdir()
    temporary.touch()
    with (
        pytest.raises(ResultsError, match=r"cannot write temporary files to .*: .*; TMPDIR names another place"),
        scratch_directory("r", False),
    ):
        pass
