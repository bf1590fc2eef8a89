"""The command `sweep`: its subcommands, where options may stand, and a user's own files in the working directory."""

import os
import signal
import socket
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sweepkit.commands.main import SUBCOMMANDS, app
from sweepkit.console.commands import ENTRY, FORMS, command, documented, name_entry_point, words
from sweepkit.console.shadowing import PACKAGES
from sweepkit.store.store import Store
from sweepkit.store.views import fetch
from tests.store_rows import row
from tests.sweeps import answers, wait_for

ROOT = Path(__file__).resolve().parents[3]
SWEEP = str(Path(sys.executable).with_name("sweep"))
MINI = """\
sweep: mini
defaults: {steps: 100, eval_every: 50, width: 8, batch: 16, test_size: 32}
grids:
  - {task: same_different, L: 3, d: 4, gamma: [1, lazy], seed: 0}
"""


def called(*args):
    return CliRunner().invoke(app, [*map(str, args)], prog_name="sweep", env={"COLUMNS": "200"})


@pytest.fixture
def crowded(tmp_path):
    """A working directory with a user's own files, named like a package of this project or as many a script is."""
    for name in (*PACKAGES, "commands", "console", "declarations", "stats", "store", "templates", "utils"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is a file of the user')\n")
    (tmp_path / "mini.yaml").write_text(MINI)
    return tmp_path


def test_help_names_every_subcommand_and_imports_none():
    code = """if True:
        import sys
        from sweepkit.commands.main import app
        try:
            app(["--help"])
        finally:
            print({"ray", "torch", "duckdb", "pandas"} & set(sys.modules))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert all(f"  {name} " in done.stdout for name in SUBCOMMANDS)
    assert done.stdout.rstrip().endswith("set()"), done
    assert list(FORMS) == list(SUBCOMMANDS)


def test_the_help_of_the_store_tells_each_command_in_a_whole_sentence():
    done = CliRunner().invoke(app, ["store", "--help"], prog_name="sweep", terminal_width=80)
    commands = [line for line in done.output.partition("Commands:")[2].splitlines() if line.strip()]
    assert len(commands) == 12 and all(line.endswith(".") and not line.endswith("...") for line in commands), done.output


def test_version_is_that_of_the_project():
    assert called("--version").output == f"sweep {version('sweepkit')}\n"


@pytest.mark.parametrize("name", [name for name in SUBCOMMANDS if name != "launch"])
def test_each_subcommand_has_its_help(name):
    done = called(name, "-h")
    assert done.exit_code == 0 and f"sweep {name}" in done.output and called(name, "--help").output == done.output


@pytest.mark.parametrize(
    "words",
    [
        ("--results", "DIR", "store", "status", "--json"),
        ("store", "--results", "DIR", "--json", "status"),
        ("store", "--json", "status", "--results=DIR"),
        ("--json", "store", "status", "--results", "DIR"),
    ],
)
def test_options_stand_before_or_behind_the_subcommand(words, tmp_path):
    (tmp_path / "status").mkdir()  # a directory named like a subcommand is still the value of its option
    done = called(*(word.replace("DIR", str(tmp_path / "status")) for word in words))
    assert done.exit_code == 0, done.output
    assert '"results"' in done.stdout


def test_the_usage_of_figures_names_what_can_be_drawn():
    assert (
        called("figure", "--help").output.splitlines()[0]
        == "Usage: sweep figure curve|map|threshold|rescaled|compare|FIGURE [OPTIONS]"
    )
    assert "Usage: sweep figure curve|map|threshold|rescaled|compare|FIGURE" in called("figure").output


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["grid.yaml", "gamma=1"], "type `sweep run grid.yaml gamma=1`"),
        (["SELECT 1"], "type `sweep query 'SELECT 1'`"),
        (["stor"], "no command 'stor'; did you mean 'store'?"),
        (["store", "stauts"], "did you mean 'status'?"),
        (["plan", "gamma=1", "grid.yaml"], "the grid comes first, then the axes"),
        (["query", ".", "SELECT 1"], "results are named by an option"),
        (["query", "SELECT", "1"], "in quotation marks"),
    ],
)
def test_what_was_meant_is_recognised(args, says):
    done = called(*args)
    assert done.exit_code == 2 and says in done.output


def test_hints_have_the_form_that_was_typed(monkeypatch):
    assert command("query", "SELECT 'a'") == "python -m analysis.query \"SELECT 'a'\""
    assert words("app", "--results", "r")[-4:][1:] == ["--", "--results", "r"]
    assert command("plan", "grid.yaml", "L=3") == "python -m orchestrator.sweep grid.yaml L=3 --dry-run"
    monkeypatch.setenv(ENTRY, str(os.getpid()))
    assert command("query", "SELECT 1") == "sweep query 'SELECT 1'"
    assert words("app", "--results", "r") == ["sweep", "app", "--results", "r"]
    monkeypatch.delenv(ENTRY)
    with documented():
        assert command("report") == "sweep report"
    assert command("report") == "python -m analysis.report"


@pytest.mark.parametrize("installed", [True, False])
def test_a_page_names_the_entry_point_where_it_is_installed(monkeypatch, tmp_path, installed):
    monkeypatch.setenv(ENTRY, "")
    monkeypatch.delenv(ENTRY)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    if installed:
        (tmp_path / "sweep").touch()
    name_entry_point()
    assert command("query") == ("sweep query" if installed else "python -m analysis.query")


@pytest.mark.parametrize("how", ["--debug", pytest.param("--max-concurrent=1", marks=pytest.mark.ray)])
def test_a_users_own_files_do_not_matter(crowded, how):
    done = subprocess.run([SWEEP, "run", "mini.yaml", how], capture_output=True, text=True, cwd=crowded, check=False)
    assert done.returncode == 0, done.stderr
    assert "  query:   sweep query " in done.stdout and "Eq. 3" in done.stdout  # the comparison is a process of its own
    assert fetch(str(crowded / "results"), "SELECT count(*) FROM cells WHERE status = 'ok'") == [(2,)]


@pytest.mark.parametrize(
    ("module", "name"), [("orchestrator.sweep", "run"), ("orchestrator.store", "store"), ("analysis.query", "query")]
)
def test_a_module_says_what_hides_a_package(tmp_path, module, name):
    (tmp_path / "trainables.py").write_text("")
    done = subprocess.run([sys.executable, "-m", module, "a b"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"{tmp_path}/trainables.py hides the package `trainables` of this project: rename it, or type `sweep {name} 'a b'`\n"
    )


def test_ctrl_c_ends_the_app_without_a_word(tmp_path):
    Store(str(tmp_path)).commit("p", [row(0)])
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    words = [SWEEP, "app", "--results", str(tmp_path), "--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        wait_for(lambda: answers(f"http://localhost:{port}/_stcore/health"), server)
        server.send_signal(signal.SIGINT)
        said, _ = server.communicate()
    assert server.returncode == 0 and "URL" in said
    assert "nanobind" not in said and "Aborted" not in said


def test_every_package_is_guarded(tmp_path):
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert told == list(PACKAGES)


@pytest.mark.parametrize("name", sorted({*PACKAGES} - {"analysis", "app"}))
def test_a_module_beside_a_notebook_that_hides_a_package_is_named(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("")
    done = subprocess.run([sys.executable, "-c", "import analysis"], capture_output=True, text=True, cwd=tmp_path, check=False)
    said = f"ImportError: {tmp_path}/{name}.py hides the package `{name}` of this project: rename it\n"
    assert done.stderr.endswith(said)


def test_an_app_of_the_users_own_hides_that_of_this_project_only_where_one_is_shown(tmp_path):
    (tmp_path / "app.py").write_text("")
    for before, refused in (("", False), ("import sys, types; sys.modules['streamlit'] = types.ModuleType('streamlit'); ", True)):
        words = [sys.executable, "-c", f"{before}import analysis"]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert (f"{tmp_path}/app.py hides the package `app`" in done.stderr) == refused == bool(done.returncode)
