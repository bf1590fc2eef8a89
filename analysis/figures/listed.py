"""`sweep figures FILE.yaml`: the figures of a paper, listed beside its grids and drawn anew by one command; and what adds to one.

```yaml
figures:
  - {name: fig1, figure: curve, sweep: mine, x: L, by: gamma, where: {d: [64, 128]}, width: 240}
  - {name: fig2, figure: threshold, sweep: mine, of: L, x: d, by: gamma, panels: none, caption: false}
  - {name: fig3, figure: compare, sweep: mine, arms: {gamma: [1, 0.1]}, x: L}
```

Keys are the options of `sweep figure`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from analysis.data.source import ResultsError
from sweepkit.console.streams import run_and_leave
from sweepkit.console.terminal import stop
from sweepkit.console.words import counted, listed, nearest, show
from sweepkit.console.yaml_lines import NotYamlError, read_yaml, written
from sweepkit.options import Studies

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
USUAL = "figures.yaml"
"""The name of a list where none is given."""
OWN = ("name", "figure")
"""Keys of a figure that are no options."""
_OF_ALL = ("results", "study", "out", "name", "wait", "help")
"""Options that hold for all figures of a list, or have a key of their own."""


class Entry(NamedTuple):
    """A figure of a list: the name of its files, and the words after `sweep figure`."""

    name: str
    words: list[str]


@app.command()
def figures(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The list.")] = Path(USUAL),
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only these of its figures.")] = None,
    results: Annotated[str, typer.Option(metavar="DIR_OR_URI", help="Where results are stored.")] = "results",
    study: Studies = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the files.")] = Path("figures"),
    wait: Annotated[bool, typer.Option(help="Compute theory that takes minutes and is not kept on disk yet.")] = True,
) -> None:
    """Draw the figures that a file lists, each as SVG, PNG, PDF and CSV. Status 2 if one could not be drawn."""
    try:
        there = entries(file)
    except (ResultsError, OSError) as error:
        stop(str(error) if isinstance(error, ResultsError) else f"cannot read {file}: {error.strerror}")
    known = [one.name for one in there]
    for name in names or ():
        if name not in known:
            stop(f"{file} has no figure {name!r}{nearest(name, known) or ';'} there are {listed(known)}")
    chosen = [one for one in there if not names or one.name in names]
    console, failed = Console(highlight=False, soft_wrap=True), []
    common = ["--results", results, "--out", str(out), *([] if wait else ["--no-wait"])]
    for i, one in enumerate(chosen, 1):
        console.print(f"{i}/{len(chosen)} {one.name}", markup=False)
        if status := _drawn([*one.words, "--name", one.name, *common]):
            failed.append(one.name)
            if status > 2:  # interrupted
                raise typer.Exit(status)
    if failed:
        others = "; the others are" if len(failed) < len(chosen) else ""
        stop(f"{counted(len(failed), 'figure')} could not be drawn: {listed(failed)}{others}")


def _command() -> Any:
    from analysis.figures.__main__ import app as one_figure

    return typer.main.get_command(one_figure)


def _drawn(words: list[str]) -> int:
    """Draw a figure; its status."""
    return int(_command().main(words, prog_name="sweep figure", standalone_mode=False) or 0)


def entries(file: Path) -> list[Entry]:
    """The figures of a list. ResultsError names all that is wrong with it; OSError if it cannot be read."""
    try:
        whole = read_yaml(file)
    except NotYamlError as error:
        raise ResultsError(str(error)) from None
    held = whole.get("figures") if isinstance(whole, dict) else None
    if not isinstance(held, list) or not held or len(whole) > 1:
        raise ResultsError(f"{file}: must hold `figures:` and below it a list, such as - {{name: fig1, figure: curve, x: L}}")
    found: list[Entry] = []
    wrong, command = [], _command()
    for i, one in enumerate(held, 1):
        try:
            entry = _entry(one, command)
            if entry.name in [other.name for other in found]:
                raise ResultsError(f"name: {entry.name} is there twice")
            found.append(entry)
        except ResultsError as error:
            told = f" ({one['name']})" if isinstance(one, dict) and isinstance(one.get("name"), str) else ""
            wrong.append(f"{file}, figure {i}{told}: {error}")
    if wrong:
        raise ResultsError("\n".join(wrong))
    return found


def _entry(one: Any, command: Any) -> Entry:
    """A figure from the mapping of a list."""
    if not isinstance(one, dict):
        raise ResultsError(f"{show(one)}: must be a mapping, such as {{name: fig1, figure: curve, x: L}}")
    for key in OWN:
        if not isinstance(one.get(key), str | int) or isinstance(one.get(key), bool):
            raise ResultsError(f"{key}: is missing, or no text")
    name, words = str(one["name"]), [str(one["figure"])]
    if Path(name).name != name or name in ("", ".", ".."):
        raise ResultsError(f"name: {name}: say a file's name without a folder")
    options = {option.lstrip("-"): parameter for parameter in command.params for option in _options(parameter)}
    known = {said.removeprefix("no-"): parameter for said, parameter in options.items() if parameter.name not in _OF_ALL}
    for key, value in one.items():
        if key not in OWN:
            parameter = known.get(str(key).replace("_", "-"))
            if parameter is None:
                raise ResultsError(f"{key}: no such option{nearest(str(key), known) or ';'} there are {listed(sorted(known))}")
            words += _words(str(key), value, parameter)
    try:
        command.make_context("sweep figure", [*words])
    except typer.BadParameter as error:
        raise ResultsError(error.format_message()) from None
    return Entry(name, words)


def _options(parameter: Any) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts] if parameter.param_type_name == "option" else []


def _words(key: str, value: Any, parameter: Any) -> list[str]:
    """The words of the command line for an option of a list."""
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise ResultsError(f"{key}: {show(value)}: say true or false")
        names = parameter.opts if value else parameter.secondary_opts
        return [names[0]] if names else []
    if key == "where":
        pairs = value.items() if isinstance(value, dict) else [str(one).partition("=")[::2] for one in _list(value)]
        return [word for name, values in pairs for word in ("--where", f"{name}={_text(values)}")]
    if key == "arms" and isinstance(value, dict):
        value = ",".join(f"{name}={_text(values)}" for name, values in value.items())
    return [parameter.opts[0], _text(value)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _text(value: Any) -> str:
    """Values as the command line has them: `64,128`, `none`."""
    return ",".join("none" if one is None else str(one).lower() if isinstance(one, bool) else str(one) for one in _list(value))


def add(file: Path, figure: Mapping[str, Any]) -> str:
    """Add a figure to the end of a list, which is made if it is not there; the name that it has there, with a number if its own
    is taken. What the file holds stays as it is. ResultsError if it is no such list, or would be none; OSError if it cannot be
    written."""
    before = file.read_text() if file.exists() else "figures:\n"
    names = [one.name for one in entries(file)] if file.exists() else []
    own = str(figure["name"])
    name = next(one for one in (own, *(f"{own}-{i}" for i in range(2, len(names) + 3))) if one not in names)
    line = written([{**figure, "name": name}])
    text = before.rstrip("\n") + "\n" + "".join(f"  {row}\n" for row in line.rstrip("\n").split("\n"))
    tried = file.with_name(f".{file.name}.new")
    tried.write_text(text)
    try:
        if [one.name for one in entries(tried)] != [*names, name]:
            raise ResultsError(f"{file}: nothing can be added below its list; add it by hand")
        tried.replace(file)
    finally:
        tried.unlink(missing_ok=True)
    return name


if __name__ == "__main__":
    run_and_leave(lambda: app(prog_name="python -m analysis.figures.listed"), quiet_pipe=True)
