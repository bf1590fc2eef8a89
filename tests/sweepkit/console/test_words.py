"""Exceptions and counts as a message shows them."""

import pytest

from sweepkit.console.words import counted, first_line, in_a_line, three_digits


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


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.003124, 3, "0.00312"),
        (1.2e-05, 3, "1.20e-05"),
        (0.9996, 3, "1.000"),
        (0.9996, 0, "1.00"),
        (0.00999999, 0, "0.0100"),
        (-0.25, 0, "-0.250"),
        (1938.4, 0, "1938"),
        (2.5e9, 0, "2.50e+09"),
        (0.0, 3, "0.000"),
        (float("inf"), 0, "inf"),
    ],
)
def test_a_measured_number_has_three_significant_digits(value, decimals, text):
    assert three_digits(value, decimals) == text and three_digits(abs(value), decimals, "+").startswith("+")
