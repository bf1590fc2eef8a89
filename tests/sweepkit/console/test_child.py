"""A process that is asked: frames of any bytes, its end and that of the one who asks, and what libraries print."""

import os
import signal
import subprocess
import sys

import pytest

from sweepkit import FOLDER
from sweepkit.console.child import Child
from tests.sweeps import has_ended, wait_for

ECHO = f"""if True:
    import sys
    sys.path.insert(0, {str(FOLDER)!r})
    from sweepkit.console.child import Asker
    asker = Asker(sys.argv[1])
    print("is no answer", sys.stdin.read())
    try:
        while True:
            asker.answer(asker.question() * 2)
    except EOFError:
        pass"""


@pytest.fixture
def child():
    made = Child(["-c", ECHO], stdout=subprocess.DEVNULL)
    yield made
    made.close()


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 10_000])
def test_a_frame_holds_any_bytes(child, data):
    for _ in range(2):
        child.ask(data)
        assert child.answer() == 2 * data


def test_one_that_has_ended_answers_no_more(child):
    child.process.send_signal(signal.SIGKILL)
    child.process.wait()
    with pytest.raises(EOFError):
        child.answer()
    with pytest.raises(BrokenPipeError):
        child.ask(b"x")
    assert child.close() == -signal.SIGKILL


def test_it_is_in_a_session_of_its_own_and_runs_the_packages_of_this_project(child):
    assert os.getsid(child.process.pid) == child.process.pid != os.getsid(0)
    assert os.readlink(f"/proc/{child.process.pid}/cwd") == str(FOLDER)


def test_it_ends_with_the_one_who_asks():
    code = f"from sweepkit.console.child import Child\nimport time\nchild = Child(['-c', {ECHO!r}])\nchild.ask(b'x')\n"
    code += "child.answer()\nprint('pid', child.process.pid, flush=True)\ntime.sleep(1e6)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=FOLDER) as asker:
        pid = next(int(line.split()[1]) for line in asker.stdout if line.startswith("pid "))
        asker.kill()
    wait_for(lambda: has_ended(pid))
