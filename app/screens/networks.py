"""All networks in a table, a page at a time; the training curves of those picked, and what differs between two."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from analysis.data.keys import spoken, title_of
from analysis.data.measures import measures
from analysis.data.networks.listing import (
    PAGE,
    SORTED_NUMBERS,
    STATES,
    AskedTable,
    Offered,
    Table,
    grouped,
    listed,
    offered,
    pages,
)
from analysis.data.progress.coverage import reasons
from analysis.data.progress.showing import newest_of
from analysis.data.selection import Selection, Value
from analysis.data.source import declared
from analysis.python_lines import sql_lines
from app.controls import astray, check_link, choice, spelled, sweep_choice, switch
from app.downloads import downloads
from app.parts.ticked_networks import PICKED, pick, picked, show_picked, times_unticked
from app.parts.training_now import show_in_training
from app.setting_boxes import text_of
from app.shared import ENTERED, remembered
from sweepkit.console.words import counted

MOST_OPTIONS = 200
"""Most values of a parameter that a filter offers."""
WIDTHS = {"status": 90, "reason": 260}
"""Pixels of the columns of words, which a browser would cut among many others."""
AT_TIMES = (PICKED, "page", "order", "columns", "setting_order", "measure", "descending", "log_step", "log_loss")
"""Names in a link that some views of the page read, and others do not."""


def show(results: str) -> None:
    """The page."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=220):
            selection = sweep_choice(results, first=newest_of)
        state = choice("Status", list(STATES), "any", key="state", width=120)
        words = st.text_input(
            "Containing", key="words", bind="query-params", persist_state="session", width=200,
            help="Words in the reason, the id, or a parameter that is text",
        )  # fmt: skip
        by_setting = switch("One row per configuration", False, "by_setting", help="Seeds are averaged over")
    found = remembered(offered, results, selection)
    if not found.varying and not found.fixed:
        of = "this sweep" if selection.sweep else "these sweeps"
        st.info(f"No network of {of} has finished yet. Rows come as packs finish; this page follows by itself.")
        show_in_training(results)
        return
    all_of, selection = selection, _filtered(results, selection, found)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = [] if by_setting else found.first(state != "ok" and _some_bad(results, selection.sweep))
        asked, columns = _order(results, AskedTable(selection, str(state), words or ""), found, first, by_setting)
    show_in_training(results)
    if by_setting:
        _table_of_settings(results, asked, found)
    else:
        _table_of_networks(results, asked, columns, first, found.n if asked.takes_all(all_of) else None)
    show_picked(results)
    check_link(*AT_TIMES)


def _filtered(results: str, selection: Selection, found: Offered) -> Selection:
    """The selection limited to the chosen values of the parameters that vary."""
    held = {key: values for key, values in found.varying.items() if 1 < len(values) <= MOST_OPTIONS}
    if not held:
        return selection
    with st.expander("Filter by parameters", expanded=any(f"only_{key}" in st.query_params for key in held)):
        places = st.columns(4)
        chosen: dict[str, list[Value]] = {}
        for i, (key, values) in enumerate(held.items()):
            by_text = {text_of(key, value): value for value in values}
            with places[i % len(places)]:
                texts = _several(spoken(key), list(by_text), f"only_{key}")
            if texts:
                chosen[key] = [by_text[text] for text in texts]
    return selection.only(chosen)


def _several(label: str, options: Sequence[str], key: str, default: Sequence[str] = (), **more: Any) -> list[str]:
    """A box of several options, whose value lives in the URL; a link that names others is told so above the page."""
    spelled()[label.lower()] = key
    lost = [text for text in st.query_params.get_all(key) if text not in options] if key not in st.session_state else []
    if lost:
        what = label if key.startswith("only_") else label.lower()
        astray()[key] = f"No {what} {', '.join(f'`{text}`' for text in lost)} here."
    more = {"bind": "query-params", "persist_state": "session", "placeholder": "all"} | more
    return list(st.multiselect(label, options, default=list(default), key=key, **more))


def _order(
    results: str, asked: AskedTable, found: Offered, first: Sequence[str], by_setting: bool
) -> tuple[AskedTable, list[str]]:
    """The order of the table, and its columns: `first` until others are chosen."""
    known, columns = remembered(declared, results), list[str]()
    if by_setting:
        order = choice("Sorted by", [*found.varying, *SORTED_NUMBERS], "n", key="setting_order", width=170)
    else:
        offers = found.columns
        words = {name: title_of(name, declared=known) if name in found.varying else name for name in offers}
        columns = _several(
            "Columns", offers, "columns", first, width=640, placeholder="cell_id alone",
            help="  \n".join(f"`{name}`: {words[name]}" for name in found.varying),
        )  # fmt: skip
        order = choice("Sorted by", offers, "finished_at", key="order", width=170)
    descending = switch("Largest first", True, "descending")
    return AskedTable(asked.selection, asked.state, asked.text, str(order), descending), columns


def _some_bad(results: str, sweep: str | None) -> bool:
    """Whether networks of a sweep, or of the store, failed or diverged."""
    return any(why for name, why in remembered(reasons, results).items() if sweep in (None, name))


def _table_of_networks(results: str, asked: AskedTable, columns: list[str], spare: Sequence[str], n: int | None) -> None:
    """The table with these columns, of `n` networks if that is known. Columns of `spare` are left out where they are empty,
    unless some of them were taken away: then the others were chosen."""
    spare = spare if {*spare} <= {*columns} else ()
    table, page = _paged(lambda page: remembered(listed, results, asked, tuple(columns), page, n))
    if table.frame.empty:
        st.info("No network fits; take a limit away above.")
        return
    frame, left_out = _filled(table.frame, spare)
    _rows(results, frame, [[cell_id] for cell_id in frame["cell_id"]], f"{asked}{columns}{page}", ["cell_id"])
    _tell_left_out(left_out)
    downloads("networks", table.frame, None, table.sql, sql_lines(results, table.sql), _part_of(table))


def _table_of_settings(results: str, asked: AskedTable, found: Offered) -> None:
    known = remembered(measures, results)
    measure = choice("Metric", found.metrics, key="measure", width=260, format_func=lambda name: known[name].title)
    if measure is None:
        st.info("No network here has finished, so that there is nothing to average.")
        return
    table, page = _paged(lambda page: remembered(grouped, results, asked, measure, tuple(found.varying), page))
    if table.frame.empty:
        st.info("No configuration fits; take a limit away above.")
        return
    ids = [list(cells) for cells in table.frame["cells"]]
    frame, left_out = _filled(table.frame.drop(columns="cells"), [*found.varying])
    _rows(results, frame, ids, f"{asked}{measure}{page}", [])
    _tell_left_out(left_out)
    st.caption(
        f"`mean` with its 95% interval `low` to `high` of {remembered(measures, results)[measure].title}, over `n` networks."
    )
    downloads(
        "configurations", table.frame.drop(columns="cells"), None, table.sql, sql_lines(results, table.sql), _part_of(table)
    )


def _part_of(table: Table) -> str | None:
    """A note on what the CSV file lacks, if the table has several pages."""
    if len(table.frame) == table.n:
        return None
    return f"The CSV file has the {len(table.frame)} rows of this page; the query and the Python lines give all {table.n:,}."


def _filled(frame: pd.DataFrame, spare: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """The rows without those columns of `spare` that are empty in all of them, and the names of these."""
    empty = [name for name in spare if name in frame and frame[name].isna().all()]
    return frame.drop(columns=empty), empty


MOST_NAMED = 4
"""Most empty columns that are named in a line; the names of more of them are folded."""


def _tell_left_out(names: Sequence[str]) -> None:
    named = ", ".join(f"`{name}`" for name in names)
    if len(names) > MOST_NAMED:
        with st.expander(f"{len(names)} columns are empty for the networks on this page, and so not shown"):
            st.markdown(named)
    elif names:
        st.caption(f"Empty for the networks on this page, and so not shown: {named}.")


def _paged(ask: Any) -> tuple[Table, int]:
    """The page of a table that is looked at, and its number; below it is said how many there are."""
    wanted = st.session_state.get("page", st.query_params.get("page", 1))
    page = int(wanted) if str(wanted).isdecimal() and int(wanted) > 0 else 1
    table: Table = ask(page)
    most = pages(table.n)
    if st.session_state.get(ENTERED) and (page > most or str(page) != str(wanted)):
        there = f"there are {most:,}" if most > 1 else "there is one"
        astray()["page"] = f"No page `{wanted}` here: {there}. This is page {min(page, most)}."
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if most > 1:
            st.session_state["page"] = min(page, most)
            page = int(
                st.number_input(f"Page, of {most:,}", 1, most, key="page", bind="query-params", width=150, on_change=_turned)
            )
        first = PAGE * (min(page, most) - 1)
        shown = f"{first + 1:,} to {first + len(table.frame):,} of " if most > 1 else ""
        # The browser sorts what it has.
        sorts = " A click on a column's name sorts this page alone; **Sorted by** sorts all rows." if most > 1 else ""
        st.caption(f"{shown}{counted(table.n, 'row')}. Tick rows to see their training curves, two to compare them.{sorts}")
    return table, page


def _turned() -> None:
    astray().pop("page", None)


def _rows(results: str, frame: pd.DataFrame, ids: list[list[str]], view: str, last: list[str]) -> None:
    """The rows, of which some can be ticked; each stands for the networks `ids`."""
    held = set(picked())
    ticked = [i for i, cells in enumerate(ids) if held.intersection(cells)]
    order = [name for name in frame.columns if name not in last] + last
    known = remembered(measures, results)
    config = {name: st.column_config.NumberColumn(format="%.4g") for name in frame.columns if name in known}
    config |= {name: st.column_config.NumberColumn(format="%.4g") for name in ("mean", "low", "high") if name in frame}
    config |= {name: st.column_config.TextColumn(width=width) for name, width in WIDTHS.items() if name in frame}
    config |= {"finished_at": st.column_config.DatetimeColumn("finished_at (UTC)", format="YYYY-MM-DD HH:mm:ss")}
    chosen = st.dataframe(
        frame, hide_index=True, height=min(460, 38 + 35 * len(frame)), column_order=order, column_config=config, placeholder="",
        on_select="rerun", selection_mode="multi-row", selection_default={"selection": {"rows": ticked}},
        key=f"rows {view} {times_unticked()}",
    )  # fmt: skip
    pick(ids, chosen["selection"]["rows"])
