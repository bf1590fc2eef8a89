"""A command that computes theory says how far it is, also where there is no terminal for a progress bar."""

import threading

from analysis.overlays import waiting
from analysis.overlays.overlays import Later
from sweepkit.console import terminal


def test_a_long_point_is_reported_while_it_is_computed(monkeypatch):
    said, reported = [], threading.Event()

    def told(text):
        said.append(text)
        if ": 1 of 2" in text:
            reported.set()

    def slow():
        assert reported.wait(30)
        return 0.5

    monkeypatch.setattr(terminal, "told", told)
    monkeypatch.setattr(terminal, "EVERY_S", 0.01)
    waiting.computed([Later("a", lambda: 0.5), Later("b", slow)])
    words = "theory of 2 points, which is kept on disk (--no-wait leaves it out)"
    assert said[0] == f"{words} ..." and f"{words}: 1 of 2, 0 s" in said


def test_nothing_more_is_said_once_it_is_computed(monkeypatch):
    said = []
    monkeypatch.setattr(terminal, "told", said.append)
    waiting.computed([Later("a", lambda: 0.5)])
    assert said == ["theory of 1 point, which is kept on disk (--no-wait leaves it out) ..."]


def test_a_single_point_that_is_left_out_is_one_point(monkeypatch):
    said = []
    monkeypatch.setattr(waiting, "told", said.append)
    waiting.left_out([Later("a", lambda: 0.5)])
    waiting.computed_within(-1)([Later("a", lambda: 0.5)])
    assert said[0] == "the theory of 1 point is not computed yet and left out"
    assert said[1].startswith("theory of 1 point is left out, as it takes longer than ")
