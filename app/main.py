"""The app: `streamlit run app/main.py -- --results DIR`. One page so far: a sweep's accuracy curves beside Eq. 3."""

import argparse
import sys

import streamlit as st

from analysis.accuracy import accuracy_points
from analysis.charts import accuracy_chart, accuracy_frame
from analysis.coverage import coverage, failures
from analysis.source import ResultsError

REFRESH_S = 5
"""How often the page looks for new results of a running sweep."""


def results_directory() -> str:
    """What follows `--` on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", default="results")
    return str(parser.parse_args(sys.argv[1:]).results)


@st.fragment(run_every=REFRESH_S)
def page(results: str) -> None:
    """Everything below the title; runs again by itself."""
    try:
        _sweep(results)
    except ResultsError as error:
        st.error(str(error))


def _sweep(results: str) -> None:
    counts = coverage(results)
    if not counts:
        st.info(f"Nothing in `{results}` yet. Type `python -m orchestrator.sweep grid.yaml` and leave this page open.")
        return
    asked = st.query_params.get("sweep")
    names = list(counts)
    sweep = st.selectbox("Sweep", names, index=names.index(asked) if asked in names else 0)
    st.query_params["sweep"] = sweep
    for column, (status, n) in zip(st.columns(len(counts[sweep])), counts[sweep].items(), strict=True):
        column.metric(status, n)
    for reason, n, log in failures(results, sweep):
        st.warning(f"{n} cells: {reason}" + (f" (traceback: `{log}`)" if log else ""))
    points = accuracy_points(results, sweep)
    if not points:
        st.info("This sweep has no finished noiseless same-different networks to draw. Query it: `python -m analysis.query`.")
        return
    st.altair_chart(accuracy_chart(points, height=440))
    st.caption(
        "Noiseless networks: mean over seeds with its 95% t interval. `best_test_acc` is the best of all evaluations, "
        "which is biased upward; `final_test_acc` is the last one."
    )
    frame = accuracy_frame(points)
    st.dataframe(frame.round(4), hide_index=True)
    st.download_button("CSV", frame.to_csv(index=False), f"{sweep}.csv", "text/csv")


st.set_page_config("Sweeps", layout="wide")
st.title("Sweeps beside the theory")
page(results_directory())
