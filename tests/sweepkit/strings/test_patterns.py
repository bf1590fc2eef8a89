import pytest

from sweepkit.strings.patterns import numbered, parsed, regular, spelled, wildcards


@pytest.mark.parametrize(
    ("text", "pattern"), [("aba", (0, 1, 0)), ("bab", (0, 1, 0)), ("aXb", (0, "X", 1)), ("X=a;", ("X", "=", 0, ";"))]
)
def test_letters_are_wildcards_in_the_order_of_their_appearance(text, pattern):
    assert parsed(text) == pattern


def test_it_is_spelled_as_it_is_parsed():
    assert spelled(parsed("aXbYa")) == "aXbYa"
    assert spelled(numbered((7, "X", 3, 7))) == "aXba"


def test_wildcards_and_regular_tokens():
    patterns = [parsed("abXca"), parsed("YabX")]
    assert [wildcards(p) for p in patterns] == [[0, 1, 2], [0, 1]]
    assert regular(patterns) == ["X", "Y"]
