"""Background work of the pages while a sweep runs: no state of the store is forgotten, and what is not known yet is said."""

import threading

from analysis.claims.check import load_claims
from analysis.claims.following import Following
from app import headlines, leading
from app.leading import Looking

WAIT_S = 300
"""The process that checks claims gives way to all others, so it may take minutes; no test waits longer than it must."""


def test_a_state_that_comes_during_a_question_is_asked_for_at_once(monkeypatch):
    asked, go_on = threading.Event(), threading.Event()
    answers = iter([{}, {"mine": frozenset({"curves"})}])

    def showing(results):
        answer = next(answers)
        asked.set()
        assert go_on.wait(30)
        return answer

    monkeypatch.setattr(leading, "showing", showing)
    looking = Looking("results")
    looking.look("early", wait_s=0)
    assert asked.wait(30)
    looking.look("late", wait_s=0)  # the store rests from here on: no later look brings a new state
    go_on.set()
    assert looking.look("late", wait_s=30) == {"mine": frozenset({"curves"})}
    assert looking.n_changes == 2  # open pages run again


def test_a_check_that_had_to_wait_starts_without_a_new_look(tmp_path):
    (simulated,) = [claim for claim in load_claims() if claim.id == "L2-exception"]
    found = Following(str(tmp_path), [simulated], pause_s=3600)
    found.look("early", wait_s=WAIT_S)
    assert found.running.result(WAIT_S) is None
    found.look("late")
    assert found.token == "early"  # within the pause
    found.resume()
    assert found.token == "early"
    found.pause_s = 0
    found.resume()
    assert found.token == "late" and found.running.result(WAIT_S) is None and found.waiting is None


def test_verdicts_that_are_not_known_yet_are_not_called_none(monkeypatch, tmp_path):
    found = Following(str(tmp_path), [])
    monkeypatch.setattr(headlines, "following", lambda results: found)
    assert headlines.checked(str(tmp_path), may_start=False)[1] == "the newest networks are judged once no network is in training"
    headlines.checked(str(tmp_path), may_start=True)
    assert headlines.checked(str(tmp_path), may_start=True)[1] == ""
