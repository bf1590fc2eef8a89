"""Checks of the pages of the documentation site: nothing that somebody wrote is swallowed by Markdown or HTML.

`y = <f, y>` is an unknown element to a browser, and the star of w* begins italics. Both leave the text silently.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

_ELEMENTS = """
a abbr annotation article aside autoref b blockquote br button caption code dd del details div dl dt em figcaption figure form
h1 h2 h3 h4 h5 h6 hr i img input ins kbd label li math menclose mfenced mfrac mi mn mo mover mpadded mphantom mroot mrow ms mspace
msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover nav ol p path pre q s samp section semantics small span
strong sub summary sup svg table tbody td tfoot th thead tr tt u ul var
"""
ELEMENTS = frozenset(_ELEMENTS.split())
"""Elements of HTML and MathML that a page may consist of; `autoref` becomes a link of mkdocstrings later."""

_NOT_PROSE = (
    r"(?ms)^( *)(```+|~~~+).*?^\1\2 *$",  # fenced code
    r"(?s)<!--.*?-->",
    r"<https?://[^>\s]+>",
    r"(?s)(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)",  # code in backticks
    r"(?s)\$\$.+?\$\$",
    r"(?<![\\\w$])\$(?=\S)[^$\n]+?(?<=\S)\$(?![\w$])",  # a formula
    r"\]\([^)\s]+\)",  # the address of a link
    r"\\[*_<\\`|]",  # escaped
)
_EMPHASIS = (
    r"(?<![\w*])\*\*(?=[^\s*])[^*]*?(?<=[^\s*])\*\*(?![\w*])",
    r"(?<![\w*])\*(?=[^\s*])[^*]*?(?<=[^\s*])\*(?![\w*])",
)


def swallowed(markdown: str) -> Iterator[str]:
    """Line and words of each place where prose holds what Markdown or HTML takes for its own."""
    prose = markdown
    for pattern in _NOT_PROSE:
        prose = re.sub(pattern, _dotted, prose)
    for pattern in _EMPHASIS:  # bold may hold no star of its own, and italics neither
        prose = re.sub(pattern, lambda found: found[0].replace("*", " ") if "\n\n" not in found[0] else found[0], prose)
    prose = re.sub(r"(?m)^ *[*-] ", _dotted, prose)  # items of a list
    for pattern, says in (
        (r"\*", "a star that is no emphasis: write \\* or a formula"),
        (r"(?<!\w)_(?=\w)|(?<=\w)_(?!\w)", "an underscore that may begin italics: write \\_"),
        (r"</?([A-Za-z][^\s/>]*)", "no element of HTML: write &lt; or a formula"),
    ):
        for found in re.finditer(pattern, prose):
            if found[0].startswith("<") and found[1].lower() in ELEMENTS:
                continue
            line = markdown.count("\n", 0, found.start()) + 1
            yield f"line {line}: {markdown[max(0, found.start() - 30) : found.end() + 30].strip()!r}: {says}"


def unknown_elements(page: str) -> Iterator[str]:
    """Elements of a page's HTML that a browser does not know and therefore leaves out, and italics in the middle of a word."""
    reader = _Reader()
    reader.feed(page)
    yield from reader.unknown
    for found in re.finditer(r".{0,40}(?:\w<em>|</em>\w).{0,40}", page):
        yield f"italics within a word: {found[0]!r}"


class _Reader(HTMLParser):
    """Collects the elements that are not in ELEMENTS."""

    def __init__(self) -> None:
        super().__init__()
        self.unknown: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS:
            self.unknown.append(f"no element of HTML: {self.get_starttag_text()}")


def _dotted(found: re.Match[str]) -> str:
    """Dots in place of a match, so that lines and places stay."""
    return re.sub(r"[^\n]", ".", found[0])
