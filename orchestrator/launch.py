"""`python -m orchestrator.launch up|submit|status|down CLUSTER.yaml`: a cluster from its file to its end, by Ray's launcher."""

import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from analysis.commands import joined
from analysis.terminal import err, stop, told
from orchestrator.cluster_file import CODE, TOKEN, ClusterFile, ClusterFileError, load_cluster_file, uncommitted
from orchestrator.grid import GridError, load_grid

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)

File = Annotated[str, typer.Argument(metavar="CLUSTER.yaml", help="The cluster: see docs/clusters.md.")]
JOIN_S = 1800
"""How long workers may take to install the project and join."""
PYTHON = f"cd {CODE} && RAY_AUTH_MODE=token .venv/bin/python"
SUBMITTED = "submitted"
"""Folder of the head's HOME with the grids that were submitted, and their logs."""


@app.command()
def up(file: File, join_s: Annotated[int, typer.Option(help="Seconds that workers may take to join.")] = JOIN_S) -> None:
    """Start the cluster, or bring a running one to this file and this commit. Its machines install the project first."""
    cluster = _checked(file)
    _make_token()
    if differ := uncommitted(cluster.path.parent):
        told(f"not on the cluster, as not committed: {', '.join(differ[:5])}{' ...' if len(differ) > 5 else ''}")
    if cluster.on_premises:
        _greet(cluster)
    if _ray(cluster, "up", "-y"):
        _failed(f"the head of {cluster.name} did not start: see above")
    told(f"waiting for {cluster.at_least} machines ...")
    if _on_head(cluster, f"{PYTHON} -m orchestrator.nodes auto {cluster.at_least} --seconds {join_s}"):
        log = "tail -n 100 /tmp/ray/session_latest/logs/monitor.out"
        _failed(f"not all machines came; why is at the end of: {joined(['ray', 'exec', file, log])}")
    told(f"{cluster.name} is up. A sweep on it: python -m orchestrator.launch submit {file} grid.yaml --results DIR_OR_URI")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def submit(
    context: typer.Context,
    file: File,
    grid_file: Annotated[str, typer.Argument(metavar="GRID.yaml", help="The experiment; it is copied to the head.")],
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="A directory that all machines share, or a bucket.")],
    detach: Annotated[bool, typer.Option("--detach", help="Do not wait; its words go to a log on the head.")] = False,
) -> None:
    """Run a sweep on the cluster's head; further words (gamma=0.1 --limit 10 ...) are those of orchestrator.sweep."""
    cluster = _checked(file)
    try:
        grid = load_grid(grid_file, [word for word in context.args if "=" in word and not word.startswith("-")])
    except GridError as error:
        stop(str(error))
    if "://" not in results and not Path(results).is_absolute():
        stop(f"--results {results}: on a cluster give the whole path of a directory that all machines share, or a bucket")
    place = f"~/{SUBMITTED}/" + re.sub(r"[^A-Za-z0-9_-]+", "_", grid.sweep)
    with tempfile.TemporaryDirectory(prefix="submit-") as made:
        _gather(Path(grid_file), [Path(task.path) for task in grid.task_files], Path(made))
        if _on_head(cluster, f"mkdir -p {place}") or _ray(cluster, "rsync-up", f"{made}/", f"{place}/"):
            _failed(f"the grid could not be copied to the head of {cluster.name}; is it up?")
    words = shlex.join([Path(grid_file).name, *context.args, "--results", results, "--address", "auto"])
    run = f"{PYTHON} -m orchestrator.sweep {place}/{words}"
    if detach:
        told(f"its words: {joined(['ray', 'exec', file, f'tail -f {place}.log'])}")
        # In a session of its own, which the end of this login does not end.
        run = f"setsid nohup bash -c {shlex.quote(run)} > {place}.log 2>&1 < /dev/null & sleep 1"
    raise typer.Exit(_on_head(cluster, run))


@app.command()
def status(
    file: File, results: Annotated[str | None, typer.Option(metavar="DIR_OR_URI", help="Also what is in this store.")] = None
) -> None:
    """Machines of the cluster, and what a store holds."""
    cluster = _checked(file)
    command = f"{PYTHON} -m orchestrator.nodes"
    if results:
        command += f" && .venv/bin/python -m orchestrator.store status --results {shlex.quote(results)}"
    raise typer.Exit(_on_head(cluster, command))


@app.command()
def down(file: File) -> None:
    """Stop the cluster; rented machines are given back. What is not in the results by then is trained again by the next sweep."""
    cluster = _checked(file)
    left = _stop_given_machines(cluster) if cluster.on_premises else []
    if _ray(cluster, "down", "-y"):
        _failed(f"ray down failed: see above{'; machines may still cost money' if not cluster.on_premises else ''}")
    if left:
        _failed(f"could not log in to {', '.join(left)}: what runs there ends by itself within minutes, or by `ray stop`")
    told(f"{cluster.name} is down")


def _checked(file: str) -> ClusterFile:
    try:
        return load_cluster_file(file)
    except ClusterFileError as error:
        stop(str(error))


def _make_token() -> None:
    """A token that only its owner can read; one that is there is kept."""
    path = Path(TOKEN).expanduser()
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.parent.chmod(0o700)
    if path.exists() and path.stat().st_size:
        path.chmod(0o600)
        return
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    told(f"made {path}: whoever has it may run code on your clusters")


def _greet(cluster: ClusterFile) -> None:
    """See that the head opens its door, and forget what Ray remembers there and here of an earlier cluster of this name.

    With its state file Ray would take workers for running that have long been stopped.
    """
    state = f"/tmp/ray/cluster-{cluster.name}.state"
    done = _run(cluster.ssh(cluster.head, f"rm -f {shlex.quote(state)}"), capture_output=True)
    if done.returncode:
        who = f"{cluster.config['auth']['ssh_user']}@{cluster.head}"
        _failed(f"cannot log in to the head, {who}: {(done.stderr or done.stdout).strip() or 'ssh failed'}")
    Path(state).unlink(missing_ok=True)


def _stop_given_machines(cluster: ClusterFile) -> list[str]:
    """`ray stop` on all machines, the head first: it would start workers again. Returns those that could not be reached.

    Ray's own `down` stops the head alone. Workers are asked from the head, as they may be out of reach from here.
    """
    leave = f"{CODE}/.venv/bin/ray stop --grace-period 20 >/dev/null; rm -f /tmp/ray/cluster-{cluster.name}.state"
    left = []
    if _run(cluster.ssh(cluster.head, leave)).returncode:
        left.append(cluster.head)
    for worker in cluster.workers:
        from_head = shlex.join(cluster.ssh(worker, leave, key="KEY")).replace("KEY", "~/ray_bootstrap_key.pem")
        if _run(cluster.ssh(cluster.head, from_head)).returncode and _run(cluster.ssh(worker, leave)).returncode:
            left.append(worker)
    return left


def _gather(grid_file: Path, tasks: Sequence[Path], folder: Path) -> None:
    """The grid and its tasks' files in one folder, as they lie to each other."""
    home = grid_file.absolute().parent
    for path in (grid_file.absolute(), *(task.absolute() for task in tasks)):
        if not path.is_relative_to(home):
            stop(f"{path} lies outside the folder of {grid_file}, and would not be found on the cluster: put it there")
        target = folder / path.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def _on_head(cluster: ClusterFile, command: str) -> int:
    """Run a shell command on the head; its exit status."""
    return _ray(cluster, "exec", command)


def _ray(cluster: ClusterFile, verb: str, *words: str) -> int:
    """One of Ray's launcher commands on the file, from its folder: relative paths in it start there."""
    ray = shutil.which("ray", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}") or "ray"
    # The file says it as well; here for the commands that Ray itself adds.
    autoscaler = {"RAY_UP_enable_autoscaler_v2": "0"} if cluster.on_premises else {}
    command = [ray, verb, "--log-style", "pretty", str(cluster.path), *words]
    return _run(command, cwd=cluster.path.parent, env=os.environ | autoscaler).returncode


def _run(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(command, check=False, text=True, **options)
    except FileNotFoundError:
        _failed(f"this machine has no {command[0]}: install it")
        raise


def _failed(message: str) -> None:
    err.print(message, style="red", highlight=False, soft_wrap=True, markup=False)
    raise typer.Exit(1)


if __name__ == "__main__":
    app()
