"""Work in a process of its own: answers, errors, deaths, and its end with the one who asked."""

import math
import os
import signal
import subprocess
import sys
from functools import partial
from operator import truediv
from pathlib import Path

import pytest

from analysis.background import NICE, ONE_THREAD, TRIES, Background, BackgroundError
from tests.sweeps import wait_for


@pytest.fixture
def apart():
    found = Background()
    yield found
    found.close()


def test_answers_come_from_another_process_of_low_priority_with_one_thread(apart):
    pid = apart.compute(os.getpid)
    assert pid != os.getpid() and apart.compute(os.getpid) == pid
    assert apart.compute(partial(os.getpriority, os.PRIO_PROCESS, 0)) == min(os.getpriority(os.PRIO_PROCESS, 0) + NICE, 19)
    if (session := Path(f"/proc/{pid}/autogroup")).exists():
        assert session.read_text().endswith(f"nice {NICE}\n")
    assert {name: apart.compute(partial(os.getenv, name)) for name in ONE_THREAD} == ONE_THREAD
    apart.compute(partial(print, "is no answer"))
    assert apart.compute(partial(math.sqrt, 4)) == 2


def test_it_works_in_the_folder_of_the_one_who_asks(apart, tmp_path, monkeypatch):
    (tmp_path / "analysis.py").write_text("raise SystemExit('a file of the user')")
    monkeypatch.chdir(tmp_path)
    assert apart.compute(os.getcwd) == str(tmp_path)
    assert apart.compute(partial(os.path.isfile, "analysis.py"))


def test_work_that_somebody_waits_for_has_the_usual_priority():
    awaited = Background(is_awaited=True)
    assert awaited.compute(partial(os.getpriority, os.PRIO_PROCESS, 0)) == os.getpriority(os.PRIO_PROCESS, 0)
    awaited.close()


def test_errors_come_back_in_words_and_the_next_work_is_done(apart):
    with pytest.raises(BackgroundError, match="ZeroDivisionError: "):
        apart.compute(partial(truediv, 1, 0))
    with pytest.raises(BackgroundError, match="pickle"):
        apart.compute(partial(open, os.devnull))  # its result cannot come back
    assert apart.compute(partial(math.sqrt, 4)) == 2


def test_a_process_that_dies_is_started_again_and_one_that_always_dies_is_told(apart):
    pid = apart.compute(os.getpid)
    os.kill(pid, signal.SIGKILL)
    assert apart.compute(partial(math.sqrt, 9)) == 3
    with pytest.raises(BackgroundError, match=f"ended {TRIES} times before it was done, with status 3"):
        apart.compute(partial(os._exit, 3))
    assert apart.compute(partial(math.sqrt, 4)) == 2


def test_it_ends_with_the_one_who_asked_even_amid_work(tmp_path):
    code = (
        "import os, time, threading\nfrom functools import partial\nfrom analysis.background import Background\n"
        "apart = Background()\nprint(apart.compute(os.getpid), flush=True)\n"
        "threading.Thread(target=apart.compute, args=(partial(time.sleep, 1e6),), daemon=True).start()\ntime.sleep(1e6)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as asker:
        pid = int(asker.stdout.readline())
        asker.kill()
    wait_for(lambda: not _lives(pid))


def _lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
