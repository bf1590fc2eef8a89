"""`python -m benchmarks.attention [results]`: samples that lazy softmax attention needs [Rubin25 Sec. 6.2] beside those measured.

Lazy heads are drawn from the prior at each size; the expansion in 1/Lc stands beside them. P* is at alignment 0.15, kappa = 1.
"""

import sys
from math import hypot, log
from statistics import stdev
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from sweepkit.studies.rubin25.figures.attention import LEVEL
from sweepkit.studies.rubin25.theory.attention import Drawn, drawn_eigenvalue, eigenvalue

from analysis import Results

SIZES = ((6, 8), (6, 16), (6, 32), (8, 16), (12, 16))
"""d and Lc of attention_quick."""
GROWTHS = (("Lc", (6, 8), (6, 32)), ("d", (6, 16), (12, 16)))
"""The first and the last size along one axis."""
HEADS: dict[str, str | int] = {"task": "token_pairs", "network": "attention", "width": 2, "kappa": 1}


def main(results: str) -> None:
    """Print both tables."""
    found = Results(results).threshold(x="P", at=LEVEL, y="alignment_f", by=["d", "context"], where=HEADS)
    levels: dict[Any, Any] = found.set_index(["d", "context"]).to_dict("index")
    lazy = {size: drawn_eigenvalue(*size) for size in SIZES}
    table = Table("d", "Lc", "lambda drawn", "expansion", "over drawn", "lazy P*", "measured P*", box=SIMPLE_HEAD)
    for (d, context), drawn in lazy.items():
        expanded, level = eigenvalue(d, context), levels[d, context]
        measured = f"{level['threshold']:.0f} ({level['low']:.0f} to {level['high']:.0f})"
        times = expanded / drawn.value
        table.add_row(
            *(str(d), str(context), f"{drawn.value:.2e} +- {drawn.error:.1e}", f"{expanded:.2e}"),
            *(f"{times:.2f} +- {times * _share(drawn):.2f}", _samples(drawn), measured),
        )
    growth = Table("along", "lazy heads, drawn", "exponent", "expansion", box=SIMPLE_HEAD)
    for axis, first, last in GROWTHS:
        ratio, error = lazy[first].value / lazy[last].value, hypot(_share(lazy[first]), _share(lazy[last]))
        sizes = log((last[1] if axis == "Lc" else last[0]) / (first[1] if axis == "Lc" else first[0]))
        growth.add_row(
            *(f"{axis}, {first} to {last}", f"{ratio:.2f} +- {ratio * error:.2f}"),
            *(f"{log(ratio) / sizes:.2f} +- {error / sizes:.2f}", f"{eigenvalue(*first) / eigenvalue(*last):.2f}"),
        )
    console = Console(width=120)
    console.print(table)
    console.print(growth)
    units = [0.5 * log(context) + 1.5 * log(d) for d, context in SIZES]
    samples = {"lazy heads": [1 / lazy[size].value for size in SIZES], "measured": [levels[size]["threshold"] for size in SIZES]}
    spreads = {name: stdev(log(P) - unit for P, unit in zip(of, units, strict=True)) for name, of in samples.items()}
    told = ", ".join(f"{name} {spread:.2f}" for name, spread in spreads.items())
    console.print(f"Spread of ln P* over these sizes in units of sqrt(Lc d^3): {told}")


def _share(drawn: Drawn) -> float:
    return drawn.error / drawn.value


def _samples(drawn: Drawn) -> str:
    """P* = alpha / (lambda (1 - alpha)) with its standard error."""
    samples = LEVEL / (1 - LEVEL) / drawn.value
    return f"{samples:.0f} +- {samples * _share(drawn):.0f}"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "evidence")
