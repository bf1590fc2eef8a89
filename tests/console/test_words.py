"""Exceptions as a message shows them."""

import pytest

from console.words import first_line, in_a_line


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
