"""The script that Streamlit runs for each session: the pages over one results directory, with selections in the URL."""

import sys
from contextlib import nullcontext
from importlib import import_module
from typing import Literal

import streamlit as st

from analysis.data.source import ResultsError
from app.pages import FORMER, HOME, MORE, PAGES, module_of
from app.pages_with_data import empty_pages
from app.preload import REST, import_ahead, importing
from app.screens import home
from app.shared import guarded, links, look, results_directory


def page_of(name: str, address: str, hidden: bool) -> st.Page:
    """A page of the app under an address; a hidden one is not in the navigation."""
    title, meaning = PAGES[name]

    def show() -> None:
        def screen(results: str) -> None:
            if name == HOME:  # it need not wait for what is imported in the background
                return home.show(results)
            module = module_of(name)
            with st.spinner("Loading the page") if module not in sys.modules else nullcontext(), importing:
                found = import_module(module)  # a page's modules are imported when it is opened, if they are not yet
            found.show(results)

        guarded(title, meaning, screen)

    show.__name__ = address
    visibility: Literal["visible", "hidden"] = "hidden" if hidden else "visible"
    return st.Page(show, title=title, url_path=address, default=address == HOME, visibility=visibility)


def _without_data() -> frozenset[str]:
    """The pages that step back in the navigation."""
    try:
        results = results_directory()
        found = empty_pages(results, look(results))
    except ResultsError:  # the page shows the error
        return frozenset({MORE})
    return found or frozenset({MORE})


def main() -> None:
    """Show the chosen page; Streamlit calls this at every interaction."""
    st.set_page_config("Sweeps beside the theory", layout="wide")
    without_data = _without_data()
    links.update({name: page_of(name, name, name in without_data) for name in PAGES})
    former = [page_of(name, address, True) for address, name in FORMER.items()]
    st.navigation([*links.values(), *former], position="top").run()
    import_ahead(*REST)  # so that the other pages open at once


if __name__ == "__main__":
    main()
