"""Controls whose values live in the URL, and notes on links that name what is not there."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from analysis.data.keys import spoken
from analysis.data.progress.coverage import sweeps
from app.shared import ASTRAY, ENTERED, SPELLED, remembered
from sweepkit.console.words import nearest

if TYPE_CHECKING:  # pandas and what needs it take a second to import: pages do that once they need it
    from analysis.data.selection import Selection

WHOLE = "(all sweeps)"

NONE = "(none)"
"""The entry of a select box that stands for no key."""

_INSTEAD, _SWEEPS, _DEFAULTS = "_instead", "_sweeps_of_controls", "_defaults_of_switches"


def choice(label: str, options: Sequence[Any], default: Any = None, key: str | None = None, **more: Any) -> Any:
    """A select box whose value lives in the URL, under `key`, and lasts from page to page.

    The URL names the default too: the best default changes as a store grows, and a link must not. A value that the next page does
    not offer comes back on a page that does, unless another was chosen there. Another sweep opens with its own default where
    nothing was chosen. A link that names no option gets the default, and the page says so.
    """
    options = list(options)
    key = key or label.lower().replace(" ", "_")
    spelled()[label.lower()] = key
    held = st.session_state.get(key)
    instead: dict[str, tuple[Any, Any]] = st.session_state.setdefault(_INSTEAD, {})
    first = key not in instead
    chosen, shown = instead.get(key, (held, held))
    wanted = chosen if held == shown else held
    if is_as_it_was(key, touched=held != shown or (first and held is not None)):
        wanted = None
    text = more.get("format_func", str)
    texts = [str(text(option)) for option in options]
    if not first and st.session_state.get(ENTERED) and (asked := st.query_params.get(key)) in texts:
        wanted = options[texts.index(asked)]  # a link within the app goes before what was chosen on an earlier page
    # Assigned each time: Streamlit keeps in the URL what code assigns, and what the user chose, but no default.
    value = wanted if wanted in options else default if default in options else next(iter(options), None)
    instead[key] = (value if wanted is None else wanted, value)
    if first:
        _note_astray(label, key, texts, str(text(value)))
    elif held != shown:
        astray().pop(key, None)
    st.session_state[key] = value
    more = {"bind": "query-params", "persist_state": "session", "required": True} | more
    box: Any = st.selectbox  # no overload of it takes options by name
    found = box(label, options, index=None, key=key, **more)
    return value if found is None else found  # none: the browser went back to an address that does not name it yet


def is_as_it_was(key: str, touched: bool) -> bool:
    """True if another sweep was chosen since this control of a page was last drawn, and nobody has set the control."""
    seen: dict[str, tuple[bool, Any]] = st.session_state.setdefault(_SWEEPS, {})
    was_touched, of = seen.get(key, (False, None))
    sweep = st.session_state.get("sweep")
    seen[key] = was_touched or touched, sweep
    return key != "sweep" and of not in (None, sweep) and not seen[key][0]


def _note_astray(label: str, key: str, texts: Sequence[str], shown: str) -> None:
    """Note that the link to this page names a value of a select box that is not there."""
    asked = st.query_params.get(key)
    if asked and asked not in texts:
        what = label[0].lower() + label[1:] if label[1:2].islower() else label  # not L
        end = nearest(asked, texts) or "."
        astray()[key] = f"No {what} `{asked}` here{end} This page shows `{shown}` instead."


def check_link(*others: str, axes: Sequence[str] = ()) -> None:
    """Note which controls the link to this page names in vain. A page calls it once all of its controls are there. `others`:
    names that the page reads too, and controls that it has at other choices; `axes`: keys that are axes of its chart, so that no
    control holds a value of them."""
    controls = [*others, *(str(key) for key in st.session_state if not str(key).startswith("_"))]
    of_axes = {name for key in axes for name in (key, spoken(key), f"at_{key}")}
    for key in st.query_params if st.session_state.get(ENTERED) else ():
        if key in controls or key.startswith("embed"):  # those are Streamlit's own
            continue
        if key in of_axes:
            said = "of which this chart shows all values: it tells its points, colours or panels apart."
        elif there := spelled().get(key.lower()):
            said = f"which in a link is `{there}`."
        else:
            said = f"which this page does not have{nearest(key, controls) or '.'}"
        astray()[key] = f"The link names `{key}`, {said}"


def astray() -> dict[str, str]:
    """Notes above the page on values that a link named and that are not there, by key; a page may add some."""
    found: dict[str, str] = st.session_state.setdefault(ASTRAY, {})
    return found


def spelled() -> dict[str, str]:
    """The names that stand in a link for controls of this page, by the labels that people see; a page may add some."""
    found: dict[str, str] = st.session_state.setdefault(SPELLED, {})
    return found


def switch(label: str, default: bool, key: str, **more: Any) -> bool:
    """A toggle whose value lives in the URL. Another sweep opens with its own default where it was not set."""
    held, defaults = st.session_state.get(key), st.session_state.setdefault(_DEFAULTS, {})
    if is_as_it_was(key, touched=held is not None and held != defaults.get(key)):
        st.session_state[key] = default
    defaults[key] = default
    return bool(st.toggle(label, default, key=key, bind="query-params", persist_state="session", **more))


def sweep_choice(results: str, first: Callable[[str], str | None] | None = None) -> "Selection":
    """A select box of sweeps; its selection is of one sweep or of the whole store. `first`: from the results, the sweep on which
    the page opens if there are several, in place of the whole store."""
    from analysis.data.selection import Selection

    names = remembered(sweeps, results)
    usual = names[0] if len(names) == 1 else remembered(first, results) if first else None
    sweep = choice("Sweep", [WHOLE, *names], usual or WHOLE, key="sweep")
    return Selection(None if sweep == WHOLE else sweep)
