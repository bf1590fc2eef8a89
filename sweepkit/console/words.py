"""Values, names and choices as a message shows them to a person."""

import difflib
import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from pydantic import ValidationError


def show(value: Any) -> str:
    """A value as a message quotes it: short, on one line, printable on every terminal."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case list():
            return "a list" if value else "an empty list"
        case dict():
            text = f"{{{', '.join(f'{key}: {show(one)}' for key, one in value.items())}}}"
            return text if len(text) <= 60 and text.isascii() and text.isprintable() else "a mapping"
        case float():
            return f"{value:.6g}"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text)} characters)"


def nearest(word: Any, options: Iterable[str]) -> str:
    """`; did you mean 'width'?` where an option is spelled much like the word, else nothing."""
    if not isinstance(word, str):
        return ""
    by_lower = {option.lower(): option for option in options}
    found = difflib.get_close_matches(word.lower()[:100], by_lower, n=1, cutoff=0.6)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""


IN_PART = "not its whole grid was asked for, but what --only, --limit or values on the command line chose"
"""Words for a sweep whose grid was never asked for as a whole."""


def listed(options: Iterable[str], most: int | None = None) -> str:
    """`a, b, c`, or `none`; of more than `most` the first ones, `a, b and 7 more`."""
    every = list(options)
    if most is not None and len(every) > most:
        return f"{', '.join(every[:most])} and {len(every) - most} more"
    return ", ".join(every) or "none"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Words such as `1 seed` or `1,188 seeds`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def capital(text: str) -> str:
    """The text with its first letter as at the start of a sentence."""
    return text[:1].upper() + text[1:]


def pydantic_reason(error: ValidationError) -> str:
    """pydantic's message in one line, without its web addresses."""
    return "; ".join(
        ": ".join([*(str(part) for part in e["loc"]), e["msg"].removeprefix("Value error, ")])
        for e in error.errors(include_url=False, include_context=False, include_input=False)
    )


def first_line(error: BaseException) -> str:
    """The first line that an exception says, else the name of its type. Works even if the exception's own `str` fails."""
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # noqa: BLE001 - the __str__ of a user's exception may fail as well
        lines = []
    return lines[0][:500] if lines else type(error).__name__


def in_a_line(error: BaseException) -> str:
    """The first line of an exception with the name of its type: `KeyError: 'x'`."""
    name, said = type(error).__name__, first_line(error)
    return name if said == name else f"{name}: {said}"[:500]


def shown(value: Any) -> str:
    """A value for a person: whole numbers whole, others to six digits."""
    return str(value) if not isinstance(value, Real) or isinstance(value, Integral | bool) else f"{value:.6g}"


def three_digits(value: float, decimals: int = 0, sign: str = "") -> str:
    """A measured number of a table: `0.00312`, `1.20e-05`, `1938`: three significant digits, and at least these decimals.

    `sign`: "+" shows the sign of a positive number, too.
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:{sign}.{decimals}f}"
    exponent = int(f"{abs(value):.2e}".partition("e")[2])  # of the rounded number: 0.9999 is 1.00
    if -5 < exponent < 6:
        return f"{value:{sign}.{max(decimals, 2 - exponent)}f}"
    return f"{value:{sign}.2e}"


def duration(seconds: float) -> str:
    """`8 s`, `3 min 20 s`, `2 h 05 min`, `3 d 4 h`."""
    s = round(seconds)
    if s < 60:
        return f"{s} s"
    if s < 3600:
        return f"{s // 60} min {s % 60:02d} s"
    if s < 86400:
        return f"{s // 3600} h {s % 3600 // 60:02d} min"
    return f"{s // 86400} d {s % 86400 // 3600} h"
