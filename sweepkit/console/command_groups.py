"""Groups of commands whose options may stand before the subcommand as well as behind it."""

from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from sweepkit.console.words import listed, nearest


class OptionsAnywhere(TyperGroup):
    """A group that hands options in front of a subcommand to it: `--results DIR status` is `status --results DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for i, word in enumerate(args):
            if i and word in self.list_commands(ctx):
                command = self.get_command(ctx, word)
                if _are_options(args[:i], _options_of(command)):
                    args = [word, *args[:i], *args[i + 1 :]]
                    break
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}{nearest(args[0], known) or ';'} there are {listed(known)}")
        return super().resolve_command(ctx, args)


def _options_of(command: Any) -> dict[str, bool]:
    """Whether each option of a command takes a value; for a group, the options of its subcommands."""
    below = [option for one in getattr(command, "commands", {}).values() for option in _options_of(one).items()]
    own = [
        (name, not parameter.is_flag)
        for parameter in command.params
        if parameter.param_type_name == "option"
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]
    return dict([*below, *own])


def _are_options(words: Sequence[str], takes_value: dict[str, bool]) -> bool:
    """Whether the words are options of these names, each with its value."""
    rest = list(words)
    while rest:
        name, equals, _ = rest.pop(0).partition("=")
        if name not in takes_value:
            return False
        if takes_value[name] and not equals:
            if not rest:
                return False
            rest.pop(0)
    return True
