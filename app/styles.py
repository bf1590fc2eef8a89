"""The reader's screen: whether it is dark or narrow, and styles that make pages fit it."""

from typing import Any

import streamlit as st

_NARROW = "_narrow"

# A page is drawn for a wide window at first. In a narrow one, this part tells so and the page runs again.
_JS = """
export default function ({ setStateValue, data }) {
  const query = window.matchMedia("(max-width: 640px)")
  const tell = () => { if (query.matches !== data) setStateValue("narrow", query.matches) }
  tell()
  query.addEventListener("change", tell)
  return () => query.removeEventListener("change", tell)
}
"""

# Less empty space, charts that shrink with the window, so that their legends stay in sight, and select boxes without the mark
# that they need a value.
STYLE = """<style>
[data-testid=stMainBlockContainer] {padding-top: 4rem}
[data-testid=stWidgetLabelRequired] {display: none}
@media (min-width: 641px) and (max-width: 1600px) {[data-testid=stMainBlockContainer] {padding-left: 3rem; padding-right: 3rem}}
[data-testid=stVegaLiteChart] {max-width: 100%}
[data-testid=stVegaLiteChart] svg {max-width: 100%; height: auto}
[data-testid=stPageLink] a {height: auto; padding-top: .3rem; padding-bottom: .3rem}
[data-testid=stPageLink] a * {white-space: normal; overflow: visible; line-height: 1.35}
[data-testid=stAlert] pre, [data-testid=stAlert] pre code {white-space: pre-wrap; overflow-wrap: anywhere}
[data-testid=stSelectbox] input {text-overflow: ellipsis}
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] {padding: 3.5rem 1rem 2rem 1rem}
  [data-testid=stHorizontalBlock] {flex-wrap: wrap}
  [data-testid=stMain] h1, [data-testid=stMain] h2 {font-size: 1.6rem}
  [data-testid=stMain] h3 {font-size: 1.2rem}
  [data-testid=stButtonGroup] > div {flex-wrap: wrap; overflow: visible}
  [data-testid=stMarkdownContainer] table {display: block; overflow-x: auto}
}
</style>"""


@st.cache_resource
def _screen() -> Any:
    return st.components.v2.component("sweeps_screen", js=_JS)


def fit_screen() -> None:
    """Put in the styles, and find out whether the window is narrow. Each page calls this once."""
    st.html(STYLE)
    _screen()(key="_screen", data=is_narrow(), on_narrow_change=_told, height=1)


def _told() -> None:
    st.session_state[_NARROW] = bool(st.session_state["_screen"].get("narrow"))


def is_narrow() -> bool:
    """True in a window as narrow as that of a phone."""
    return bool(st.session_state.get(_NARROW, False))


def controls() -> Any:
    """The place for a page's controls: beside the page, or in a narrow window above what they change, folded."""
    return st.expander("Choose what is shown", icon=":material/tune:") if is_narrow() else st.sidebar


def controls_above() -> Any:
    """The place for controls above what they change: side by side, or in a narrow window folded."""
    return controls() if is_narrow() else st.container(horizontal=True, vertical_alignment="bottom")


def is_dark() -> bool:
    """Whether the page has a dark background, as the reader's system asks for."""
    return st.context.theme.type == "dark"
