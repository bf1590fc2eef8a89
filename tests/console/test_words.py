"""Exceptions and counts as a message shows them."""

import pytest

from console.words import counted, first_line, in_a_line


class Mute(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "first", "whole"),
    [
        (KeyError("x"), "'x'", "KeyError: 'x'"),
        (ValueError("one\ntwo"), "one", "ValueError: one"),
        (ValueError("\n one\r\ntwo"), "one", "ValueError: one"),
        (SystemExit(), "SystemExit", "SystemExit"),
        (ValueError(" \n"), "ValueError", "ValueError"),
        (Mute(), "Mute", "Mute"),
        (ValueError("a" * 600), "a" * 500, f"ValueError: {'a' * 488}"),
    ],
)
def test_an_exception_is_told_in_a_line(error, first, whole):
    assert first_line(error) == first and in_a_line(error) == whole


@pytest.mark.parametrize(
    ("n", "nouns", "text"),
    [
        (0, ("seed",), "0 seeds"),
        (1, ("seed",), "1 seed"),
        (1188, ("seed",), "1,188 seeds"),
        (2, ("line that spans", "lines that span"), "2 lines that span"),
    ],
)
def test_a_noun_agrees_with_its_number(n, nouns, text):
    assert counted(n, *nouns) == text
