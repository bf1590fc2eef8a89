"""`python -m analysis.outcome --sweep NAME`: rich networks of a sweep beside the theory, as a JSON list on standard output.

A sweep calls it at its end. `console.outcome_table.print_outcome` shows the records.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any


def records(results: str, sweep: str) -> list[dict[str, Any]]:
    """The rows of `rich_networks` as plain values, None in place of NaN."""
    import pandas as pd  # imported here, so that the help and wrong options need not wait for it

    from analysis.report.outcome import rich_networks

    rows = rich_networks(results, sweep).to_dict("records")
    return [{str(name): None if pd.isna(value) else value for name, value in row.items()} for row in rows]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the records; exit with 2 and a message on standard error if the results cannot be read."""
    parser = argparse.ArgumentParser("python -m analysis.outcome", description="Rich networks of a sweep beside the theory.")
    parser.add_argument("--sweep", required=True, metavar="NAME", help="the sweep whose networks are listed")
    parser.add_argument("--results", default="results", metavar="DIR_OR_URI", help="where the results are")
    asked = parser.parse_args(arguments)
    from store.files import ResultsError

    try:
        found = records(asked.results, asked.sweep)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(found, allow_nan=False, default=_plain))
    return 0


def _plain(value: Any) -> Any:
    """Numbers of numpy as those of Python."""
    return value.item()


if __name__ == "__main__":
    sys.exit(main())
