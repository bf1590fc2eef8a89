"""Select boxes for every key that would mix settings: only seeds are averaged over, so each has one value."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import streamlit as st

from analysis.charts.explore import Keyed, label, matching, rest_of, settled, values_of
from analysis.data.comparing import fitting, lacking
from analysis.data.parts import NETWORK
from analysis.data.points import Setting, one_setting
from analysis.data.selection import Value
from app.shared import choice

_LAST = "_last_setting"


def name(key: str) -> str:
    """What URL and session call the value of a grid key, on all pages; a user's own key may be called as a control is."""
    return f"at_{key}"


def fixed(
    found: Keyed,
    rest: Sequence[str],
    prefer: Mapping[str, Value] | None = None,
    linked: Mapping[str, Value] | None = None,
    places: Sequence[Any] = (),
    **more: Any,
) -> dict[str, Value]:
    """The value chosen for each key of `rest`; those that do not go with the last one chosen move, and what the networks shown
    do not have is not asked for.

    prefer: what to show first, as in the paper without it; linked: what goes before all that was chosen; places: containers to
    fill in turn. `more` goes to the select boxes.
    """
    options = {key: {_text(key, value): value for value in values_of(found, key)} for key in rest}
    held = {key: st.session_state.get(name(key), st.query_params.get(name(key))) for key in rest}
    wanted = linked or {key: options[key][text] for key, text in held.items() if text in options[key]}
    chosen = settled(found, rest, wanted, st.session_state.get(_LAST), prefer)
    there = fitting(found.frame, chosen, found.declared)
    had = [key for key in rest if not lacking(found.frame, key, found.declared)[there].all()]
    for i, key in enumerate(had):
        st.session_state[name(key)] = _text(key, chosen[key])
        with places[i % len(places)] if places else nullcontext():
            choice(
                key.replace("_label", ""), list(options[key]), key=name(key), on_change=_remember, args=(key,), **more,
            )  # fmt: skip
    return {key: chosen[key] for key in rest}


def one(found: Keyed, axes: Iterable[str], prefer: Mapping[str, Value] | None = None, **more: Any) -> Setting:
    """The points of one setting of every key but `axes`, those that vary chosen by `fixed`."""
    axes = list(axes)
    chosen = fixed(found, rest_of(found, axes), prefer, **more)
    return one_setting(found.frame[matching(found.frame, chosen)], found.keys, axes)


def _text(key: str, value: Value) -> str:
    """What a box calls a value: a network that its row does not name by the name of the first there was."""
    return NETWORK if key == "network" and value is None else label(value)


def _remember(key: str) -> None:
    st.session_state[_LAST] = key
