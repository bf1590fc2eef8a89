"""A user's view when Ctrl-C comes early, or when Ray does not start, dies or talks."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from tests.orchestrator.conftest import ROOT, sweep_command
from tests.sweeps import has_ended, wait_for


def _answers(process: subprocess.Popen[str], which: signal.Signals) -> bool:
    """Whether the process has a handler of its own for the signal by now."""
    caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{process.pid}/status").read_text())
    return bool(caught and int(caught[1], 16) >> (which - 1) & 1)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_while_it_starts(which, small_grid, start, results):
    process = start(small_grid)
    wait_for(lambda: process.poll() is not None or _answers(process, signal.SIGTERM))  # Python itself answers SIGINT, not this
    process.send_signal(which)
    out, _ = process.communicate()
    assert process.returncode == 130, out
    assert "interrupted; what was committed is kept" in out
    assert "Traceback" not in out


HANGS = """
import threading
from orchestrator.running.interrupts import ends_after
def reason(): {reason}
with ends_after(0, reason, 2, [lambda: print("given back", flush=True)]):
    threading.Event().wait()
"""


@pytest.mark.parametrize(
    ("reason", "said"), [("return 'the cause'", "the cause"), ("raise PermissionError('no right')", "no right")]
)
def test_what_hangs_ends_even_if_the_cause_cannot_be_looked_for(reason, said):
    done = subprocess.run(
        [sys.executable, "-c", HANGS.format(reason=reason)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stdout) == (2, "given back\n") and said in done.stderr, done.stderr


ANSWERS = """
import threading
from orchestrator.running.interrupts import ends_after
asked, go = threading.Event(), threading.Event()
def reason():
    asked.set()
    go.wait()
    return "too late"
with ends_after(0, reason):
    asked.wait()
go.set()
for timer in threading.enumerate():
    if isinstance(timer, threading.Timer):
        timer.join()
print("goes on")
"""


def test_what_answers_while_the_cause_is_looked_for_goes_on():
    done = subprocess.run([sys.executable, "-c", ANSWERS], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\n", "")


@pytest.mark.parametrize(("end", "said"), [("os._exit(1)", True), ("os.kill(os.getpid(), 9)", True), ("pass", False)])
def test_an_end_without_a_word_is_noticed(end, said):
    code = f"import os; from orchestrator.running.interrupts import ends_noticed\nwith ends_noticed(): {end}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )  # to the end of all
    assert ("the sweep ended unexpectedly" in done.stderr) == said
    assert "Traceback" not in done.stderr


INTERRUPTED_AMID = """
import os, signal, sys
from sweepkit.console.terminal import err
from orchestrator.running import interrupts
from orchestrator.running.library_output import words_apart

for s in interrupts.SIGNALS:
    signal.signal(s, interrupts.leave)
with words_apart(err):
    with interrupts.keeping_signals():
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))  # as `ray.init` does
        {inside}
    {afterwards}
"""


@pytest.mark.parametrize("which", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("when", ["inside", "afterwards"])
def test_interrupted_while_ray_starts(which, when):
    """Ray takes SIGTERM for itself then, and standard error is closed to all words but ours."""
    kill = f"os.kill(os.getpid(), signal.{which})"
    code = INTERRUPTED_AMID.format(**{"inside": "pass", "afterwards": "pass", when: kill})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted; what was committed is kept\n")


def test_under_nohup_a_closed_terminal_is_nothing():
    code = "from orchestrator.running import interrupts; import signal; print(signal.SIGHUP in interrupts.SIGNALS)"
    for before, heard in (("", "True"), ("nohup ", "False")):
        done = subprocess.run(
            f"{before}{sys.executable} -c '{code}'", shell=True, capture_output=True, text=True, cwd=ROOT, check=True
        )
        assert done.stdout.strip() == heard


def test_who_swallows_an_interrupt_does_not_keep_the_command_alive():
    code = """
import os, signal, threading
from orchestrator.running import interrupts
interrupts.LATEST_S = 0.5
signal.signal(signal.SIGINT, interrupts.leave)
try:
    os.kill(os.getpid(), signal.SIGINT)
except BaseException:
    threading.Event().wait()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted; what was committed is kept\n")


def test_an_import_leaves_signals_alone():
    # Not the default's: a shell starts what is to run in the background with SIGINT ignored.
    before = "import signal; before = signal.getsignal(signal.SIGINT); "
    asked = before + "import orchestrator.sweep; print(signal.getsignal(signal.SIGINT) is before)"
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, cwd=ROOT, check=True)
    assert said.stdout.strip() == "True"


def test_words_of_ray_reach_nobody(capfd):
    from orchestrator.running.library_output import words_apart

    console = Console(stderr=True)
    with words_apart(console):
        os.write(1, b"from C++\n")
        os.write(2, b"from C++\n")
        print("from Python")
        print("from Python", file=sys.stderr)
        console.print("ours")
    print("afterwards")
    console.print("ours too")
    said = capfd.readouterr()
    assert said.out == "afterwards\n"
    assert said.err == "ours\nours too\n"


def test_a_console_keeps_no_standard_error_that_was_replaced_for_a_while(capsys, monkeypatch):
    from orchestrator.running.library_output import words_apart

    console = Console(stderr=True)
    with monkeypatch.context() as replaced, open(os.devnull, "w") as another:
        replaced.setattr(sys, "stderr", another)
        with words_apart(console):
            pass
    console.print("heard")
    assert capsys.readouterr().err == "heard\n"


CLOSED_BESIDE_A_FROZEN_RAYLET = """
import os, signal, threading
import psutil
from orchestrator.ray import cluster
from orchestrator.running import interrupts

cluster.LATEST_S = {latest_s}
signal.signal(signal.SIGINT, interrupts.leave)
try:
    with cluster.joined(None):
        raylets = [p for p in psutil.Process().children(recursive=True) if p.name() == "raylet"]
        raylets[0].suspend()
        if {interrupted}:
            threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
    print("left", raylets[0].pid, flush=True)
except SystemExit as left:
    print("left", raylets[0].pid, left.code, flush=True)
os._exit(0)
"""


@pytest.mark.ray
@pytest.mark.parametrize(("latest_s", "interrupted", "said"), [(2, False, r"left (\d+)\n"), (600, True, r"left (\d+) 130\n")])
def test_a_node_process_that_hangs_at_the_end_holds_nobody(latest_s, interrupted, said):
    """`ray.shutdown` waits for it for ever, in code that hears no Ctrl-C."""
    code = CLOSED_BESIDE_A_FROZEN_RAYLET.format(latest_s=latest_s, interrupted=interrupted)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    found = re.fullmatch(said, done.stdout)
    assert found, done.stdout + done.stderr
    raylet = int(found[1])
    wait_for(lambda: has_ended(raylet))


SIGTERM_AFTER_RAY = """
import os, signal
from contextlib import ExitStack
from orchestrator.ray import cluster
from orchestrator.running import interrupts

for s in interrupts.SIGNALS:
    signal.signal(s, interrupts.leave)
with ExitStack() as ray:
    with interrupts.keeping_signals():
        ray.enter_context(cluster.joined(None))
os.kill(os.getpid(), signal.SIGTERM)
"""


@pytest.mark.ray
def test_a_sigterm_after_ray_is_heard():
    """Its closing gives SIGTERM back to the system, beneath Python."""
    done = subprocess.run([sys.executable, "-c", SIGTERM_AFTER_RAY], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 130 and "interrupted; what was committed is kept" in done.stderr, done.stderr


def test_a_head_that_is_silent_and_a_cluster_without_nodes():
    from orchestrator.ray.liveness import Watch

    watch = Watch(print, silent_s=30)
    watch._answered = watch._had_nodes = watch._looked = 100.0
    assert not any(watch.lost(now) for now in range(102, 130, 2))
    assert "head has not answered for 30 s" in watch.lost(131)
    watch._answered = 131.0
    assert "no living node" in watch.lost(131)


def test_a_sweep_that_was_stopped_itself_does_not_blame_the_head():
    """As by Ctrl-Z for a while; the head has as long as ever from then on."""
    from orchestrator.ray.liveness import Watch

    watch = Watch(print, silent_s=30)
    watch._answered = watch._had_nodes = watch._looked = 100.0
    assert not any(watch.lost(now) for now in range(500, 530, 2))
    assert "head has not answered for 30 s" in watch.lost(531)


@pytest.mark.ray
@pytest.mark.alone
def test_the_death_of_rays_head_is_said_and_leaves_nothing(tmp_path, results, monkeypatch):

    grid = tmp_path / "long.yaml"
    grid.write_text(
        "sweep: long\ndefaults: {steps: 200000, eval_every: 100000, width: 256}\n"
        "grids: [{task: same_different, L: 16, d: 64, sigma2: [0, 1], gamma: [1, 0.1], seed: {range: 6}}]\n"
    )
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="s", ignore_cleanup_errors=True) as scratch:
        monkeypatch.setenv("TMPDIR", scratch)  # Ray's socket names must stay short
        err = tmp_path / "err"
        with err.open("w") as to_err:
            process = subprocess.Popen([*sweep_command(grid), "--results", results], cwd=ROOT, stdout=to_err, stderr=to_err)
        wait_for(lambda: any(Path(scratch).glob("sweep-*/sweep-*")), process, err)  # Tune has begun
        (head,) = [p for p in psutil.Process(process.pid).children() if p.name() == "gcs_server"]
        head.kill()
        assert process.wait() == 1, err.read_text()
        said = err.read_text()
        assert "the sweep could not go on: Ray's head has not answered for 30 s" in said
        assert "Traceback" not in said and "rpc_client" not in said
        assert not list(Path(scratch).glob("sweep-*"))
        assert not list(Path(results, "leases").iterdir())
