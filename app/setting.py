"""Select boxes for every key that would mix settings. Only seeds are averaged over, so each other key has one value."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import streamlit as st

from analysis.data.choosing import Keyed, label, matching, rest_of, settled, values_of
from analysis.data.comparing import fitting, lacking
from analysis.data.keys import spoken
from analysis.data.points import Setting, one_setting
from analysis.data.selection import Value
from app.shared import choice
from declarations.omitted import FIRST_NETWORK

_LAST = "_last_setting"


def name(key: str) -> str:
    """The name under which URL and session hold the value of a grid key, on all pages. The prefix keeps a user's own key apart
    from controls of the same name."""
    return f"at_{key}"


def fixed(
    found: Keyed,
    rest: Sequence[str],
    prefer: Mapping[str, Value] | None = None,
    linked: Mapping[str, Value] | None = None,
    places: Sequence[Any] = (),
    **more: Any,
) -> dict[str, Value]:
    """The value chosen for each key of `rest`. Values that do not go with the last one chosen are replaced.

    Keys that the networks shown do not have get no select box.

    prefer: the values to show first, by default the paper's; linked: values that go before all choices; places: containers to
    fill in turn; more: arguments of the select boxes.
    """
    options = {key: {text_of(key, value): value for value in values_of(found, key)} for key in rest}
    held = {key: st.session_state.get(name(key), st.query_params.get(name(key))) for key in rest}
    wanted = linked or {key: options[key][text] for key, text in held.items() if text in options[key]}
    chosen = settled(found, rest, wanted, st.session_state.get(_LAST), prefer)
    there = fitting(found.frame, chosen, found.declared)
    had = [key for key in rest if not lacking(found.frame, key, found.declared)[there].all()]
    for i, key in enumerate(had):
        st.session_state[name(key)] = text_of(key, chosen[key])
        with places[i % len(places)] if places else nullcontext():
            choice(
                spoken(key), list(options[key]), key=name(key), on_change=_remember, args=(key,), **more,
            )  # fmt: skip
    return {key: chosen[key] for key in rest}


def one(found: Keyed, axes: Iterable[str], prefer: Mapping[str, Value] | None = None, **more: Any) -> Setting:
    """The points of one setting of every key but `axes`; `fixed` chooses the values of keys that vary."""
    axes = list(axes)
    chosen = fixed(found, rest_of(found, axes), prefer, **more)
    return one_setting(found.frame[matching(found.frame, chosen)], found.keys, axes)


def text_of(key: str, value: Value) -> str:
    """The text of a value in a select box. A row that names no network has the first one."""
    return FIRST_NETWORK if key == "network" and value is None else label(value)


def _remember(key: str) -> None:
    st.session_state[_LAST] = key
