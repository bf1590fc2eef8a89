"""Background work of the pages while a sweep runs: no state of the store is forgotten, and what is not known yet is said."""

import threading

from analysis.claims import background_check, verdict_cache
from analysis.claims.background_check import Following
from analysis.claims.board import likely_first
from analysis.claims.check import load_claims
from analysis.claims.verdict import Checked, NotMeasured
from app import pages_with_data
from app.pages_with_data import Looking
from app.parts import headlines


def test_a_state_that_comes_during_a_question_is_asked_for_at_once(monkeypatch):
    asked, go_on = threading.Event(), threading.Event()
    answers = iter([{}, {"mine": frozenset({"curves"})}])

    def showing(results):
        answer = next(answers)
        asked.set()
        assert go_on.wait()
        return answer

    monkeypatch.setattr(pages_with_data, "showing", showing)
    looking = Looking("results")
    looking.look("early", wait_s=0)
    assert asked.wait()
    looking.look("late", wait_s=0)  # the store rests from here on: no later look brings a new state
    go_on.set()
    assert looking.look("late", wait_s=None) == {"mine": frozenset({"curves"})}
    assert looking.n_changes == 2  # open pages run again


def test_a_check_that_had_to_wait_starts_without_a_new_look(tmp_path):
    (simulated,) = [claim for claim in load_claims() if claim.id == "L2-exception"]
    found = Following(str(tmp_path), [simulated], pause_s=3600)
    found.look("early", wait_s=None)
    assert found.running.result() is None
    found.look("late")
    assert found.token == "early"  # within the pause
    found.resume()
    assert found.token == "early"
    found.pause_s = 0
    found.resume()
    assert found.token == "late" and found.running.result() is None and found.waiting is None


def test_verdicts_that_are_not_known_yet_are_not_called_none(monkeypatch, tmp_path):
    found = Following(str(tmp_path), [])
    monkeypatch.setattr(headlines, "following", lambda results: found)
    assert headlines.checked(str(tmp_path), may_start=False)[1] == "the newest networks are judged once no network is in training"
    headlines.checked(str(tmp_path), may_start=True)
    assert headlines.checked(str(tmp_path), may_start=True)[1] == ""


def test_a_server_that_starts_anew_shows_the_verdicts_of_the_last_one_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    results = str(tmp_path / "results")
    claims = load_claims()[:3]
    verdicts = [Checked(claim, "open", NotMeasured("none"), "none") for claim in claims]
    monkeypatch.setattr(background_check, "load_claims", lambda: claims)
    first = Following(results)
    asked, looked = [], threading.Event()

    def compute(work):
        assert looked.wait()
        if work.func is likely_first:
            return claims
        asked.append(work.args[1][0].id)
        return [one for one in verdicts if one.claim.id == asked[-1]]

    monkeypatch.setattr(first.apart, "compute", compute)
    assert first.look("now", wait_s=0).checked == []
    looked.set()
    assert first.running.result() is None
    again = Following(results)
    monkeypatch.setattr(again.apart, "compute", compute)
    assert again.look("now") == (verdicts, 0, None) and again.running is None and len(asked) == 3
    assert again.look("later").checked == verdicts  # while they are checked anew
    assert again.running.result() is None and len(asked) == 6
    assert Following(str(tmp_path / "other")).known == {}
    monkeypatch.setattr(verdict_cache, "CODE", "edited")
    assert Following(results).known == {}


def test_a_server_that_ends_amid_a_check_is_gone_on_from(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(background_check, "KEEP_S", 0.0)
    verdicts = {claim.id: Checked(claim, "open", NotMeasured("none"), "none") for claim in load_claims()[:4]}
    asked, dies = [], [3]

    def compute(work):
        if work.func is likely_first:
            return [claim for claim in work.args[1] if claim.id in verdicts]
        if len(asked) == dies[0]:
            raise RuntimeError("killed")
        asked.append(work.args[1][0].id)
        return [verdicts[asked[-1]]]

    def started():
        one = Following("results")
        monkeypatch.setattr(one.apart, "compute", compute)
        return one

    first = started()
    first.look("now")
    assert str(first.running.exception()) == "killed" and len(asked) == 3
    dies[0] = 9
    again = started()
    assert len(again.known) == 3
    again.look("now")
    assert again.running.result() is None and sorted(asked) == sorted(verdicts)  # the last one alone
    other = started()
    other.look("later")
    assert other.running.result() is None and len(asked) == 8


def test_torn_verdicts_are_checked_anew(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    claims = load_claims()[:2]
    one = Checked(claims[0], "open", NotMeasured("none"), "none")
    verdict_cache.remember("results", "now", {one.claim.id: one})
    assert verdict_cache.recall("results", claims) == ("now", {one.claim.id: one}, {claims[1].id})
    (file,) = (tmp_path / "sweep-orchestrator" / "verdicts").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert verdict_cache.recall("results", claims) == (None, {}, frozenset())
