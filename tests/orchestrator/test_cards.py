"""The cards of a machine as its driver tells them: whatever it says, a sweep goes on and says why it sees none."""

import pytest

from orchestrator import cards


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """A driver whose tool runs this script."""

    def install(script: str, allowed: str | None = None) -> None:
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        if allowed is not None:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", allowed)
        cards._asked.cache_clear()

    yield install
    cards._asked.cache_clear()


TWO = 'printf "0, GPU-aa1, NVIDIA H200, 143771\\n1, GPU-bb2, NVIDIA L4, [N/A]\\n"'


@pytest.mark.parametrize(
    ("allowed", "names"),
    [(None, ["NVIDIA H200", "NVIDIA L4"]), ("1", ["NVIDIA L4"]), ("GPU-aa", ["NVIDIA H200"]), ("", []), ("-1", []), ("7", [])],
)
def test_the_cards_that_this_process_may_use(driver, allowed, names):
    driver(TWO, allowed)
    assert [card.name for card in cards.cards_here()] == names and not cards.why_no_card()
    if "NVIDIA H200" in names:
        assert cards.cards_here()[0].bytes == 143771 * 2**20


@pytest.mark.parametrize(("script", "words"), [
    ("echo NVIDIA-SMI has failed because it could not communicate with the driver >&2; exit 9", "could not communicate"),
    ("exit 3", "exit code 3"), ("sleep 9", "does not answer within"), ('printf "blah, \\377\\376"', "names no GPU"),
    ("echo NVIDIA H200, 143771 MiB", "names no GPU: NVIDIA H200"),
])  # fmt: skip
def test_a_driver_that_fails_is_told(driver, monkeypatch, script, words):
    monkeypatch.setattr(cards, "ASK_S", 0.5)
    driver(script)
    assert cards.cards_here() == () and words in cards.why_no_card()


def test_without_a_driver_there_is_nothing_to_tell(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    cards._asked.cache_clear()
    assert (cards.cards_here(), cards.why_no_card()) == ((), "")
    cards._asked.cache_clear()
