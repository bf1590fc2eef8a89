"""`python -m orchestrator.launch up|submit|status|down CLUSTER.yaml`: start, use and stop a cluster with Ray's launcher."""

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
from typing import Annotated, Any, NoReturn

import typer

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from orchestrator.ray.cluster_file import CODE, TOKEN, ClusterFile, ClusterFileError, load_cluster_file, uncommitted
from orchestrator.secret import write_secret
from sweepkit.console.commands import command as command_line
from sweepkit.console.commands import joined
from sweepkit.console.exit_codes import INTERRUPTED
from sweepkit.console.streams import run_and_leave
from sweepkit.console.terminal import stop, told
from sweepkit.extras import require
from sweepkit.shipped import page

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)

File = Annotated[str, typer.Argument(metavar="CLUSTER.yaml", help=f"The cluster file: see {page('howto/clusters.md')}.")]
JOIN_S = 1800
"""Seconds that workers may take to install the project and join."""
PYTHON = f"cd {CODE} && RAY_AUTH_MODE=token .venv/bin/python"
SUBMITTED = "submitted"
"""Folder in the head's HOME with the submitted grids and their logs."""


@app.command()
def up(file: File, join_s: Annotated[int, typer.Option(help="Seconds that workers may take to join.")] = JOIN_S) -> None:
    """Start the cluster, or bring a running cluster to this file and this commit. Its machines install the project first."""
    cluster = _checked(file)
    _make_token()
    if (differ := uncommitted(cluster.path.parent)) is None:
        told(f"warning: git does not say whether files in {cluster.path.parent} differ from the commit that the cluster gets")
    elif differ:
        told(f"not committed, so not on the cluster: {', '.join(differ[:5])}{' ...' if len(differ) > 5 else ''}")
    if cluster.on_premises:
        _forget_earlier(cluster)
    if _ray(cluster, "up", "-y"):
        _failed(f"the head of {cluster.name} did not start: see above")
    if cluster.on_premises:
        _greet_workers(cluster)
    told(f"waiting for {cluster.at_least} machines ...")
    if _on_head(cluster, f"{PYTHON} -m orchestrator.nodes auto {cluster.at_least} --seconds {join_s}"):
        log = "tail -n 100 /tmp/ray/session_latest/logs/monitor.out"
        _failed(f"not all machines joined; the reason stands at the end of this log: {_by_hand(cluster, file, log)}")
    told(f"{cluster.name} is up. A sweep on it: {command_line('launch', 'submit', file, 'grid.yaml', '--results', 'DIR_OR_URI')}")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def submit(
    context: typer.Context,
    file: File,
    grid_file: Annotated[str, typer.Argument(metavar="GRID.yaml", help="The experiment; it is copied to the head.")],
    results: Annotated[
        str, typer.Option(metavar="DIR_OR_URI", help="The store: a directory that all machines share, or a bucket.")
    ],
    detach: Annotated[
        bool, typer.Option("--detach", help="Do not wait; the sweep writes its messages to a log on the head.")
    ] = False,
) -> None:
    """Run a sweep on the cluster's head. Further arguments (gamma=0.1 --limit 10 ...) are those of a sweep."""
    cluster = _checked(file)
    try:
        grid = load_grid(grid_file, [word for word in context.args if "=" in word and not word.startswith("-")])
    except GridError as error:
        stop(str(error))
    if "://" not in results and not Path(results).is_absolute():
        stop(f"--results {results}: on a cluster give the whole path of a directory that all machines share, or a bucket")
    place = f"~/{SUBMITTED}/" + re.sub(r"[^A-Za-z0-9_-]+", "_", grid.sweep)
    path = grid.source.file if grid.source else Path(grid_file)  # which may be the name of a grid of the project
    with tempfile.TemporaryDirectory(prefix="submit-") as made:
        _gather(path, [Path(user_file.path) for user_file in grid.user_files], Path(made))
        _expect_up(cluster, file)
        if not _copied_to_head(cluster, made, place):
            _failed(f"the grid could not be copied to the head of {cluster.name}: see above")
    words = shlex.join([path.name, *context.args, "--results", results, "--address", "auto"])
    run = f"{PYTHON} -m orchestrator.sweep {place}/{words}"
    if detach:
        told(f"its messages: {_by_hand(cluster, file, f'tail -f {place}.log')}")
        # In a session of its own, so that it goes on after this login ends.
        run = f"(setsid nohup bash -c {shlex.quote(run)} > {place}.log 2>&1 < /dev/null &)"
    raise typer.Exit(_on_head(cluster, run))


@app.command()
def status(
    file: File, results: Annotated[str | None, typer.Option(metavar="DIR_OR_URI", help="Also show this store.")] = None
) -> None:
    """Show the machines of the cluster, and with --results the contents of a store."""
    cluster = _checked(file)
    _expect_up(cluster, file)
    command = f"{PYTHON} -m orchestrator.nodes"
    if results:
        command += f" && .venv/bin/python -m orchestrator.store status --results {shlex.quote(results)}"
    raise typer.Exit(_on_head(cluster, command))


@app.command()
def down(file: File) -> None:
    """Stop the cluster and give rented machines back. The next sweep trains the cells that are not in the results by then."""
    cluster = _checked(file)
    if cluster.on_premises:
        if left := _stop_given_machines(cluster):
            _failed(f"could not log in to {', '.join(left)}: Ray ends there by itself within minutes, or at once by `ray stop`")
    elif _ray(cluster, "down", "-y"):
        _failed("ray down failed: see above; machines may still cost money")
    told(f"{cluster.name} is down")


def _checked(file: str) -> ClusterFile:
    require("train")
    try:
        return load_cluster_file(file)
    except ClusterFileError as error:
        stop(str(error))


def _make_token() -> None:
    """Make the token file, readable by its owner alone; an existing token is kept."""
    try:
        path = Path(TOKEN).expanduser()
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.parent.chmod(0o700)
        made = write_secret(path, secrets.token_hex(32))
        path.chmod(0o600)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        why = error.strerror if isinstance(error, OSError) else error
        _failed(f"the clusters' token cannot be kept in {TOKEN}: {why}; let HOME name a directory of yours")
    if made:
        told(f"made {path}: anyone who has this file can run code on your clusters")


def _forget_earlier(cluster: ClusterFile) -> None:
    """Check that the head can be logged in to, and delete Ray's state file of an earlier cluster of this name, there and here.

    From that file, Ray would conclude that workers still run, although they were stopped long ago.
    """
    if fault := _fault(cluster.ssh(cluster.head, f"rm -f {shlex.quote(_state_file(cluster))}")):
        _failed(f"cannot log in to the head, {cluster.config['auth']['ssh_user']}@{cluster.head}: {fault}")
    Path(_state_file(cluster)).unlink(missing_ok=True)


def _greet_workers(cluster: ClusterFile) -> None:
    """Check that the head can log in to the workers. Ray itself would try for ever, and report the failure only in
    a log on the head."""
    faults = {worker: _fault(_from_head(cluster, worker, "true")) for worker in cluster.workers}
    if told_of := [f"{worker}: {fault}" for worker, fault in faults.items() if fault]:
        _failed(
            f"the head is up, but cannot log in to {'; '.join(told_of)}. Once such a machine answers, it joins within a "
            f"minute; to do without it, remove it from {cluster.path.name} and call `up` again"
        )


def _from_head(cluster: ClusterFile, worker: str, command: str) -> list[str]:
    """The arguments that run a shell command on a worker, by way of the head, with the key that Ray has put there."""
    hop = shlex.join(cluster.ssh(worker, command, key="KEY")).replace("KEY", "~/ray_bootstrap_key.pem")
    return cluster.ssh(cluster.head, hop)


def _stop_given_machines(cluster: ClusterFile) -> list[str]:
    """Run `ray stop` on all machines and return those that could not be reached. The head stops first: it would restart workers.

    Ray's own `down` stops only the head. Workers are stopped by way of the head, as this machine may not reach them; if that
    fails, from here.
    """
    ray = f"{CODE}/.venv/bin/ray"
    # A machine that `up` did not reach has no `ray`.
    leave = f"rm -f {shlex.quote(_state_file(cluster))}; ! test -x {ray} || {ray} stop --grace-period 20 >/dev/null"
    left = []
    if _fault(cluster.ssh(cluster.head, leave)):
        left.append(cluster.head)
    for worker in cluster.workers:
        if (cluster.head in left or _fault(_from_head(cluster, worker, leave))) and _fault(cluster.ssh(worker, leave)):
            left.append(worker)
    Path(_state_file(cluster)).unlink(missing_ok=True)
    return left


def _state_file(cluster: ClusterFile) -> str:
    """The file in which Ray notes, on this machine and on the head, which of the cluster's machines run."""
    return f"/tmp/ray/cluster-{cluster.name}.state"


def _gather(grid_file: Path, user_files: Sequence[Path], folder: Path) -> None:
    """Copy the grid and its user files into a folder, with the same paths relative to each other."""
    home = grid_file.absolute().parent
    for path in (grid_file.absolute(), *(user_file.absolute() for user_file in user_files)):
        if not path.is_relative_to(home):
            stop(f"{path} lies outside the folder of {grid_file}, so the cluster would not find it: move it into that folder")
        target = folder / path.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def _expect_up(cluster: ClusterFile, file: str) -> None:
    """End the command with exit code 2 if there is no head, or, on given machines, if the project is not installed there."""
    ready = f"test -x {CODE}/.venv/bin/python"
    words = cluster.ssh(cluster.head, ready) if cluster.on_premises else [_ray_program(), "get-head-ip", str(cluster.path)]
    if fault := _fault(words):
        stop(f"{cluster.name} is not up ({fault}). First: {command_line('launch', 'up', file)}")


def _on_head(cluster: ClusterFile, command: str) -> int:
    """Run a shell command on the head; return its exit status."""
    if not sys.stdout.isatty():  # `ssh` makes a terminal there in any case, so that the command ends with the connection
        command = f"export TTY_COMPATIBLE=0; {command}"
    if not cluster.on_premises:
        return _ray(cluster, "exec", command)
    # `ray exec` would need the state file that the start wrote. The shell is started as Ray starts it, to have the exports of
    # ~/.bashrc.
    return _run(cluster.ssh(cluster.head, f"bash --login -i -c {shlex.quote(command)}", terminal=True)).returncode


def _by_hand(cluster: ClusterFile, file: str, command: str) -> str:
    """The command line by which a person runs the shell command on the head."""
    if not cluster.on_premises:
        return joined(["ray", "exec", file, command])
    key = os.path.expanduser(cluster.config["auth"]["ssh_private_key"])
    return joined(["ssh", "-i", key, f"{cluster.config['auth']['ssh_user']}@{cluster.head}", command])


def _copied_to_head(cluster: ClusterFile, folder: str, place: str) -> bool:
    """Copy the content of a folder into a folder on the head; return whether that worked."""
    if _on_head(cluster, f"mkdir -p {place}"):
        return False
    if cluster.on_premises:
        return _run(cluster.rsync(f"{folder}/", cluster.head, f"{place}/")).returncode == 0
    return _ray(cluster, "rsync-up", f"{folder}/", f"{place}/") == 0


def _fault(words: Sequence[str]) -> str:
    """Run a command without output. Return its last line if it failed, and an empty text if it did not."""
    done = _run(words, capture_output=True)
    said = (done.stderr or done.stdout).strip().splitlines()
    return (said[-1] if said else f"{words[0]} ended with {done.returncode}") if done.returncode else ""


def _ray(cluster: ClusterFile, verb: str, *words: str) -> int:
    """Run one of Ray's launcher commands on the cluster file; return its exit status.

    It runs in the file's folder, where relative paths in the file start.
    """
    # The cluster file chooses the older autoscaler for its own commands; this chooses it for the commands that Ray adds.
    autoscaler = {"RAY_UP_enable_autoscaler_v2": "0"} if cluster.on_premises else {}
    command = [_ray_program(), verb, "--log-style", "pretty", str(cluster.path), *words]
    return _run(command, cwd=cluster.path.parent, env=os.environ | autoscaler).returncode


def _ray_program() -> str:
    """The path of `ray`: beside this Python if it is there, else from PATH."""
    return shutil.which("ray", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}") or "ray"


def _run(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(command, check=False, text=True, **options)
    except FileNotFoundError:
        _failed(f"this machine has no {command[0]}: install it")
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


def _failed(message: str) -> NoReturn:
    stop(message, 1)


if __name__ == "__main__":
    run_and_leave(app)
