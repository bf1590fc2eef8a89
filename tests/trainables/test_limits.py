"""Cores and memory beneath made-up control groups of both versions, and beneath those of this machine."""

import os

import pytest

from trainables.limits import available_bytes, cores

GIB = 2**30
MEMINFO = f"MemTotal: {64 * GIB // 1024} kB\nMemFree: 1 kB\nMemAvailable: {22 * GIB // 1024} kB\n"
V2 = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Makes the files of a machine of 16 cores and 22 free GiB whose process is in these groups; returns its root."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))

    def made(groups: str, mounts: str, **files: str):
        for path, text in {"proc/meminfo": MEMINFO, "proc/self/cgroup": groups, "proc/self/mountinfo": mounts, **files}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return tmp_path

    return made


def test_without_groups_the_affinity_and_the_kernels_estimate_count(machine):
    assert (cores(machine("", "")), available_bytes(machine("", ""))) == (16, 22 * GIB)


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [
        (["max 100000", "max 100000"], 16),
        (["max 100000", "300000 100000"], 3),
        (["400000 100000", "300000 100000"], 3),  # the outer group's is less
        (["200000 100000", "300000 100000"], 2),
        (["250000 100000", "max 100000"], 2),
        (["50000 100000", "max 100000"], 1),
        (["9900000 100000", "max 100000"], 16),
    ],
)
def test_the_least_quota_of_nested_groups_counts(machine, quotas, expected):
    inner, outer = quotas
    files = {"sys/fs/cgroup/job/step/cpu.max": inner, "sys/fs/cgroup/job/cpu.max": outer}
    assert cores(machine("0::/job/step\n", V2, **files)) == expected


def memory_of(group: str, limit: object, used: int, inactive: int = 0) -> dict[str, str]:
    told = {"memory.max": str(limit), "memory.current": str(used), "memory.stat": f"anon 1\ninactive_file {inactive}\n"}
    return {f"sys/fs/cgroup/{group}/{name}": text for name, text in told.items()}


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        (("max", GIB), ("max", GIB), 22 * GIB),
        ((8 * GIB, 3 * GIB), ("max", GIB), 5 * GIB),
        ((8 * GIB, 3 * GIB, 2 * GIB), ("max", GIB), 7 * GIB),  # files read before are given back
        ((8 * GIB, 3 * GIB), (4 * GIB, 3 * GIB), GIB),
        ((GIB, 2 * GIB), ("max", GIB), 0),
        ((64 * GIB, GIB), ("max", GIB), 22 * GIB),  # more than the machine has free
    ],
)
def test_the_least_memory_of_nested_groups_counts(machine, inner, outer, expected):
    files = memory_of("job/step", *inner) | memory_of("job", *outer)
    assert available_bytes(machine("0::/job/step\n", V2, **files)) == expected


def test_a_soft_limit_counts_as_the_kernel_slows_whoever_exceeds_it(machine):
    files = memory_of("job", 8 * GIB, GIB) | {"sys/fs/cgroup/job/memory.high": str(3 * GIB)}
    assert available_bytes(machine("0::/job\n", V2, **files)) == 2 * GIB


@pytest.mark.parametrize(
    ("own", "root"),
    [("/docker/ab/step", "/"), ("/docker/ab/step", "/docker/ab"), ("/", "/docker/ab"), ("/../../ab", "/docker/ab")],
)
def test_groups_of_the_first_version_as_a_container_shows_them(machine, own, root):
    """A container may show its own group as the top of the mounted hierarchy, under a path of the machine or of its own."""
    below = {"/": "/docker/ab", "/docker/ab": ""}[root]
    files = {
        "sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us": "350000\n",
        "sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us": "100000\n",
        f"sys/fs/cgroup/memory{below}/memory.limit_in_bytes": f"{4 * GIB}\n",
        f"sys/fs/cgroup/memory{below}/memory.usage_in_bytes": f"{2 * GIB}\n",
        f"sys/fs/cgroup/memory{below}/memory.stat": f"inactive_file 7\ntotal_inactive_file {GIB}\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes" if below else "other": "9223372036854771712\n",
    }
    here = machine(f"4:memory:{own}\n1:cpu,cpuacct:/docker/ab\n0::/\n", V1.format(root=root), **files)
    assert (cores(here), available_bytes(here)) == (3, 3 * GIB)


def test_groups_that_cannot_be_read_set_no_limit(machine):
    files = {"sys/fs/cgroup/job/cpu.max": "200000 100000"}
    here = machine("0::/job/gone/deeper\n", V2, **files)
    assert (cores(here), available_bytes(here)) == (2, 22 * GIB)


def test_this_machine_has_some_of_each():
    assert 1 <= cores() <= (os.cpu_count() or 1)
    assert 0 < available_bytes() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
