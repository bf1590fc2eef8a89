"""The thresholds that the sweeps of some networks searched for."""

from analysis.data.selection import Selection
from sweepkit.store import searches
from sweepkit.store.searches import Question
from sweepkit.store.views import run


def asked_of(results: str, selection: Selection) -> list[Question]:
    """The questions for which the selected networks were asked for, that of most networks first."""
    ids = f"SELECT cell_id FROM {selection.source} WHERE {selection.condition}"
    return run(results, lambda connection: searches.questions(connection, ids, selection.sweep))
