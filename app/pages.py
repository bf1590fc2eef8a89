"""The pages of the app, in the order of the navigation: its own, with those of the studies among them."""

from analysis.studies.gathered import Gathered
from analysis.studies.loading import studies
from sweepkit import studies as known

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
PAGES = Gathered(lambda: _FIRST | {page.name: (page.title, page.meaning) for study in studies() for page in study.pages} | _LAST)
"""By address, the title of each page and what it is for."""
_OF_STUDIES = Gathered(
    lambda: {page.name: f"{known.__name__}.{study.name}.pages.{page.name}" for study in studies() for page in study.pages}
)
HOME, MORE = "home", "more"
"""The page at the bare address, whose text needs neither pandas nor charts, and the page of those that have nothing to show."""
FORMER = {"overview": HOME}
"""Addresses that pages had before, so that old links work."""


def module_of(page: str) -> str:
    """The module whose `show(results)` shows a page."""
    return _OF_STUDIES.get(page, f"app.screens.{page}")
