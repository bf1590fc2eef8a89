"""All pages in a real browser over synthetic networks: no error on the page or in the console; links and controls work."""

import re

import pytest

from analysis.claims.board import board, strips
from app.parts.scoreboard import section_html
from app.script import PAGES
from benchmarks.app import CHART, chromium, pick, server, settled
from tests.analysis.test_board import judged
from tests.app.conftest import RUN_S
from tests.measured_store import measured_store

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason="no chromium, chromium-browser or google-chrome on PATH"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),  # playwright's own
]

# Streamlit asks for these below the page's own path first, and then at the root.
HARMLESS = re.compile(r"/_stcore/(health|host-config)$")


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Over synthetic networks of many L, d and sigma2, lazy and rich: what every page needs for its charts."""
    with server(measured_store(tmp_path_factory.mktemp("laws"), is_rich=True)) as (address, _):
        yield address


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A page that fails the test where the console or a box on the page told of an error."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
    context.set_default_timeout(1000 * RUN_S)
    shown = context.new_page()
    errors = []
    shown.on("pageerror", lambda error: errors.append(str(error)))
    shown.on(
        "response", lambda r: errors.append(f"{r.status} {r.url}") if r.status >= 400 and not HARMLESS.search(r.url) else None
    )
    shown.on(
        "console",
        lambda m: errors.append(m.text) if m.type == "error" and "Failed to load resource" not in m.text else None,
    )
    yield shown
    boxes = shown.locator("[data-testid=stException], [data-testid=stAlertContentError]").all_inner_texts()
    context.close()
    assert not boxes + errors


def opened(page, address):
    page.goto(address)
    page.locator("[data-testid=stHeading]").first.wait_for()
    settled(page)


N_CHARTS = {"curves": 1, "dimension": 1, "noise": 1, "structure": 2, "richness": 2, "scaling": 3, "specialisation": 1}


@pytest.mark.guard
@pytest.mark.parametrize("name", PAGES)
def test_page_opens_by_its_address_and_fits_a_narrow_window_and_a_phone_in_the_dark(page, url, name):
    page.set_viewport_size({"width": 1000, "height": 700})
    opened(page, f"{url}/{name if name != next(iter(PAGES)) else ''}")
    assert page.locator("[data-testid=stHeading]").first.inner_text().startswith(PAGES[name][0])
    n_charts = N_CHARTS.get(name, 0)
    if n_charts:
        page.locator(CHART).nth(n_charts - 1).wait_for()
    settled(page)
    ends = page.locator(CHART).evaluate_all(
        """charts => charts.map(chart => {
            const [own, room] = [chart, chart.closest('[data-testid=stMainBlockContainer]')].map(e => e.getBoundingClientRect())
            return [own.left - room.left, room.right - own.right, own.width, chart.querySelectorAll('path').length]
        })"""
    )
    assert len(ends) >= n_charts
    for left, right, width, n_paths in ends:
        assert left >= 0 and right >= 0 and width > 200 and n_paths > 5

    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    background = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    page.wait_for_function(f"Math.max(...{background}.match(/\\d+/g).slice(0, 3)) < 64")
    if n_charts:
        # Labels are about as large as they are drawn. The charts are drawn anew once the server knows the new width, which
        # beside other work takes seconds.
        page.wait_for_function(
            """([chart, n]) => {
                const found = [...document.querySelectorAll(chart)].map(c => [c.getBoundingClientRect(), c.viewBox.baseVal.width])
                return found.length >= n && found.every(([box, drawn]) => box.right <= 390 && box.width / drawn > 0.85)
            }""",
            arg=[CHART, n_charts],
        )
        settled(page)
        assert page.locator(f"{CHART} .mark-text text").first.evaluate("text => getComputedStyle(text).fill") != "rgb(0, 0, 0)"
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0


def test_one_click_is_one_step_back_and_what_an_address_lacks_is_as_usual(page, url):
    """Streamlit gives each control an entry of its own in the history; a select box that an entry lacked had no value."""
    opened(page, f"{url}/curves")
    page.wait_for_url(re.compile("at_sigma2=0.*centre=mean"))  # all controls are in the address
    first = page.evaluate("history.length")
    for label, value in (("Colour", "(none)"), ("Centre", "median")):
        pick(page, label, value)
        page.wait_for_url(re.compile(f"{label.lower()}={value.replace('(', '%28').replace(')', '%29')}"))
    settled(page)
    assert page.evaluate("history.length") == first + 2
    for gone in ("centre=median", "colour=%28none%29"):
        page.evaluate("history.back()")
        page.wait_for_function("word => !location.search.includes(word)", arg=gone)
    settled(page)
    assert page.locator("[data-testid=stException]").count() == 0


def test_a_link_to_one_network_survives_a_reload_until_another_is_chosen(page, url):
    def chosen():
        return page.locator("[data-testid=stSelectbox] input").evaluate_all("boxes => boxes.map(box => box.value)")

    opened(page, f"{url}/structure?cell={215:020x}")
    page.locator(CHART).first.wait_for()
    first = chosen()
    page.reload()
    page.locator(CHART).first.wait_for()
    settled(page)
    assert chosen() == first and "lazy" in first
    pick(page, "seed", "0")
    page.wait_for_url(re.compile("at_seed=0"))
    settled(page)
    assert "cell=" not in page.url


def test_curves_control_link_and_download(page, url):
    opened(page, f"{url}/curves?measure=last+test+accuracy")
    page.locator(CHART).first.wait_for()
    pick(page, "Colour", "(none)")
    page.wait_for_url(re.compile("colour=%28none%29"))
    settled(page)
    pick(page, "gamma", "lazy")
    page.wait_for_url(re.compile("at_gamma_label=lazy"))
    settled(page)
    said = page.get_by_text("gamma = lazy, ").inner_text()
    link = page.url
    assert "measure=last+test+accuracy" in link

    opened(page, link)
    assert page.get_by_text("gamma = lazy, ").inner_text() == said

    page.get_by_role("button", name="Take it with you").click()
    code = page.locator("[data-testid=stCode]").first
    assert "Results(" in code.inner_text() and 'y="final_test_acc"' in code.inner_text()
    settled(page)  # a page that is drawn anew replaces its buttons
    for kind, start in (("CSV", b"L,"), ("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("PDF", b"%PDF"), ("SQL", b"SELECT")):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        with open(download.value.path(), "rb") as file:
            assert file.read(len(start)) == start
    settled(page)


def test_a_statement_opens_on_a_click_and_closes_on_another(page):
    ones = [judged("eq3-L4"), judged("eq3-L5", "contradicted", 0.09), judged("L2-exception", value=0.75)]
    (section,) = board(ones)
    page.set_content(section_html(section, strips(ones), {}, dark=False))
    line = page.get_by_text("With two symbols")
    measured = page.get_by_text("Measured: 0.750")
    assert line.is_visible() and not measured.is_visible()
    line.click()
    assert measured.is_visible()
    line.click()
    assert not measured.is_visible()


def test_home_links_to_curves_of_the_sweep(page, url):
    opened(page, url)
    page.locator("[data-testid=stPageLink] a", has_text=re.compile("^Curves")).first.click()
    page.wait_for_url(re.compile(r"/curves\?.*sweep=measured"))
    page.locator(CHART).first.wait_for()
    settled(page)


def test_first_selections_come_into_the_address(page, url):
    opened(page, f"{url}/curves")
    page.wait_for_url(re.compile("colour=gamma.*centre=mean"))


def test_sql_downloads_the_answer(page, url):
    opened(page, f"{url}/sql?sql=SELECT+count(*)+AS+n+FROM+cells")
    with page.expect_download() as download:
        page.get_by_role("button", name="PARQUET").click()
    with open(download.value.path(), "rb") as file:
        assert file.read(4) == b"PAR1"


def go(page, name):
    """By a click, in the same session."""
    page.get_by_role("link", name=PAGES[name][0], exact=True).first.click()
    page.wait_for_url(re.compile(f"/{name}"))
    page.get_by_role("heading", name=PAGES[name][0], exact=True).wait_for()
    page.locator(CHART).first.wait_for()
    settled(page)


def chosen(page, label):
    return page.get_by_label(label, exact=True).input_value()


def test_selections_last_from_page_to_page(page, url):
    opened(page, f"{url}/curves?measure=last+test+accuracy&colour=%28none%29&at_gamma_label=lazy")
    page.locator(CHART).first.wait_for()
    go(page, "scaling")
    assert [chosen(page, label) for label in ("Metric", "Colour", "gamma")] == ["last test accuracy", "(none)", "lazy"]
    go(page, "dimension")
    assert [chosen(page, label) for label in ("Metric", "gamma")] == ["last test accuracy", "lazy"]
    go(page, "curves")
    assert [chosen(page, label) for label in ("Metric", "Colour", "gamma")] == ["last test accuracy", "(none)", "lazy"]
    # What a page cannot show comes back on one that can.
    ratio = "readout ratio |mean a-| / |mean a+|"
    pick(page, "Metric", ratio)
    page.wait_for_url(re.compile("measure=readout"))
    settled(page)
    go(page, "scaling")
    assert chosen(page, "Metric") == "best test accuracy"
    go(page, "curves")
    assert chosen(page, "Metric") == ratio


def test_empty_store_and_the_page_that_follows_it(page, tmp_path):
    from sweepkit.store.store import Store
    from tests.store_rows import rows

    with server(tmp_path / "results") as (address, _):
        opened(page, f"{address}/curves")
        page.get_by_text("sweep run grid.yaml").wait_for()  # the form of the entry point, which is installed here
        store = Store(str(tmp_path / "results"))
        cells = rows(0, 22)
        store.commit("one", cells)
        store.write_plan("late", [cell["cell_id"] for cell in cells], whole=True)
        page.locator(CHART).first.wait_for()
        settled(page)
        page.goto("about:blank")  # before the server goes
