"""`python -m benchmarks.app [CELLS | DIR]`: seconds and memory of the app in a real browser, over a synthetic store of so many
cells (100,000 by default) or over a results directory, such as that of `make sweep`.

The seconds are those that a user waits. Change of page: from the click on another page's link to its first chart, line or
sentence; at most PAGE_S for the default sweep, and twice that for a million networks. First paint of a page: from the request to
its title and to its finished figure, by a fresh server and by one that runs. Change of a control: from the click to the finished
figure, while the slow theory is computed, because its cache is empty at each server's start.
Memory is the sum over all processes of the app; memory that they share is counted in each.
"""

import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
from playwright.sync_api import Page, sync_playwright
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.views import N_GROUPS, fill
from trainables.limits import cores

ROOT = Path(__file__).parent.parent
REPEATS = 3
MERGED = 500_000
"""From so many cells on, the synthetic store is compacted, as docs/howto/sharing.md tells users to do."""
DRAWN = ("curves", "structure", "dimension", "noise", "scaling")
"""Pages with a chart at their first paint, if the store has networks for it."""
CHART = "[data-testid=stVegaLiteChart] svg"
_TOLD = ("stDataFrame", "stAlert", "stProgress")
SHOWN = f"{CHART}, .board summary, [data-testid=stMain] :is({', '.join(f'[data-testid={name}]' for name in _TOLD)})"
"""The first thing that a page shows: a chart, a table, a line of the scoreboard, or the sentence that says why there is none
yet."""
PAGE_S = 1.5
"""Longest wait for a page after a click on its link, in seconds."""


def chromium() -> str | None:
    """The path of a browser on this machine; None if there is none."""
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


@contextmanager
def server(results: str | Path) -> Iterator[tuple[str, psutil.Process]]:
    """The app over a results directory, at a free port: its URL and its process."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.headless", "true", "--server.port", str(port)]
    process = subprocess.Popen(
        [*command, "--", "--results", str(results)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                urlopen(f"http://localhost:{port}/_stcore/health").close()
                break
            except OSError:
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError("the app's server does not start") from None
                time.sleep(0.1)
        yield f"http://localhost:{port}", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(20)


def settled(page: Page) -> None:
    """Wait until the script has run and nothing on the page is left of the run before."""
    page.wait_for_function(
        """() => document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'
                 && !document.querySelector('[data-stale=true]')""",
        timeout=120_000,
    )


def pick(page: Page, label: str, option: str) -> None:
    """Choose an option of a select box."""
    _pick(label, option)(page)()


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _first_paint(page: Page, url: str, chart: bool) -> tuple[float, float]:
    """Seconds from the request to the page's title, and to its finished figure."""

    def title() -> None:
        page.goto(url)
        page.locator("[data-testid=stHeading]").first.wait_for(timeout=60_000)

    def figure() -> None:
        if chart:
            page.locator(CHART).first.wait_for(timeout=60_000)
        settled(page)

    painted = _timed(title)
    return painted, painted + _timed(figure)


def _changed(page: Page, change: "Change", expected: str) -> float:
    """Seconds from the click that changes something to the finished figure."""
    click = change(page)

    def wait() -> None:
        click()
        page.wait_for_url(re.compile(expected), timeout=60_000)
        page.wait_for_timeout(50)
        settled(page)

    return _timed(wait)


def _link(page: Page, name: str) -> Any:
    return page.locator(f'a[href$="/{name}"], a[href*="/{name}?"]').first


def page_changed(page: Page, name: str) -> float:
    """Seconds from the click on a page's link, in the same session, to the first chart, line or sentence that it shows."""
    link = _link(page, name)

    def wait() -> None:
        link.evaluate("link => link.click()")  # a menu may hide it
        page.wait_for_url(re.compile(f"/{name}"))
        page.get_by_role("heading", name=name.capitalize() if name != "sql" else "SQL", exact=True).wait_for(timeout=60_000)
        page.locator(SHOWN).first.wait_for(timeout=60_000)

    seconds = _timed(wait)
    settled(page)
    return seconds


def _memory_mb(server: psutil.Process) -> float:
    return float(sum(process.memory_info().rss for process in (server, *server.children(recursive=True))) / 2**20)


Change = Callable[[Page], Callable[[], None]]
"""Prepares a change, for example by opening a box of options, and returns the click."""


def _pick(label: str, option: str) -> Change:
    def opened(page: Page) -> Callable[[], None]:
        page.mouse.move(0, 0)  # a chart under the mouse shows buttons, which cover the box above it
        page.get_by_label(label, exact=True).click()
        chosen = page.get_by_role("option", name=option, exact=True)
        chosen.wait_for()
        return chosen.click

    return opened


def _switch(label: str) -> Change:
    return lambda page: page.get_by_text(label).click


LAST = ("measure", _pick("Metric", "last test accuracy"), "measure=last")
CHANGES: dict[str, tuple[tuple[str, Change, str], ...]] = {
    "curves": (
        ("d", _pick("d", "64"), "at_d=64"), ("colour", _pick("Colour", "input dimension d"), "colour=input"), LAST,
        ("each seed", _switch("Each seed"), "seeds=true"), ("gamma", _pick("gamma", "lazy"), "at_gamma_label=lazy"),
    ),
    "dimension": (("gamma", _pick("gamma", "1"), "at_gamma_label=1"), LAST),
    "noise": (LAST,),
    "scaling": (LAST, ("abscissa", _pick("Threshold in", "d"), "over=d")),
    "structure": (("L", _pick("L", "3"), "at_L=3"), ("log step", _switch("Log step"), "log_step=true")),
}  # fmt: skip
"""The changes of each page, in this order: the title of the change, the change, and what the URL holds then."""


CLICKED = ("networks", "curves", "dimension", "noise", "structure", "richness", "scaling", "specialisation", "claims")
"""Pages to which a click leads, in this order."""
Note = Callable[[str, float], None]


def _pages(browser: Any, results: str, folder: str, note: Note, repeat: int) -> float:
    """Time first paints and changes of controls with fresh servers; the result is the app's memory in MB."""
    memory = 0.0
    for name in ("home", *DRAWN):
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, f"cache-{repeat}-{name}")  # for the server
        with server(results) as (url, process):
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            path = "/" if name == "home" else f"/{name}"
            titled, figure = _first_paint(page, url + path, name in DRAWN)
            note(f"fresh server: title of {name}", titled)
            note(f"fresh server: {name}", figure)
            if name in CHANGES:
                page.wait_for_timeout(6000)  # the page writes its first selections into the URL
            for title, change, expected in CHANGES.get(name, ()):
                note(f"{name}: change of {title}", _changed(page, change, expected))
            for other in (*DRAWN, "claims") if name == "curves" else ():
                note(f"server that runs: {other}", _first_paint(page, f"{url}/{other}", other in DRAWN)[1])
            memory = max(memory, _memory_mb(process))
            page.close()
    return memory


def _clicks(browser: Any, results: str, folder: str, note: Note, repeat: int) -> float:
    """Time changes of page in one session, the first visit of each and the second; the result is the app's memory in MB."""
    os.environ["XDG_CACHE_HOME"] = os.path.join(folder, f"cache-{repeat}-clicks")
    with server(results) as (url, process):
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        note("first page of a fresh server", _first_paint(page, url, False)[1])
        for visit in ("first", "second"):
            for name in CLICKED:
                if _link(page, name).count():  # a page without data steps back from the navigation once that is known
                    note(f"{visit} change to {name}", page_changed(page, name))
        memory = _memory_mb(process)
        page.close()
    return memory


def main(store: str = str(100 * N_GROUPS)) -> None:
    """Print the table for a number of synthetic cells, or for a results directory."""
    found: dict[str, list[float]] = {}
    memory = 0.0
    browser_path = chromium()
    if browser_path is None:
        raise SystemExit("no chromium on PATH")

    def note(name: str, seconds: float) -> None:
        found.setdefault(name, []).append(seconds)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, sync_playwright() as playwright:
        results = store
        if store.isdigit():
            results = os.path.join(folder, "results")
            fill(results, int(store), int(store) < MERGED, True, 1)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for i in range(REPEATS):
            memory = max(memory, _clicks(browser, results, folder, note, i))
            if store.isdigit():  # the changes of controls are those of the synthetic store
                memory = max(memory, _pages(browser, results, folder, note, i))
        browser.close()
    load = os.getloadavg()[0] / cores()
    title = f"{int(store):,} cells" if store.isdigit() else store
    table = Table(box=SIMPLE_HEAD, title=f"{title}; load {load:.1f} a core; median of {REPEATS}", title_justify="left")
    table.add_column("")
    table.add_column("seconds", justify="right")
    for name, times in found.items():
        table.add_row(name, f"{statistics.median(times):.2f}")
    table.add_row("peak memory of the app, MB", f"{memory:.0f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
