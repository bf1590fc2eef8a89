"""`python -m benchmarks.pictures [NAME]...`: the pictures of the README and the documentation, made anew into docs/pictures.

Figures are drawn from the networks in evidence/ or, where a grid is named below, from a sweep in --results. A sweep that is done
there is taken as it is; one that is missing is trained first, which takes seconds to minutes. Screenshots of the app are taken
in a headless Chromium. Look at what changed before you commit it.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analysis.studies.loading import studies
from benchmarks.app import chromium, server, settled

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
EVIDENCE = "evidence"
WIDTH, HEIGHT, SCALE = 1000, 780, 2
"""The window of screenshots, in pixels of CSS, and pixels of the picture for each: text stays legible in a column of 690."""


class Figure(NamedTuple):
    """A figure by its name in `analysis.figures`, or one of a user's own by `ask`: arguments of `Results.plot`."""

    name: str
    sweep: str | None = None
    """None for all networks of the store."""
    grid: str | None = None
    """The grid to train into --results if the sweep is not there; None for networks of evidence/."""
    ask: dict[str, str | int] | None = None


class Screen(NamedTuple):
    """A page of the app by its address, with selections as its query."""

    address: str
    grid: tuple[str, str] | None = None
    """Sweep and grid, for a page over --results, as one sees it after a first sweep; None for a page over evidence/."""
    part: str | None = None
    """The element to show, as a CSS selector; None for the whole window."""
    height: int = HEIGHT
    shown: str = ""
    """Words that the page has once its verdicts are there."""


def _shown(words: str) -> Figure:
    name, _, sweep = words.partition(" ")
    return Figure(name, sweep or None)


FIGURES: dict[str, tuple[Figure, ...]] = {
    "eq3": (Figure("1c", "eq3", "grid.yaml"),),
    "tutorial": (
        Figure("", "dimension", "examples/dimension.yaml", {"x": "L", "by": "gamma", "panels": "d", "width": 260, "height": 220}),
    ),
    **{name: tuple(_shown(one) for one in shown) for study in studies() for name, shown in study.pictures.items()},
}
"""Figures by the name of their picture; several stand side by side."""
_EQ3 = ("eq3", "grid.yaml")
_CHART = "[data-testid=stVegaLiteChart]"
SCREENS = {
    "app-home": Screen("?sweep=eq3", _EQ3, shown="Verdicts on "),
    "app-networks": Screen("networks?sweep=eq3", _EQ3),
    "app-curves": Screen("curves?sweep=eq3", _EQ3),
    "app-dimension": Screen("dimension?sweep=quick", height=1000),
    "app-relations": Screen("relations", height=1000),
    "app-structure": Screen("structure", height=1100),
    "app-richness": Screen("richness?sweep=richness_codes&at_task=digits&at_code=1&at_trained=all", height=860),
    "app-specialisation": Screen("specialisation", part=_CHART),
    "app-claims": Screen("claims", shown="Take it with you"),
}
"""Pages of the app by the name of their picture."""


def draw(name: str, results: str) -> None:
    """Draw the figures of one picture into docs/pictures/NAME.png."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = [_drawn(figure, results, Path(folder) / f"{i}") for i, figure in enumerate(FIGURES[name])]
        _side_by_side(drawn, PICTURES / f"{name}.png")


def _drawn(figure: Figure, results: str, folder: Path) -> Path:
    """The file of a figure."""
    folder.mkdir()
    if figure.grid and figure.sweep:
        _train(figure.sweep, figure.grid, results)
    held = results if figure.grid else str(ROOT / EVIDENCE)
    if figure.ask is not None:
        from analysis import Results

        chart = Results(held).plot(sweep=figure.sweep, **figure.ask)  # type: ignore[arg-type]
        chart.save(folder / "own.png", scale_factor=SCALE)
        return folder / "own.png"
    command = [sys.executable, "-m", "analysis.figures", figure.name, *(["--sweep", figure.sweep] if figure.sweep else [])]
    subprocess.run([*command, "--results", held, "--out", str(folder), "--name", figure.name], check=True)
    return folder / f"{figure.name}.png"


def _train(sweep: str, grid: str, results: str) -> None:
    """Train the sweep into the results, unless it is there and done."""
    if not is_done(sweep, results):
        subprocess.run([sys.executable, "-m", "orchestrator.sweep", str(ROOT / grid), "--results", results], check=True)


def is_done(sweep: str, results: str) -> bool:
    """Whether the results hold a sweep of this name that has trained all that it planned."""
    from analysis.data.progress.coverage import progress
    from sweepkit.store.files import ResultsError

    try:
        found = {one.sweep: one for one in progress(results)}
    except ResultsError:
        return False
    return sweep in found and found[sweep].missing + found[sweep].running == 0


def _side_by_side(files: list[Path], out: Path) -> None:
    from PIL import Image

    images = [Image.open(file).convert("RGB") for file in files]
    whole = Image.new("RGB", (sum(image.width for image in images), max(image.height for image in images)), "white")
    left = 0
    for image in images:
        whole.paste(image, (left, 0))
        left += image.width
    whole.save(out, optimize=True)


def photograph(names: list[str], results: str) -> None:
    """Take screenshots of pages of the app over some results, once their charts stand still."""
    from playwright.sync_api import sync_playwright

    with server(results) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=SCALE, color_scheme="light", reduced_motion="reduce"
        )
        for name in names:
            _photograph(page, url, name)
        browser.close()


_CHECKED = """words => { const text = document.body.innerText
  return text.includes(words) && !/still to be checked|statements to come/.test(text) }"""
"""Whether a page has these words and no longer waits for verdicts."""


def _photograph(page: "Page", url: str, name: str) -> None:
    screen, out = SCREENS[name], PICTURES / f"{name}.png"
    page.set_viewport_size({"width": WIDTH, "height": screen.height})
    page.goto(f"{url}/{screen.address}")
    page.locator("[data-testid=stHeading]").first.wait_for(timeout=120_000)
    page.wait_for_function(_CHECKED, arg=screen.shown, timeout=600_000)
    settled(page)
    page.wait_for_timeout(3000)  # a chart is drawn a moment after the script has run
    settled(page)
    if screen.part:
        page.locator(screen.part).first.screenshot(path=out)
    else:
        page.screenshot(path=out)
    print(out)


def main() -> None:
    """Make the pictures that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join([*FIGURES, *SCREENS])}; default: all")
    parser.add_argument("--results", default="results", help="where sweeps are, or are trained (default: results)")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in FIGURES | SCREENS]:
        parser.error(f"no picture {', '.join(unknown)}")
    wanted = asked.names or [*FIGURES, *SCREENS]
    screens = [name for name in wanted if name in SCREENS]
    if screens and chromium() is None:
        parser.error("screenshots need chromium, chromium-browser or google-chrome on PATH")
    for name in wanted:
        if name in FIGURES:
            draw(name, asked.results)
            print(PICTURES / f"{name}.png")
    for sweep, grid in dict.fromkeys(pair for name in screens if (pair := SCREENS[name].grid)):
        _train(sweep, grid, asked.results)
    for held, names in (
        (asked.results, [name for name in screens if SCREENS[name].grid]),
        (EVIDENCE, [name for name in screens if not SCREENS[name].grid]),
    ):
        if names:
            photograph(names, held)


if __name__ == "__main__":
    main()
