"""Whether a machine may train for a driver: the same code, the same results."""

import re

import pytest

from orchestrator.code import code_facts
from orchestrator.ray.machine_check import misfit
from sweepkit.store.files import open_files


def test_a_machine_with_the_code_and_the_results_is_fit(results):
    open_files(results).write("seen", b"x")
    assert misfit(results, "seen", code_facts()) == ""


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [
        ("unseen", {}, "does not see .*: packs trained there would be lost"),
        ("seen", {"numpy": "0"}, "runs other code than this one: it has numpy .*, the driver 0"),
    ],
)
def test_what_does_not_fit_is_named(file, code, said, results):
    open_files(results).write("seen", b"x")
    assert re.search(said, misfit(results, file, code_facts() | code))


def test_a_lease_that_is_gone_for_a_moment_is_waited_for(results, monkeypatch):
    files = open_files(results)
    pauses = []

    def renewed_in_the_second(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            files.write("leases/a.json", b"{}")

    monkeypatch.setattr("orchestrator.ray.machine_check.time.sleep", renewed_in_the_second)
    assert misfit(results, "leases/a.json", code_facts(), patience_s=float("inf")) == ""
    assert len(pauses) == 2  # not to the end
