"""Tables on terminals of every width: the fullest table that fits, never cut off."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_fitting(tables: Sequence[Table], out: Console) -> None:
    """Print the first of these tables, from the fullest to the briefest, that fits the terminal. If none fits, print the last;
    the terminal folds its lines.

    A pipe has no width to fold to: it gets the first.
    """
    needs = [out.measure(table, options=out.options.update(max_width=1000)).maximum for table in tables]
    fits = (i for i, need in enumerate(needs) if need <= out.width or not out.is_terminal)
    chosen = next(fits, len(tables) - 1)
    if needs[chosen] > out.width:
        out = Console(file=out.file, width=needs[chosen], force_terminal=out.is_terminal, no_color=out.no_color)
    out.print(tables[chosen])
