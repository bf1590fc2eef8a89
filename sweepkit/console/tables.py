"""Tables on terminals of every width: the fullest table that fits, never cut off."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def print_fitting(tables: Sequence[Table], out: Console) -> None:
    """Print the first of these tables, from the fullest to the briefest, that fits the terminal. Its title and its caption stand
    on lines of their own. If none fits, print the last; the terminal folds its lines.

    A pipe has no width to fold to: it gets the first, without blanks at the ends of lines.
    """
    titles = [(table.title, table.caption) for table in tables]
    for table in tables:
        table.title = table.caption = None  # Rich would fold them to the width of the table
    needs = [out.measure(table, options=out.options.update(max_width=1000)).maximum for table in tables]
    fits = (i for i, need in enumerate(needs) if need <= out.width or not out.is_terminal)
    chosen = next(fits, len(tables) - 1)
    title, caption = titles[chosen]
    if title:
        out.print(title, style="bold", highlight=False, soft_wrap=True)
    if out.is_terminal:
        wide = Console(file=out.file, width=needs[chosen], force_terminal=True, no_color=out.no_color)
        (wide if needs[chosen] > out.width else out).print(tables[chosen])
    else:
        write_plain(tables[chosen], out)
    if caption:
        out.print(caption, style="dim", highlight=False, soft_wrap=True)


def write_plain(table: Table, out: Console) -> None:
    """Write the table for a pipe: in its own width, without blanks at the ends of lines."""
    wide = Console(file=out.file, width=out.measure(table, options=out.options.update(max_width=1000)).maximum)
    with wide.capture() as printed:
        wide.print(table)
    out.file.write("".join(f"{line.rstrip()}\n" for line in printed.get().splitlines()))
