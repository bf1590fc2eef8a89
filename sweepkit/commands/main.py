"""The command `sweep`. A subcommand's modules are imported when it is called, so that help comes at once."""

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple, NoReturn

import typer

from sweepkit import __version__
from sweepkit.console.command_groups import OptionsAnywhere
from sweepkit.console.commands import ENTRY, joined
from sweepkit.console.streams import run_and_leave
from sweepkit.shipped import page


class Subcommand(NamedTuple):
    """A subcommand: what it does, the module and the name of its Typer app, and whether a closed pipe ends it quietly."""

    does: str
    module: str
    app: str = "app"
    quiet_pipe: bool = True


SUBCOMMANDS = {
    "run": Subcommand("Train the networks of a grid that are missing from the results.", "orchestrator.sweep", quiet_pipe=False),
    "plan": Subcommand("Say what `run` would train, and how long it would take.", "orchestrator.sweep", "plan_app"),
    "query": Subcommand("Query the results in SQL.", "analysis.query"),
    "figure": Subcommand("Draw a figure as SVG, PNG and PDF, with its data as CSV.", "analysis.figures.__main__"),
    "figures": Subcommand("Draw the figures of a paper, which a file lists, anew.", "analysis.figures.listed"),
    "report": Subcommand("Write what was run, with figures and claims, as one HTML file.", "analysis.report.__main__"),
    "verdicts": Subcommand("Check each statement of the papers; write the page of verdicts.", "analysis.verdicts.__main__"),
    "study": Subcommand("Start, run, judge and list studies: a law or a paper as one folder.", "sweepkit.commands.study"),
    "app": Subcommand("Show the results in a browser.", "sweepkit.commands.app", quiet_pipe=False),
    "store": Subcommand("Look after a results directory: status, size, tag, delete, check, copy, ...", "orchestrator.store"),
    "launch": Subcommand("Start, use and stop a cluster: up, submit, status, down.", "orchestrator.launch", quiet_pipe=False),
}


_MORE = f"""`sweep COMMAND --help` explains a command and its options, which may stand before or after it. The documentation
begins at {page("start/first-sweep.md")}."""


class _Lazy(OptionsAnywhere):
    """The subcommands, each imported when it is called; the list of them needs no import."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in SUBCOMMANDS:
            return None
        chosen = SUBCOMMANDS[cmd_name]
        if chosen.quiet_pipe:  # `... | head` ends quietly, as with any Unix tool
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        return typer.main.get_command(getattr(import_module(chosen.module), chosen.app))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.does) for name, one in SUBCOMMANDS.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in SUBCOMMANDS and (meant := _meant(args)):
            ctx.fail(f"{args[0]!r} is no command: type `{joined(['sweep', *meant])}`")
        return super().resolve_command(ctx, args)


def _meant(args: Sequence[str]) -> list[str]:
    """The command for arguments that lack its name: a grid is run, a query is asked."""
    first = args[0]
    if first.endswith((".yaml", ".yml")) or any(word.endswith((".yaml", ".yml")) for word in args if "=" in first):
        return ["run", *args]
    return ["query", *args] if first.lower().startswith(("select ", "with ", "from ")) else []


app = typer.Typer(
    cls=_Lazy, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},  # of all subcommands, too
)  # fmt: skip


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sweep {__version__}")
        raise typer.Exit


@app.callback(epilog=_MORE)
def sweep(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Sweeps of many small networks, compared with theory."""


def main() -> NoReturn:
    """The entry point `sweep`."""
    os.environ[ENTRY] = str(os.getpid())
    run_and_leave(lambda: app(prog_name="sweep"))


if __name__ == "__main__":
    sys.exit(main())
