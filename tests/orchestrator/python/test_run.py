"""Sweeps from Python: what is trained, what comes back, what is raised, and how an interrupt ends them."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from analysis import Results
from orchestrator import Grid, GridError, ResultsError, SweepError, forecast, run
from sweepkit.console.words import IN_PART
from sweepkit.store.store import Store
from tests.own_parts import PARITY, keep_registries, own_grid
from tests.sweeps import counts, wait_for


def test_importing_is_cheap():
    code = "import sys; from orchestrator import Grid, forecast, run; print({'ray', 'torch', 'pandas'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_summary_of_a_sweep(small_grid, results, capfd):
    grid = Grid.load(small_grid)
    assert forecast(grid, results).networks == 12 and not os.path.exists(results)
    done = run(grid.replace(L=3, seed=0), results, debug=True, quiet=True)
    assert done.counts == {"ok": 2, "diverged": 0, "failed": 0, "missing": 0} and not done.interrupted
    assert repr(done) == f"small: 2 networks: 2 ok. Results: {results}"
    assert done._repr_html_().startswith("<b>small: 2 networks: 2 ok.") and "<table" in done._repr_html_()
    assert [*done.table["gamma_label"]] == ["lazy", "1"] and done.failures.empty
    assert done.results.sweeps == ["small"] and len(done.results.cells()) == 2
    foreseen = forecast(grid.replace(L=3), results)
    assert foreseen.networks == 4 and "6 cells, 2 in the store, 4 to train" in repr(foreseen)
    assert foreseen.table["cells"].sum() == 4 and foreseen.seconds > 0
    assert capfd.readouterr().out == ""


def test_a_part_of_a_grid_is_called_so_before_and_after(small_grid, sweep_here, results):
    few = ("--only", "L=3 seed=0")
    assert "small: 2 cells, chosen by --only, 0 in the store, 2 to train" in sweep_here(small_grid, "--debug", *few).stderr
    assert f"small: 2 cells: 2 ok ({IN_PART}). Results" in sweep_here(small_grid, "--debug", *few).stdout
    assert IN_PART not in sweep_here(small_grid, "--debug").stdout  # now the whole grid is there
    assert IN_PART not in sweep_here(small_grid, "--debug", *few).stdout


def test_networks_that_diverge_are_told_with_their_reason(small_grid, results):
    done = run(Grid.load(small_grid).replace(L=3, seed=[0, 1], gamma=1, base_lr=1e9), results, debug=True, quiet=True)
    assert done.counts["diverged"] == 2 and "2 diverged: " in repr(done)
    assert [*done.failures["status"]] == ["diverged"] * 2 and done.failures["reason"].notna().all()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"engine": "gramm"}, SweepError, "engine = 'gramm'; did you mean 'gram'"),
        ({"engine": "langevin"}, SweepError, "langevin cannot train 12 of the 12 cells"),
        ({"order": "best"}, SweepError, "order = 'best': say seed-first, grid, shuffled"),
        ({"limit": 0}, SweepError, "limit = 0: must be a whole number >= 1"),
        ({"grid": "gird.yaml"}, GridError, "gird.yaml: no such file"),
        ({"results": "s3://bucket/results"}, ResultsError, "s3://bucket"),
    ],
)
def test_bad_input_raises_and_writes_nothing(small_grid, results, options, error, words):
    with pytest.raises(error, match=words):
        run(**{"grid": small_grid, "results": results, "debug": True, "quiet": True} | options)
    assert not os.path.exists(results)


@pytest.mark.parametrize("call", [run, forecast])
def test_results_that_are_no_path_are_refused_and_make_no_directory(small_grid, results, tmp_path, monkeypatch, call):
    Store(results).prepare()
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(ResultsError, match=re.escape(f"a path or a URI, not a Results; say results={results!r}")):
        call(small_grid, Results(results))
    assert set(tmp_path.rglob("*")) == before


def test_in_another_thread_there_are_no_signals_to_handle(small_grid, results):
    found = []
    grid = Grid.load(small_grid).replace(L=3, seed=0)
    thread = threading.Thread(target=lambda: found.append(run(grid, results, debug=True, quiet=True)))
    thread.start()
    thread.join()
    assert found[0].counts["ok"] == 2


def drained(self, screen):
    self._interrupts = 1
    return self


def test_a_script_whose_sweep_was_interrupted_does_not_go_on(small_grid, results, monkeypatch):
    monkeypatch.setattr("orchestrator.python.process.SweepProcess.run", drained)
    with pytest.raises(KeyboardInterrupt, match=r"(?s)12 missing.*interrupted: run the same again, and it goes on from there"):
        run(Grid.load(small_grid), results, quiet=True)


def test_a_notebook_gets_the_summary_of_an_interrupted_sweep(small_grid, results, monkeypatch):
    monkeypatch.setattr("orchestrator.python.process.SweepProcess.run", drained)
    monkeypatch.setattr("orchestrator.python.calls.in_notebook", lambda: True)
    done = run(Grid.load(small_grid), results, quiet=True)
    assert done.interrupted and "it goes on from there" in repr(done)


LONG = {
    "sweep": "long",
    "defaults": {"steps": 60_000, "eval_every": 20_000, "width": 64, "batch": 32, "test_size": 64},
    "grids": [{"task": "same_different", "L": [3, 5], "d": 16, "gamma": [1], "seed": range(4000)}],
    "resources": {"pack_seconds": 0.5},
}


@pytest.mark.ray
@pytest.mark.alone  # beside the tests of three processes its packs once took ten minutes
def test_an_interrupt_drains_and_the_same_call_goes_on(results):
    """The process that trains is another one: neither Ray nor its end touches this one."""
    grid = Grid.load(LONG)

    def interrupt():
        wait_for(lambda: os.path.exists(f"{results}/packs") and counts(results)[0] > 0)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt, match=r"(?s)8000 networks: \d+ ok, \d+ missing.*it goes on from there"):
        run(grid, results, quiet=True)
    thread.join()
    before = counts(results)[0]
    assert 0 < before < 8000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    more = run(grid, results, limit=8)
    assert more.counts["ok"] == before + 8 and not more.interrupted
    with pytest.raises(SweepError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"):
        run(grid, results, address="127.0.0.1:1")


def test_a_store_that_fails_after_training_raises(small_grid, results, monkeypatch, capsys):
    def silent(*args):
        raise ResultsError("the disk went away")

    monkeypatch.setattr("orchestrator.session.report", silent)
    with pytest.raises(SweepError, match="the sweep could not go on"):
        run(Grid.load(small_grid).replace(L=3, seed=0), results, debug=True, quiet=True)
    assert "the disk went away" in capsys.readouterr().err


def test_debug_prints_the_traceback_of_an_own_part_that_is_refused(tmp_path, results, monkeypatch, capfd):
    keep_registries(monkeypatch)
    grid = own_grid(tmp_path, task=PARITY.replace("return x, x[:, symbols]", "return x, x[:, symbols + self.d]"))
    with pytest.raises(GridError, match="raised IndexError"):
        run(grid, results, debug=True)
    said = capfd.readouterr()
    assert "Traceback (most recent call last)" in said.out + said.err and "symbols + self.d" in said.out + said.err
