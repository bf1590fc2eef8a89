"""Pages that have nothing to show for these networks yet, and the grid that fills each."""

import streamlit as st

from analysis.data.progress.showing import NEEDS
from app.pages import PAGES
from app.pages_with_data import looking
from app.shared import look
from sweepkit.console.commands import sweep_command


def show(results: str) -> None:
    """The page."""
    known = looking(results).look(look(results), wait_s=None) or {}
    lacking = [page for page in NEEDS if not any(page in pages for pages in known.values())]
    if not lacking:
        st.info("Every page has something to show for these networks.")
        return
    st.caption("Pages move into the row above as soon as there are networks for them.")
    for page in lacking:
        title, meaning = PAGES[page]
        need = NEEDS[page]
        with st.container(border=True):
            sentence = f"{meaning[0].lower()}{meaning[1:]}. It needs {need.networks}."
            st.markdown(f"**{title}**: {sentence} This trains some, in {need.takes} on two cores:")
            st.code(sweep_command(need.grid, results), language="bash")
