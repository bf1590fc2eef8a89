"""The pages of the documentation site: nothing is swallowed by Markdown or HTML, no line of code runs out of sight."""

import html
import re
from pathlib import Path
from types import SimpleNamespace

import markdown
import pytest

import orchestrator
from analysis import Results
from mkdocs_checks import swallowed, unknown_elements
from sweepkit.commands.main import SUBCOMMANDS
from sweepkit.console.escaping import escaped

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

COLUMNS = 90
"""Characters of a code block that a page shows beside both columns of links at 1280 pixels."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_nothing_on_a_page_is_swallowed(page):
    assert not list(swallowed(page.read_text()))


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("A_f = <f, y>/<y, y>", 2),
        ("threshold, L*, P* | next", 2),
        ("So **L* depends on when one looks**", 5),
        ("y = w*.x. With `patch` it is w* = b", 2),
        ("the column _last of it", 1),
    ],
)
def test_swallowed_text_is_found(text, n):
    assert len(list(swallowed(text))) == n


@pytest.mark.parametrize(
    "text",
    [
        "**bold**, *italics*, **`code`** and `w*.x <f>` are meant",
        "* an item\n* another",
        r"L\*(d) of $w^* x$ and $$a * b$$, see [it](a_b*.md) or <https://host/x>",
        "```\na * b <c>\n```\nfile_name, a < 0, <br>",
    ],
)
def test_markup_that_is_meant_passes(text):
    assert not list(swallowed(text))


@pytest.mark.parametrize("text", ["<f, y>/<y, y>", "L* over w* and |w.w*|", "a &lt; b", "_odd names_", "`a|b*` and *c*"])
def test_escaped_text_shows_as_it_was_written(text):
    table = markdown.markdown(f"| a |\n|---|\n| {escaped(text)} |", extensions=["tables"])
    cells = re.findall(r"<td>(.*?)</td>", table)
    assert [html.unescape(re.sub("</?code>", "`", cell)) for cell in cells] == [text]
    assert not list(swallowed(escaped(text)))


def test_what_a_browser_does_not_know_is_found():
    assert len(list(unknown_elements("<p>A = <f, y>/<y, y></p>"))) == 2
    assert len(list(unknown_elements("<p>L<em>, P</em></p>"))) == 1
    assert not list(unknown_elements("<p>a <em>word</em> <math><mi>x</mi></math></p>"))


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: str(page.relative_to(ROOT)))
def test_code_fits_into_the_width_of_a_page(page):
    """Tables that a command printed (`text`) may be wider: they scroll."""
    for language, block in re.findall(
        r"^```(yaml|python|console|sql|bash)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE
    ):
        wide = [line for line in block.splitlines() if len(line) > COLUMNS]
        assert not wide, f"{language}: " + "\n".join(wide)


def test_the_page_of_commands_lists_them_also_without_the_site():
    rows = [f"| `sweep {name}` | {one.does} |" for name, one in SUBCOMMANDS.items()]
    assert "\n".join(rows) in (ROOT / "docs/reference/commands.md").read_text()


def test_the_page_about_python_names_what_there_is_also_without_the_site():
    text = (ROOT / "docs/reference/python.md").read_text()
    names = [*orchestrator.__all__, *(name for name in dir(Results) if not name.startswith("_"))]
    assert not [name for name in names if f"`{name}`" not in text]


def test_the_tutorials_link_into_the_app_names_what_the_app_offers():
    from analysis.data.keys import title_of

    page = (ROOT / "docs/start/first-sweep.md").read_text()
    (panels,) = re.findall(r"localhost:8501/curves\?sweep=dimension&panels=([^)]+)\)", page)
    assert panels.replace("+", " ") == title_of("d", "same_different")


def test_the_search_finds_what_html_writes_otherwise(tmp_path):
    hooks = pytest.importorskip("mkdocs_hooks", reason="the packages that build the site are not installed")
    assert hooks.claims_page(hooks.OF_ANY) == (ROOT / "docs/reference/claims.md").read_text()
    (tmp_path / "search").mkdir()
    index = tmp_path / "search/search_index.json"
    index.write_text('{"title": "W&amp;B", "text": "a &amp; b, <p>a&lt;b</p>"}')
    hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    assert index.read_text() == '{"title": "W&B", "text": "a &amp; b, <p>a&lt;b</p>"}'
