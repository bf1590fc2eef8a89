"""Makes other people's text safe for a terminal: a reason or a file's name may clear the screen, move the cursor or set the
title."""

_KEPT = "\n\t\u00a0\u200d\ufe0f"
"""Characters that Python does not count as printable and that are harmless: line ends, tabs, fixed spaces, and joiners of
emoji."""


def printable(text: str) -> str:
    """The text with unsafe characters escaped as in `\\x1b`: controls, marks that turn the direction of writing, bytes that are
    no text."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else c.encode("unicode_escape").decode() for c in text)
