"""Kept arrays: made once, told and made anew where they are damaged, and errors of the disk in a line."""

import errno
import os
import threading
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.sweeps import wait_for
from trainables.basics import TaskError
from trainables.features import array_cache


@pytest.fixture
def console():
    return Console(file=StringIO(), width=200)


def test_it_is_made_once_whoever_asks(tmp_path, console):
    wanted, calls = array_cache.Wanted("some", 3, "uint8", (("images", "x"),)), []

    def batches():
        calls.append(1)
        wait_for(lambda: "waiting for another process" in console.file.getvalue())
        return (2,) * 100, [np.arange(600, dtype=np.uint8).reshape(200, 3)]

    found_rows = []
    threads = [
        threading.Thread(target=lambda: found_rows.append(array_cache.made([tmp_path], wanted, batches, console))) for _ in "ab"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1 and len(found_rows) == 2
    assert not list(tmp_path.glob(".*.part"))


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path, console):
    def batches():
        yield np.zeros((1, 3), np.uint8)
        raise OSError(28, "No space left on device")

    wanted = array_cache.Wanted("some", 3, "uint8", ())
    with pytest.raises(TaskError, match=r"some\.npy cannot be made: No space left on device; make room"):
        array_cache.made([tmp_path], wanted, lambda: ((2,) * 100, batches()), console)
    assert [p.name for p in tmp_path.iterdir()] == [".some.lock"]


def test_what_is_damaged_where_nothing_can_be_written_is_told_and_made_elsewhere(tmp_path, console, monkeypatch):
    """A folder with the data, which nodes share, may be readable alone."""
    wanted, shared, own = array_cache.Wanted("some", 3, "uint8", ()), tmp_path / "shared", tmp_path / "own"

    def make(*folders):
        return array_cache.made(folders, wanted, lambda: ((1,), [np.zeros((1, 3), np.uint8)]), console)

    make(shared)
    (shared / "some.json").write_text("{")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != shared and access(path, mode))
    assert make(shared, own).counts == (1,)
    told = console.file.getvalue()
    assert f"{shared}/some.npy is not used: it is torn (" in told and f"; it is made anew in {own}\n" in told
    assert array_cache.found([shared, own], wanted) and not array_cache.found([shared], wanted)
    make(shared, own)
    assert console.file.getvalue() == told  # once it is made, there is nothing to tell


def test_an_array_that_cannot_be_read_now_is_not_replaced(tmp_path, console, monkeypatch):
    wanted = array_cache.Wanted("some", 3, "uint8", ())

    def make():
        return array_cache.made([tmp_path], wanted, lambda: ((1,), [np.zeros((1, 3), np.uint8)]), console)

    make()
    with monkeypatch.context() as patched:

        def stale(*args, **settings):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

        patched.setattr("trainables.features.array_cache.np.load", stale)
        with pytest.raises(TaskError, match=r"some\.npy may be there, but it cannot be read: Stale file handle"):
            make()
    assert array_cache.found([tmp_path], wanted) and console.file.getvalue() == ""


@pytest.mark.parametrize("place", ["pathlib.Path.mkdir", "fcntl.flock", "trainables.features.array_cache.write_whole"])
def test_whatever_the_disk_refuses_is_told_in_a_line(tmp_path, console, monkeypatch, place):
    def refuse(*args, **settings):
        raise PermissionError(13, "Permission denied", "here")

    monkeypatch.setattr(place, refuse)
    wanted = array_cache.Wanted("some", 3, "uint8", ())
    with pytest.raises(TaskError, match=r"some\.npy cannot be made: Permission denied \(here\); .*let the folder be written"):
        array_cache.made([tmp_path / "new"], wanted, lambda: ((1,), [np.zeros((1, 3), np.uint8)]), console)


def test_a_folder_that_cannot_be_written_is_passed_over(tmp_path):
    (tmp_path / "file").write_text("in the way")
    blocked = tmp_path / "file" / "features"
    assert array_cache.writable([blocked, tmp_path / "other"]) == tmp_path / "other"
    with pytest.raises(TaskError, match="none of these folders can be written"):
        array_cache.writable([blocked])
