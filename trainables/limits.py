"""The cores and the memory that this process may use: the least of what the machine has, its affinity, and its control groups.

joblib and Ray read the topmost group alone, and psutil none. A batch system, systemd or a container engine may limit any group of
a process, so all of them are read here, of both versions (cgroups(7)).
"""

import os
from collections.abc import Iterator
from pathlib import Path

_UNLIMITED = ("", "max", "-1")


def cores(root: Path = Path("/")) -> int:
    """Whole cores that this process may keep busy, at least 1. A quota of 1.5 cores counts as one."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [known, *(quota for group in _groups(root, "cpu") if (quota := _quota(group)) is not None)]
    return max(1, int(min(quotas)))


def available_bytes(root: Path = Path("/")) -> int:
    """Memory that processes may still take: Linux's own estimate, or what is left to a group above this process, if that is less.
    On other systems all memory."""
    left = [free for group in _groups(root, "memory") if (free := _left(group)) is not None]
    return max(0, min([_unused(root), *left]))


def _unused(root: Path) -> int:
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """The folders of the groups that this process is in, innermost first, of each hierarchy that may hold the controller."""
    mounts = [line.split() for line in _text(root / "proc/self/mountinfo").splitlines()]
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, names, own = line.split(":", 2)
        if number != "0" and controller not in names.split(","):
            continue
        kind = "cgroup2" if number == "0" else "cgroup"
        for mount in mounts:
            after = mount[mount.index("-") + 1 :]  # type, source, and options, which name a hierarchy's controllers
            if after[0] != kind or (kind == "cgroup" and controller not in after[2].split(",")):
                continue
            top, inside = root / mount[4].lstrip("/"), Path("/", own)
            # A container may show its own group as the top of what is mounted, or a path that leads outside of it.
            below = inside.relative_to(mount[3]) if inside.is_relative_to(mount[3]) and ".." not in inside.parts else Path()
            yield from (top / below, *(top / above for above in below.parents))


def _quota(group: Path) -> float | None:
    quota, period = (*_text(group / "cpu.max").split(), "", "")[:2]
    if not quota:
        quota, period = _text(group / "cpu.cfs_quota_us"), _text(group / "cpu.cfs_period_us")
    return None if quota in _UNLIMITED or not period else int(quota) / int(period)


def _left(group: Path) -> int | None:
    """Bytes that a group may still take. Pages of files that were not used for a while count as free, as Linux counts them."""
    for used, limits, inactive in (
        ("memory.current", ("memory.max", "memory.high"), "inactive_file"),
        ("memory.usage_in_bytes", ("memory.limit_in_bytes",), "total_inactive_file"),
    ):
        texts = [_text(group / limit) for limit in limits]
        most = [int(text) for text in texts if text not in _UNLIMITED]
        if most and (taken := _text(group / used)):
            stat = dict(line.split() for line in _text(group / "memory.stat").splitlines())
            return min(most) - int(taken) + int(stat.get(inactive, 0))
    return None


def _text(file: Path) -> str:
    """The text of a file of the kernel's; nothing where it has none, as for a group that is closed to this user or just gone."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""
