"""Safe printing of other people's text: a reason or a file's name may clear the screen, move the cursor or set the title."""

_KEPT = "\n\t\u00a0\u200d\ufe0f"
"""Characters that Python does not call printable, but that are harmless: line ends, tabs, fixed spaces, joiners of emoji."""


def printable(text: str) -> str:
    """The text with escapes such as `\\x1b` in place of control characters, of marks that turn the direction of writing, and of
    bytes that are no text."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else c.encode("unicode_escape").decode() for c in text)
