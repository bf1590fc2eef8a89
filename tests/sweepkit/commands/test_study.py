"""`sweep study run`: signals reach the sweep that it starts, and a sweep that trained nothing is not judged."""

import os
import signal

import pytest
import typer

from analysis.studies.loading import load
from sweepkit.commands import study


class Child:
    """A sweep that is interrupted, or ends with a code."""

    def __init__(self, code, number=None):
        self.code, self.number, self.sent, self.options = code, number, [], {}

    def __call__(self, words, **options):
        self.words, self.options = words, options
        return self

    def send_signal(self, number):
        self.sent.append(number)

    def wait(self):
        if self.number:
            os.kill(os.getpid(), self.number)
        return self.code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_this_process_alone_reaches_the_sweep_once(monkeypatch, number):
    child, one, before = Child(130, number), load("double_descent"), signal.getsignal(number)
    monkeypatch.setattr(study.subprocess, "Popen", child)
    with pytest.raises(typer.Exit) as left:
        study._train(one, one.grid_file("double_descent"), "results", False)
    assert (left.value.exit_code, child.sent, child.options["process_group"]) == (130, [number], 0)
    assert signal.getsignal(number) is before


def test_a_sweep_that_trained_nothing_is_not_judged(monkeypatch, tmp_path, capfd):
    child, one = Child(1), load("double_descent")
    monkeypatch.setattr(study.subprocess, "Popen", child)
    with pytest.raises(typer.Exit) as left:
        study._train(one, one.grid_file("double_descent"), str(tmp_path / "none"), True)
    assert left.value.exit_code == 1 and "nothing of double_descent was trained" in capfd.readouterr().err
    assert child.words[-1] == "--debug"
