"""`python -m benchmarks.pictures [NAME]...`: the pictures of the README and the documentation, made anew into docs/pictures.

Figures are drawn from the networks in evidence/ or, where it says so, from sweeps of seconds to minutes that are first trained
into --results. Screenshots of the app are taken in a headless Chromium. Look at what changed before you commit it.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.app import chromium, server, settled

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
EVIDENCE = "evidence"


class Figure(NamedTuple):
    """A figure by its name in `analysis.figures`, or one of a user's own by `ask`: arguments of `Results.plot`."""

    name: str
    sweep: str
    grid: str | None = None
    """The grid to train into --results first; None for networks of evidence/."""
    ask: dict[str, str | int] | None = None


FIGURES = {
    "eq3": Figure("1c", "eq3", "grid.yaml"),
    "tutorial": Figure(
        "", "dimension", "examples/dimension.yaml", {"x": "L", "by": "gamma", "panels": "d", "width": 260, "height": 220}
    ),
    "lstar": Figure("Lstar", "lstar-quick", "grids/lstar_quick.yaml"),
    "looks": Figure("Looks", "lstar-measures"),
    "nstar": Figure("Nstar", "nstar-he3-quick"),
    "collapse": Figure("Collapse", "nstar-he3-quick"),
    "layers": Figure("Layers", "layers-he3-quick"),
    "outliers": Figure("Outliers", "nstar-he3-quick"),
    "magnitude": Figure("Magnitude", "parity-quick"),
}
RESULTS_SCREENS = {"app-home": "", "app-networks": "networks?sweep=eq3"}
"""Pages of the app over --results, by the name of their picture: what one sees after a first sweep."""
EVIDENCE_SCREENS = {
    "app-curves": "curves",
    "app-dimension": "dimension",
    "app-structure": "structure",
    "app-scaling": "scaling",
    "app-specialisation": "specialisation",
    "app-claims": "claims",
}
"""Pages of the app over evidence/; selections may follow the address as its query."""
SCREENS = RESULTS_SCREENS | EVIDENCE_SCREENS


def draw(name: str, results: str) -> None:
    """Draw one figure into docs/pictures/NAME.png."""
    figure = FIGURES[name]
    if figure.grid:
        subprocess.run([sys.executable, "-m", "orchestrator.sweep", figure.grid, "--results", results], cwd=ROOT, check=True)
    held = results if figure.grid else EVIDENCE
    if figure.ask is not None:
        from analysis import Results

        Results(ROOT / held if held == EVIDENCE else held).plot(sweep=figure.sweep, **figure.ask).save(  # type: ignore[arg-type]
            PICTURES / f"{name}.png", scale_factor=2
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "analysis.figures",
            figure.name,
            "--sweep",
            figure.sweep,
            "--results",
            held,
            "--out",
            folder,
        ]
        subprocess.run(command, cwd=ROOT, check=True)
        shutil.copy(Path(folder) / f"{figure.name}.png", PICTURES / f"{name}.png")


def photograph(names: list[str], results: str) -> None:
    """Take screenshots of pages of the app, 1280 pixels wide, once their charts stand still."""
    from playwright.sync_api import sync_playwright

    with server(results) as (url, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        for name in names:
            page.goto(f"{url}/{SCREENS[name]}")
            page.locator("[data-testid=stHeading]").first.wait_for(timeout=120_000)
            settled(page)
            page.wait_for_timeout(3000)  # a chart is drawn a moment after the script has run
            settled(page)
            page.screenshot(path=PICTURES / f"{name}.png")
            print(PICTURES / f"{name}.png")
        browser.close()


def main() -> None:
    """Make the pictures that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join([*FIGURES, *SCREENS])}; default: all")
    parser.add_argument("--results", default="results", help="where the sweeps of some pictures are trained (default: results)")
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
    for pages, held in ((RESULTS_SCREENS, asked.results), (EVIDENCE_SCREENS, EVIDENCE)):
        if names := [name for name in screens if name in pages]:
            photograph(names, held)


if __name__ == "__main__":
    main()
