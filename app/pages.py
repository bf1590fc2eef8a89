"""The pages of the app, in the order of the navigation: its own, with those of the studies among them."""

from analysis.studies.declared import Declared
from analysis.studies.gathered import Gathered
from analysis.studies.loading import of_each
from analysis.studies.page import Page
from sweepkit import studies as known
from sweepkit.studies import StudyError

# Modules of app/screens, their titles and what they are for. (Streamlit would run those of a folder `pages` beside its script as
# scripts; a deep link that is the first request of a server would then show nothing.)
_FIRST = {
    "home": ("Home", "Each sweep's main result, its progress, its verdicts, and what to look at next"),
    "networks": ("Networks", "All networks in a table, their training curves, and two side by side"),
    "curves": ("Curves", "Any measure against any key, with intervals, theory and residuals"),
    "structure": ("Structure", "Hidden weights of one network, and its training curves"),
}
_LAST = {
    "scaling": ("Scaling", "Thresholds, exponents beside predictions, collapse"),
    "studies": ("Studies", "Laws and papers, each with its words, figures, statements, and what is missing"),
    "claims": ("Claims", "The papers' statements and whether these networks confirm them"),
    "sql": ("SQL", "Questions of your own"),
    "more": ("What else this can show", "Pages that have nothing to show for these networks yet, and what fills them"),
}


def _of_studies() -> dict[str, tuple[str, Page]]:
    """By address, each study's name with its page. A study whose page has the address of another one is left out."""
    found: dict[str, tuple[str, Page]] = {}

    def gather(study: Declared) -> None:
        for page in study.pages:
            if page.name in found or page.name in _FIRST or page.name in _LAST:
                raise StudyError(f"study {study.name}: page {page.name!r} is there already: give it another name")
        found.update({page.name: (study.name, page) for page in study.pages})

    of_each(gather)
    return found


_OF_STUDIES = Gathered(_of_studies)
PAGES = Gathered(lambda: _FIRST | {name: (page.title, page.meaning) for name, (_, page) in _OF_STUDIES.items()} | _LAST)
"""By address, the title of each page and what it is for."""
HOME, MORE = "home", "more"
"""The page at the bare address, whose text needs neither pandas nor charts, and the page of those that have nothing to show."""
FORMER = {"overview": HOME}
"""Addresses that pages had before, so that old links work."""


def module_of(page: str) -> str:
    """The module whose `show(results)` shows a page."""
    return f"{known.__name__}.{_OF_STUDIES[page][0]}.pages.{page}" if page in _OF_STUDIES else f"app.screens.{page}"
