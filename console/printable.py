"""Text of others on a terminal: a reason or a file's name may hold what clears the screen, moves the cursor or sets the title."""

_KEPT = "\n\t\u00a0\u200d\ufe0f"
"""Characters that are not printable by Python's count, and harmless: line ends, and what joins emoji."""


def printable(text: str) -> str:
    """The text with control characters, marks that turn the direction of writing and bytes that are no text as `\\x1b`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else c.encode("unicode_escape").decode() for c in text)
