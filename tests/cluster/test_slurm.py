"""`sbatch cluster.slurm.sh` on a private Slurm of three nodes: to the end, again, drained, cancelled, and on bad input."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sweepkit.store.views import connect
from tests.slurm_machine import SlurmMachine, slurm_machine, why_not
from tests.sweeps import counts, wait_for
from tests.two_users import check_shared, make_shared, two_users

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "cluster.slurm.sh"

pytestmark = pytest.mark.alone

TASK = (
    (ROOT / "examples" / "parity.py")
    .read_text()
    .replace("import numpy as np", "import os\nfrom pathlib import Path\n\nimport numpy as np")
    .replace(
        "        return rng.choice(",
        '        Path(os.environ["RESULTS"] + ".nodes", os.environ["SLURMD_NODENAME"]).touch()\n        return rng.choice(',
    )
)
"""Parity, where each network also notes the node that trains it."""

GRID = """\
sweep: {name}
tasks: [noting.py]
defaults: {{eval_every: 200, width: 32, batch: 32, test_size: 64}}
grids:
  - {{task: parity, d: 8, k: [1, 2], gamma: 1, seed: {{range: {seeds}}}, steps: {steps}}}
resources: {{pack_seconds: {pack_seconds}}}
"""

OF_USERS = """\
sweep: {name}
defaults: {{task: same_different, steps: 200, eval_every: 200, test_size: 64, batch: 8}}
grids:
  - {{L: {values}, d: 8, width: 16, gamma: 1, seed: 0}}
"""

Submit = Callable[..., str]


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmMachine]:
    if why := why_not():
        pytest.skip(why)
    with slurm_machine(nodes=3, cpus=1) as machine:
        yield machine


@pytest.fixture
def write_grid(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, seeds: int, steps: int, pack_seconds: float) -> Path:
        (tmp_path / "noting.py").write_text(TASK)
        path = tmp_path / f"{name}.yaml"
        path.write_text(GRID.format(name=name, seeds=seeds, steps=steps, pack_seconds=pack_seconds))
        return path

    return write


@pytest.fixture
def results(tmp_path: Path) -> str:
    (tmp_path / "results.nodes").mkdir()
    return str(tmp_path / "results")


@pytest.fixture
def submit(slurm: SlurmMachine, results: str, tmp_path: Path) -> Submit:
    """`sbatch` the script as a user does, from the project's directory; returns the job's number."""

    def run(nodes: int, *args: object) -> str:
        path = f"{Path(sys.executable).parent}:{slurm.env['PATH']}"
        settings = {"RESULTS": results, "JOIN_SECONDS": "200", "SCRATCH": str(slurm.folder), "PATH": path}
        command = ["sbatch", "--parsable", f"--nodes={nodes}", "--cpus-per-task=1", f"--output={tmp_path}/%j.log"]
        return slurm.run(*command, str(SCRIPT), *map(str, args), cwd=ROOT, **settings).strip()

    return run


def log_of(job_id: str, tmp_path: Path) -> str:
    path = tmp_path / f"{job_id}.log"
    return path.read_text() if path.exists() else ""


def wait_amid(slurm: SlurmMachine, job_id: str, tmp_path: Path, condition: Callable[[], bool]) -> None:
    """Until it holds; at once an error when the job ends before."""

    def holds() -> bool:
        assert slurm.job(job_id)["JobState"] in ("PENDING", "RUNNING"), log_of(job_id, tmp_path)
        return condition()

    wait_for(holds)


def left_behind(slurm: SlurmMachine, job_id: str) -> list[Path]:
    """Temporary directories of a job's nodes."""
    return list(slurm.folder.glob(f"ray-{job_id}.*"))


@pytest.mark.ray
def test_bad_input_ends_the_job_before_ray_starts(slurm, submit, write_grid, results, tmp_path):
    job_id = submit(3, write_grid("bad", seeds=1, steps=200, pack_seconds=1), "k=9")
    job = slurm.wait(job_id)
    told = log_of(job_id, tmp_path)
    assert (job["JobState"], job["ExitCode"]) == ("FAILED", "2:0"), told
    assert "k (9) is larger than d (8)" in told and "Traceback" not in told
    assert not Path(results).exists() and not left_behind(slurm, job_id)


@pytest.mark.ray
def test_jobs_of_two_users_share_a_directory(slurm):
    with two_users() as (one, other, place):
        results = make_shared(place / "results", one, 0o2770)
        for user, values in ((one, "[3]"), (other, "[3, 4]")):
            grid = place / f"{user.name}.yaml"
            grid.write_text(OF_USERS.format(name=user.name, values=values))
            settings = {"RESULTS": str(results), "JOIN_SECONDS": "200", "SCRATCH": str(user.home / "t")}
            settings |= {"XDG_CACHE_HOME": str(user.home / ".cache"), "NUMBA_CACHE_DIR": ""}  # not those of the tests
            path = f"{user.commands('ray')}:{slurm.env['PATH']}"
            command = ["sbatch", "--parsable", "--nodes=2", "--cpus-per-task=1", f"--output={user.home}/%j.log"]
            job_id = slurm.run(
                *command, str(SCRIPT), str(grid), cwd=place, by=user, **(user.environment() | settings | {"PATH": path})
            ).strip()
            job = slurm.wait(job_id)
            assert (job["JobState"], job["ExitCode"]) == ("COMPLETED", "0:0"), log_of(job_id, user.home)
        assert counts(str(results)) == (2, 2)
        check_shared(results, one.shared)


@pytest.mark.ray
def test_nodes_share_the_packs_and_a_second_submission_trains_nothing(slurm, submit, write_grid, results, tmp_path):
    grid = write_grid("shared", seeds=12, steps=400, pack_seconds=0.01)
    job_id = submit(3, grid)
    job = slurm.wait(job_id)
    assert (job["JobState"], job["ExitCode"]) == ("COMPLETED", "0:0"), log_of(job_id, tmp_path)
    assert counts(results) == (24, 24)
    assert connect(results).execute("select distinct status from cells").fetchall() == [("ok",)]
    assert len(list(Path(f"{results}.nodes").iterdir())) > 1
    wait_for(lambda: not left_behind(slurm, job_id))

    files = sorted(p.name for p in Path(results, "packs").iterdir())
    again = submit(1, grid)
    job = slurm.wait(again)
    assert (job["JobState"], job["ExitCode"]) == ("COMPLETED", "0:0"), log_of(again, tmp_path)
    assert "0 to train" in log_of(again, tmp_path)
    assert sorted(p.name for p in Path(results, "packs").iterdir()) == files


@pytest.mark.ray
def test_warned_then_cancelled_then_requeued_it_trains_each_cell_once(slurm, submit, write_grid, results, tmp_path):
    grid = write_grid("long", seeds=12, steps=4000, pack_seconds=0.01)  # a pack for each cell on a machine of any speed
    warned = submit(2, grid)
    wait_amid(slurm, warned, tmp_path, lambda: counts(results)[0] > 0)
    slurm.run("scancel", "--batch", "--signal=INT", warned)  # what --signal=B:INT@120 sends before the time is over
    job = slurm.wait(warned)
    assert (job["JobState"], job["ExitCode"]) == ("FAILED", "130:0"), log_of(warned, tmp_path)
    assert "draining" in log_of(warned, tmp_path) and f"sbatch cluster.slurm.sh {grid}" in log_of(warned, tmp_path)
    drained = counts(results)
    assert 0 < drained[0] == drained[1] < 24

    cancelled = submit(2, grid)
    wait_amid(slurm, cancelled, tmp_path, lambda: counts(results)[0] > drained[0])
    slurm.run("scancel", cancelled)
    wait_for(lambda: not left_behind(slurm, cancelled))  # of itself: here Slurm kills nothing before it has cleared up
    assert slurm.wait(cancelled)["JobState"] == "CANCELLED"
    assert counts(results)[0] < 24

    last = submit(2, grid)
    wait_amid(slurm, last, tmp_path, lambda: "starting Ray" in log_of(last, tmp_path))
    slurm.run("scontrol", "requeue", last)  # as after a preemption; Slurm holds such a job back for a while
    wait_for(lambda: slurm.job(last)["JobState"] == "PENDING")
    slurm.run("scontrol", "update", f"JobId={last}", "StartTime=now")
    job = slurm.wait(last)
    assert (job["JobState"], job["ExitCode"], job["Restarts"]) == ("COMPLETED", "0:0", "1"), log_of(last, tmp_path)
    assert counts(results) == (24, 24)


def test_outside_of_slurm_it_says_how_to_submit(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLURM")}
    done = subprocess.run(["bash", str(SCRIPT), "grid.yaml"], env=env, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "sbatch cluster.slurm.sh grid.yaml" in done.stderr


NODE = """\
export SLURM_CPUS_ON_NODE=1
PATH=$1:$PATH
eval "$(sed -n '/^ray_node()/,/^}/p' "$2")"
umask 002
ray_node "$1" --head <<<secret
"""
"""The part of the script that runs on each node, under a user's own umask."""


def test_the_token_is_its_owners_alone_and_what_workers_write_follows_the_users_umask(tmp_path):
    ray = tmp_path / "ray"  # stands for Ray, whose workers inherit what it is started with
    ray.write_text('#!/bin/bash\necho "$RAY_AUTH_TOKEN_PATH" >"${0%/*}/written"\n')
    ray.chmod(0o755)
    done = subprocess.run(["bash", "-c", NODE, "_", tmp_path, SCRIPT], capture_output=True, text=True, check=False)
    assert (tmp_path / "written").read_text() == f"{tmp_path}/token\n", done.stderr
    assert (tmp_path / "token").read_text() == "secret\n"
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("token", "written")}
    assert modes == {"token": 0o600, "written": 0o664}


def test_the_shell_finds_nothing_wrong_in_it():
    check = ["shellcheck", str(SCRIPT)] if shutil.which("shellcheck") else ["bash", "-n", str(SCRIPT)]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
