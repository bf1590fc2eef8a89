"""A command that computes theory says how far it is, also where there is no terminal for a progress bar."""

import threading

from analysis.overlays import waiting
from analysis.overlays.overlays import Later


def test_a_long_point_is_reported_while_it_is_computed(monkeypatch):
    said, reported = [], threading.Event()

    def told(text):
        said.append(text)
        if "of 2 points computed" in text:
            reported.set()

    def slow():
        assert reported.wait(30)
        return 0.5

    monkeypatch.setattr(waiting, "told", told)
    monkeypatch.setattr(waiting, "EVERY_S", 0.01)
    waiting.computed([Later("a", lambda: 0.5), Later("b", slow)])
    assert said[0].startswith("computing theory of 2 points")
    assert any(line.startswith("theory of 1 of 2 points computed, 0 s") for line in said)


def test_nothing_more_is_said_once_it_is_computed(monkeypatch):
    said = []
    monkeypatch.setattr(waiting, "told", said.append)
    waiting.computed([Later("a", lambda: 0.5)])
    assert len(said) == 1
