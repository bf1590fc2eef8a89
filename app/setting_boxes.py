"""Select boxes for every key that would mix settings: only seeds are averaged over, so each other key has one value. For a page
of one network its seed, too, and a link that names it."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import streamlit as st

from analysis.data.choosing import Keyed, label, matching, rest_of, settled, values_of
from analysis.data.comparing import fitting, lacking
from analysis.data.keys import captioned, spoken
from analysis.data.networks.reading import Networks, setting_of
from analysis.data.parts import are_at_equilibrium
from analysis.data.points import Setting, in_order, one_setting, varying
from analysis.data.selection import Value
from analysis.data.usual import FIRST, settings
from app.controls import choice, is_as_it_was
from app.shared import remembered
from sweepkit.declarations.keys import FIRST_NETWORK

_LAST, _TOUCHED = "_last_setting", "_touched_settings"


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
    opening: Mapping[str, Value] | None = None,
    **more: Any,
) -> dict[str, Value]:
    """The value chosen for each key of `rest`. Values that do not go with the last one chosen are replaced.

    Keys that the networks shown do not have get no select box. The others get theirs in the order of captions.

    prefer: the values to show first, by default the usual ones; linked: values that go before all choices; places: containers to
    fill in turn; opening: values that go before those of `prefer` until one is chosen; more: arguments of the select boxes.
    """
    options = {key: {text_of(key, value): value for value in values_of(found, key)} for key in rest}
    held = {key: _held(key) for key in rest}
    wanted = linked or {key: options[key][text] for key, text in held.items() if text in options[key]}
    wanted = wanted or dict(opening or {})
    chosen = settled(found, rest, wanted, st.session_state.get(_LAST), prefer)
    there = fitting(found.frame, chosen, found.declared)
    had = [key for key in captioned(rest, found.declared) if not lacking(found.frame, key, found.declared)[there].all()]
    for i, key in enumerate(had):
        st.session_state[name(key)] = text_of(key, chosen[key])
        with places[i % len(places)] if places else nullcontext():
            choice(
                spoken(key), list(options[key]), key=name(key), on_change=_remember, args=(key,), **more,
            )  # fmt: skip
    return {key: chosen[key] for key in rest}


def _held(key: str) -> Any:
    """The value that a box holds, or that a link names; none of another sweep that nobody chose there."""
    own, touched = name(key), st.session_state.setdefault(_TOUCHED, set())
    if own not in st.session_state:
        asked = st.query_params.get(own)
        if asked is not None:
            touched.add(key)
        return asked
    return None if is_as_it_was(f"of {own}", touched=key in touched) else st.session_state[own]


def one(found: Keyed, axes: Iterable[str], prefer: Mapping[str, Value] | None = None, **more: Any) -> Setting:
    """The points of one setting of every key but `axes`; `fixed` chooses the values of keys that vary."""
    axes = list(axes)
    chosen = fixed(found, rest_of(found, axes), prefer, **more)
    return one_setting(found.frame[matching(found.frame, chosen)], found.keys, axes, declared=found.declared)


LINKS = ("cell", "cell_id")
"""Names under which a link may hold the id of a network."""
_LINKED = "_linked_network"


def linked_network(results: str) -> dict[str, Value] | None:
    """The keys of the network that `?cell=...` names, when the page is opened by it. The URL keeps it until another network is
    chosen (`network_choice`), so that the page can be loaded again."""
    link = next((name for name in LINKS if st.query_params.get(name)), None)
    cell_id = st.query_params[link] if link else None
    if cell_id == st.session_state.get(_LINKED):
        return None
    st.session_state[_LINKED] = cell_id
    if link is None or cell_id is None:
        return None
    found = remembered(setting_of, results, cell_id)
    if found is None:
        del st.query_params[link]
        st.warning(f"No network `{cell_id}` in these results. Another one is shown instead.")
        return None
    return {**found, "cell_id": cell_id}


def network_choice(found: Networks, linked: Mapping[str, Value] | None) -> tuple[str, list[str]]:
    """The chosen network's id, and those of all seeds of its setting."""
    rest = varying(found.frame, found.keys)
    if linked is not None:
        st.session_state[name("seed")] = str(linked["seed"])
        linked = {key: linked[key] for key in rest}
    columns = st.columns(2)
    task = _task(found, linked)
    first = FIRST.get(task, {"gamma_label": "1"}) if task else next(iter(FIRST.values()), {})
    paper = settings(task, are_at_equilibrium(found.frame if task is None else found.frame[found.frame["task"] == task]))
    chosen = fixed(found, rest, paper | first, linked, places=columns)
    row = found.frame[matching(found.frame, chosen)].iloc[0]
    cells = dict(zip(map(str, row["seeds"]), row["cells"], strict=True))
    with columns[len(rest) % 2]:
        seed = choice("seed", list(cells), key=name("seed"))
    for link in LINKS:
        if st.query_params.get(link) not in (None, cells[seed]):
            del st.query_params[link]
    return cells[seed], list(cells.values())


def _task(found: Networks, linked: Mapping[str, Value] | None) -> str | None:
    """The task of the network that is looked at; its usual settings are shown first. None while one of several
    tasks is still to be chosen."""
    tasks = in_order(found.frame, "task")
    if len(tasks) == 1:
        return str(tasks[0])
    asked = linked["task"] if linked else st.session_state.get(name("task"), st.query_params.get(name("task")))
    return str(asked) if asked in tasks else None


def text_of(key: str, value: Value) -> str:
    """The text of a value in a select box. A row that names no network has the first one."""
    return FIRST_NETWORK if key == "network" and value is None else label(value, key)


def _remember(key: str) -> None:
    st.session_state[_LAST] = key
    st.session_state.setdefault(_TOUCHED, set()).add(key)
