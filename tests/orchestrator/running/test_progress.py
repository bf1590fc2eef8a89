"""The line of progress: what a person reads before, while and after networks train."""

from dataclasses import replace

from orchestrator.running.progress import Snapshot

STATE = Snapshot(
    done=0, total=4, failed=0, diverged=0, fraction=0, elapsed_s=3, remaining_s=60, draining=False, last=(), has_trained=False
)


def test_before_anything_is_trained_the_line_says_so_and_has_no_rate() -> None:
    assert STATE.line() == "0/4 cells, loading libraries, compiling what is new here, elapsed 3 s"


def test_then_it_has_the_rate() -> None:
    line = replace(STATE, done=2, failed=1, has_trained=True, elapsed_s=4, draining=True).line()
    assert line == "2/4 cells, 1 failed, 0.5 cells/s, draining, about 1 min 00 s to go, elapsed 4 s"
