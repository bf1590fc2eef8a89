"""`python -m tests.mutants`: faults put into copies of this checkout one at a time, and the test that finds each."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
import yaml
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
AREAS = ("engines", "store", "orchestration", "claims")
SURVIVED = "SURVIVED"
_FIRST = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_NO_TESTS = 5  # pytest's status where the markers leave none of the files' tests

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


class Mutant(NamedTuple):
    """A fault: the text `old`, which occurs once in the file, becomes `new`."""

    name: str
    area: str
    file: str
    old: str
    new: str
    why: str
    near: list[str]

    def applied(self, root: Path) -> str:
        """The file's text with the fault. ValueError if `old` does not occur exactly once."""
        text = (root / self.file).read_text()
        if (n := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: its old text occurs {n} times in {self.file}")
        return text.replace(self.old, self.new)


def mutants() -> list[Mutant]:
    """All faults of tests/mutants.yaml."""
    return [Mutant(**one) for one in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())]


def copy_to(folder: Path) -> None:
    """Copy the checkout as it is, uncommitted changes too, as a repository of its own: some tests ask git.

    Only tests/test_mutants.py stays behind, which any fault would fail. Files keep their times, by which numba knows its cache.
    """
    listed = subprocess.check_output(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, text=True).split("\0")
    for path in filter(None, listed):
        if (ROOT / path).exists() and path != "tests/test_mutants.py":  # a path may be deleted and not committed
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path, follow_symlinks=False)
    for words in ("init -q", "add -A", "-c user.name=m -c user.email=m@localhost commit -q -m copy"):
        subprocess.run(["git", *words.split()], cwd=folder, check=True)


def environment(copy: Path) -> dict[str, str]:
    """Variables with which each process that a test starts imports from the copy, ahead of the editable install."""
    return os.environ | {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy.parent / "numba")}


def imported(copy: Path, file: str) -> str:
    """The path from which a command such as `sweep` imports the module of this file: unlike `-m`, it does not look here first."""
    module = ".".join(Path(file).with_suffix("").parts)
    ask = f"import importlib.util as u; print(u.find_spec({module!r}).origin)"
    return subprocess.check_output([sys.executable, "-P", "-c", ask], cwd=copy, env=environment(copy), text=True).strip()


def run(words: list[str], copy: Path) -> str:
    """The first test that fails in the copy, or SURVIVED. RuntimeError if pytest itself cannot run."""
    process = subprocess.Popen(
        [sys.executable, "-m", *words], cwd=copy, env=environment(copy), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        told, _ = process.communicate()
    except BaseException:
        for signum in (signal.SIGINT, signal.SIGKILL):  # at the first pytest lets fixtures end what they started
            with suppress(subprocess.TimeoutExpired, ProcessLookupError):
                os.killpg(process.pid, signum)
                process.communicate(timeout=20)
        raise
    if first := _FIRST.search(told):
        return first[1]
    if process.returncode not in (0, _NO_TESTS):
        raise RuntimeError(f"{shlex.join(words)} ended with {process.returncode}:\n{told[-3000:]}")
    return SURVIVED


def found_by(mutant: Mutant, words: list[str], only_near: bool, copy: Path) -> str:
    """The first test that finds the fault in a copy at this path, which is made anew, or SURVIVED."""
    shutil.rmtree(copy, ignore_errors=True)
    copy_to(copy)
    (copy / mutant.file).write_text(mutant.applied(copy))
    if (path := imported(copy, mutant.file)) != str(copy / mutant.file):
        raise RuntimeError(f"tests would import {path}, not the copy with the fault")
    options = [word for word in words if not word or not (copy / word.split("::")[0]).exists()]
    found = run([*options, *mutant.near], copy)
    if found == SURVIVED and not only_near:
        found = run(words, copy)
    if found != SURVIVED:
        shutil.copy2(ROOT / mutant.file, copy / mutant.file)
        if run([*options, found], copy) != SURVIVED:
            raise RuntimeError(f"{found} fails without the fault, too")
    return found


@app.command()
def main(
    only: Annotated[str, typer.Option(help="Only the faults with this word in their name or area.")] = "",
    command: Annotated[str, typer.Option(help="The tests, as a module and its words.")] = "pytest -x -q -n 2 --dist loadfile",
    near: Annotated[bool, typer.Option("--near", help="Only the tests that a fault names as near.")] = False,
) -> None:
    """Put each fault into a copy of this checkout and run the tests there. Exit 1 if one survives, 2 if one cannot be tried."""
    table = Table("fault", "area", "found by", "minutes", box=None)
    code = 0
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        try:
            for mutant in mutants():
                if only not in mutant.name and only not in mutant.area:
                    continue
                started = time.monotonic()
                try:
                    found = found_by(mutant, shlex.split(command), near, Path(folder, "checkout"))
                except (RuntimeError, ValueError, subprocess.CalledProcessError) as error:
                    found, code = f"could not be tried: {error}", 2
                code = max(code, int(found == SURVIVED))
                typer.echo(f"{mutant.name}: {found}", err=True)
                table.add_row(mutant.name, mutant.area, found.splitlines()[0], f"{(time.monotonic() - started) / 60:.1f}")
        except KeyboardInterrupt:
            code = 130
    Console(width=200, markup=False).print(table)  # else [local] would be taken for a style
    raise typer.Exit(code)


if __name__ == "__main__":
    app()
