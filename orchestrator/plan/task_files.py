"""Files that tasks need. The driver announces their size, checks the room on the disk, and makes them before Ray starts."""

import os
import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from trainables.basics import say
from trainables.tasks import Task
from trainables.tasks.base import Preparation, TaskError

ROOM_LEFT = 2**28
"""Bytes that must stay free on a disk beside the files made on it."""


def prepare(tasks: Iterable[Task], console: Console, dry_run: bool = False) -> None:
    """Announce the files that the tasks need, and let the tasks make them, unless `dry_run`.

    TaskError if a disk has too little room or the making fails.
    """
    tasks = list(dict.fromkeys(tasks))
    needed = list(dict.fromkeys(one for task in tasks for one in task.preparations()))
    for one in needed:
        say(console, f"{'needs' if dry_run else 'making'} {one.what}: {_size(one.n_bytes)} in {one.file}")
    if len(needed) > 1:
        say(console, f"{_size(sum(one.n_bytes for one in needed))} in all, once")
    _check_room(needed)
    if not dry_run:
        for task in tasks:
            task.prepare(console)


def _check_room(needed: list[Preparation]) -> None:
    folders: dict[int, list[Preparation]] = defaultdict(list)
    for one in needed:
        folders[os.stat(_existing(one.file)).st_dev].append(one)
    for on_disk in folders.values():
        folder, need = on_disk[0].file.parent, sum(one.n_bytes for one in on_disk)
        free = shutil.disk_usage(_existing(folder)).free
        if need + ROOM_LEFT > free:
            raise TaskError(f"too little room: {folder} has {_size(free)} free, and the files to make there take {_size(need)}")


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(p for p in (path, *path.parents) if p.exists())


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"
