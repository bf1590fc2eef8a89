"""The script that Streamlit runs for each session: the pages over one results directory, with selections in the URL."""

from importlib import import_module

import streamlit as st

from app.ahead import REST, import_ahead, importing
from app.shared import guarded, links

# Modules of app/screens, their titles and what they are for. (Streamlit would run those of a folder `pages` as scripts; a deep
# link that is the first request of a server would then show nothing.)
PAGES = {
    "overview": ("Overview", "How far each sweep is, and why networks failed"),
    "curves": ("Curves", "Any measure against any key, with intervals, theory and residuals"),
    "dimension": ("Dimension", "Accuracy over L and d, the L that suffices and its exponent"),
    "noise": ("Noise", "Noisy symbols beside the Bayes classifiers"),
    "structure": ("Structure", "Hidden weights of one network, and its training curves"),
    "scaling": ("Scaling", "Thresholds, exponents beside predictions, collapse"),
    "specialisation": (
        "Specialisation",
        "At equilibrium: which pattern of feature learning wins, and neurons that turn to the target",
    ),
    "claims": ("Claims", "The paper's statements and whether these networks confirm them"),
    "sql": ("SQL", "Questions of your own"),
}
HOME = next(iter(PAGES))
"""The page at the bare address; it needs neither pandas nor charts."""

# Less empty space, charts that shrink with the window, and select boxes without the mark that they need a value.
STYLE = """<style>
[data-testid=stMainBlockContainer] {padding-top: 4rem}
@media (max-width: 1100px) {[data-testid=stMainBlockContainer] {padding-left: 2rem; padding-right: 2rem}}
[data-testid=stVegaLiteChart] svg {max-width: 100%; height: auto}
[data-testid=stWidgetLabelRequired] {display: none}
</style>"""


def _page(name: str) -> st.Page:
    title, meaning = PAGES[name]

    def show() -> None:
        def screen(results: str) -> None:
            with importing:  # a page's modules are imported when it is opened, if they are not yet
                found = import_module(f"app.screens.{name}")
            found.show(results)

        guarded(title, meaning, screen)

    show.__name__ = name
    return st.Page(show, title=title, url_path=name, default=name == HOME)


def main() -> None:
    """Show the chosen page; Streamlit calls this at every interaction."""
    st.set_page_config("Sweeps beside the theory", layout="wide")
    st.html(STYLE)
    links.update({name: _page(name) for name in PAGES})
    st.navigation(list(links.values()), position="top").run()
    import_ahead(*REST)  # so that the other pages open at once


if __name__ == "__main__":
    main()
