"""Other people's text where it is shown: literal on a page of Markdown or HTML, and harmless on a terminal."""

import re
from html import escape

_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
"""Code in backticks, whose characters Markdown leaves alone."""


def escaped(text: str) -> str:
    """The text with the stars, underscores, brackets and bars literal that Markdown, HTML or a table would take for its own. Code
    in backticks stays as it is."""
    parts, start = [], 0
    for code in _CODE.finditer(text):
        parts += [_literal(text[start : code.start()]), code[0]]
        start = code.end()
    return "".join([*parts, _literal(text[start:])])


def as_html(text: str) -> str:
    """The text as HTML, with its words in single backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _literal(text: str) -> str:
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("|", "&#124;")
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
    return text.replace("*", r"\*")


_KEPT = "\n\t\u00a0\u200d\ufe0f"
"""Characters that Python does not call printable, but that are harmless: line ends, tabs, fixed spaces, joiners of emoji."""


def printable(text: str) -> str:
    """The text with escapes such as `\\x1b` in place of control characters, of marks that turn the direction of writing, and of
    bytes that are no text."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else c.encode("unicode_escape").decode() for c in text)
