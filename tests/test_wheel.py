"""The wheel is the product: it is built, installed into an empty environment, and used from a folder of a user's own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sweepkit import __version__
from tests.sweeps import answers, wait_for

ROOT = Path(__file__).parents[1]
UV = [sys.executable, "-m", "uv"]
OWN_FILES = ("store.py", "stats.py", "templates.py", "utils.py", "commands.py", "console.py")
GRID = """\
sweep: mini
defaults: {steps: 200, eval_every: 50, width: 16, batch: 16, test_size: 64}
grids:
  - {task: same_different, L: [2, 4, 8], d: 8, gamma: [1, lazy], seed: [0, 1]}
"""

pytestmark = pytest.mark.guard


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([*UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", out], cwd=ROOT, check=True)
    (made,) = out.glob("*.whl")
    return made


class Installed:
    """An environment with the wheel, and a folder of a user that holds a grid and files named like many a module."""

    def __init__(self, home: Path, wheel: Path, extras: str) -> None:
        self.env, self.folder = home / "env", home / "mine"
        python = self.env / "bin/python"
        subprocess.run([*UV, "venv", "--quiet", "--python", sys.executable, self.env], check=True)
        install = [*UV, "pip", "install", "--quiet", "--python", python, "--constraint", ROOT / "requirements.lock"]
        subprocess.run([*install, f"{wheel}{extras}"], check=True)
        self.folder.mkdir()
        for name in OWN_FILES:
            (self.folder / name).write_text("raise SystemExit('this is a file of the user')\n")
        (self.folder / "mini.yaml").write_text(GRID)
        own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
        self.environment = own | {"PATH": f"{self.env}/bin{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}

    def ran(self, *words: str) -> tuple[int, str]:
        """Exit code and all words of a command in the user's folder."""
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def said(self, *words: str) -> str:
        code, text = self.ran(*words)
        assert code == 0, text
        return text


@pytest.fixture(scope="module")
def base(wheel, tmp_path_factory) -> Installed:
    return Installed(tmp_path_factory.mktemp("base"), wheel, "")


@pytest.fixture(scope="module")
def whole(wheel, tmp_path_factory) -> Installed:
    return Installed(tmp_path_factory.mktemp("whole"), wheel, "[all,notebook]")


def test_its_top_level_is_five_packages_and_it_holds_all_that_they_read(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    information = f"sweepkit-{__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"analysis", "app", "orchestrator", "sweepkit", "trainables", information}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    packages = ("analysis/", "app/", "orchestrator/", "sweepkit/", "trainables/")
    inside = {f"sweepkit/{name}" for name in tracked if name.startswith(("studies/", "examples/")) or name == "grid.yaml"}
    assert {name for name in tracked if name.startswith(packages)} | inside <= {*names}
    assert not [name for name in names if "__pycache__" in name or name.startswith("sweepkit/evidence")]


def test_reading_results_needs_no_ray_torch_numba_or_streamlit(base):
    packages = base.env / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    assert not {"ray", "torch", "numba", "streamlit", "vl_convert"} & {path.name for path in packages.iterdir()}
    # Not a taste: numpy, scipy, pandas, pyarrow and duckdb are 441 of the 471 MB that it takes in November 2026.
    assert sum(file.lstat().st_size for file in packages.rglob("*") if file.is_file()) < 520 * 2**20


def test_results_are_read_from_any_folder(base):
    evidence = str(ROOT / "evidence")
    asked = base.said("sweep", "query", "SELECT count(*) AS n FROM cells WHERE status = 'ok'", "--results", evidence)
    assert int(asked.split()[-1]) > 30_000
    assert "eq3-errors" in base.said("sweep", "store", "status", "--results", evidence)
    code = f"""if True:
        from analysis import Results
        chart = Results({evidence!r}).plot(x="L", y="best_test_acc", by="gamma", sweep="eq3-errors")
        assert "Eq. 3" in chart.to_json()
        from orchestrator import Grid
        print(Grid.load("grid"))"""
    assert "Grid eq3: 198 networks" in base.said("python", "-c", code)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["run", "mini.yaml"], "train"), (["plan", "quick"], "train"), (["launch", "up", "x.yaml"], "train"),
        (["figure", "curve"], "figures"), (["report"], "figures"), (["app"], "app"),
        (["query", "SELECT 1", "--results", "s3://bucket/results"], "cluster"),
    ],
)  # fmt: skip
def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(base, wheel, words, extra):
    code, said = base.ran("sweep", *words)
    assert code in (1, 2) and len(said.splitlines()) == 1 and said.endswith(f"'{wheel}[{extra}]'\n") and " pip install " in said


def test_in_python_a_missing_extra_is_the_same_line(base):
    code, said = base.ran("python", "-c", "from orchestrator import run; run('mini.yaml')")
    assert code == 1 and said.splitlines()[-1].startswith("orchestrator.options.SweepError: training needs ray, torch, numba")


@pytest.mark.nightly
def test_everything_works_from_a_users_folder(whole):
    assert "12 cells, 0 in the store, 12 to train" in whole.said("sweep", "plan", "mini.yaml")
    assert "sweep figure curve --sweep mini" in whole.said("sweep", "run", "mini.yaml", "-q")
    assert "quick" in whole.said("sweep", "plan", "quick") and not Path(whole.folder, "quick.yaml").exists()
    assert whole.said("sweep", "query", "SELECT count(*) FROM cells WHERE status = 'ok'").split()[-1] == "12"
    whole.said("sweep", "figure", "curve", "--x", "L")
    assert {path.suffix for path in (whole.folder / "figures").iterdir()} == {".svg", ".png", ".pdf", ".csv"}
    whole.said("sweep", "report", "--no-wait")
    assert "mini" in (whole.folder / "report.html").read_text()
    whole.said("sweep", "verdicts")
    assert "12 networks" in (whole.folder / "verdicts.md").read_text()
    git_sha = whole.said("sweep", "query", "SELECT DISTINCT git_sha FROM cells").split()[-1]
    assert git_sha == f"v{__version__}"


@pytest.mark.nightly
def test_a_study_of_a_users_own_goes_from_a_formula_to_a_verdict_and_a_figure(whole):
    assert "sweep study run my_law" in whole.said("sweep", "study", "new", "my_law")
    said = whole.said("sweep", "study", "run", "my_law")
    assert said.count("confirmed") == 2 and "320 ok" in said
    report = (whole.folder / "my_law" / "report.html").read_text()
    assert "Figure MyLaw" in report and "confirmed" in report and "<math" in report
    whole.said("sweep", "figure", "MyLaw", "--study", "my_law", "--out", "drawn")
    assert Path(whole.folder, "drawn", "MyLaw.svg").is_file()
    assert "one_third" in whole.said("sweep", "study", "list")
    assert "one-third-d8" in whole.said("sweep", "study", "judge", "one_third")


@pytest.mark.nightly
def test_the_app_is_served_from_a_users_folder(whole):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    words = [f"{whole.env}/bin/sweep", "app", "--port", str(port)]
    with subprocess.Popen(words, cwd=whole.folder, env=whole.environment, stdout=subprocess.PIPE, text=True) as server:
        wait_for(lambda: answers(f"http://localhost:{port}/_stcore/health"), server)
        server.send_signal(signal.SIGINT)
        server.communicate()
    assert server.returncode == 0


@pytest.mark.nightly
def test_the_notebook_runs_from_a_users_folder(whole):
    code = "from sweepkit.shipped import ROOT; print(ROOT / 'examples' / 'first_sweep.ipynb')"
    shutil.copy(whole.said("python", "-c", code).strip(), whole.folder)
    whole.said("jupyter", "execute", "--inplace", "first_sweep.ipynb")
    assert "first: 90 networks: 90 ok." in (whole.folder / "first_sweep.ipynb").read_text()
