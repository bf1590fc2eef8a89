"""The end of a sweep: its table, the query that it prints, and a name that was used before."""

import json
import re

import pytest
from typer.testing import CliRunner

from analysis import Results
from orchestrator.running import summary
from orchestrator.sweep import app
from sweepkit.store.store import Store
from sweepkit.store.views import fetch
from tests.store_rows import row


def query_of(done):
    return re.search(r'query:   python -m analysis.query "(SELECT .*?)" --results', done.stdout).group(1)


def test_configurations_without_theory_have_a_table(small_grid, sweep_here):
    done = sweep_here(small_grid, "--debug")
    title, _, rest = done.stdout.partition("Best test accuracy of the other networks, mean over n seeds\n")
    assert "beside Eq. 3" in title
    assert re.search(r"lazy +3 +3 +0\.\d{3} +0\.\d{3} to [01]\.\d{3} +0\.\d{3}\n", rest), rest
    assert not re.search(r" \n", done.stdout)  # a pipe gets no blanks at the ends of lines
    means = json.loads(sweep_here(small_grid, "--json").stdout)["means"]
    assert [len(table["rows"]) for table in means] == [2]


def test_a_users_own_task_has_a_table(sweep_here):
    done = sweep_here("examples/parity_grid.yaml", "seed=0,1", "d=10", "steps=200", "eval_every=100", "--debug")
    assert done.returncode == 0, done.stderr
    assert "Best test accuracy, mean over n seeds\n" in done.stdout
    assert re.search(r"gamma_label +n +mean +95% interval +last", done.stdout), done.stdout


def test_a_sweep_in_which_all_networks_diverge_ends_with_its_summary(small_grid, sweep_here):
    done = sweep_here(small_grid, "base_lr=1e12", "gamma=1", "--debug")
    assert "small: 6 cells: 6 diverged" in done.stdout, (done.stdout, done.stderr)
    assert re.search(r"\n  6 diverged: .*step", done.stdout), done.stdout
    assert "query: " in done.stdout
    assert done.returncode == 0  # divergence is a result


def test_a_configuration_whose_networks_all_diverged_has_its_row_and_the_command_that_says_why(small_grid, sweep_here, results):
    done = sweep_here(small_grid, "base_lr=0.1,1e12", "gamma=1", "L=3", "--debug")
    assert re.search(r"1e\+12 +0 +none +3\n", done.stdout), done.stdout
    assert re.search(r"why: +python -m orchestrator.store status", done.stdout)
    points = Results(results).points(by="base_lr")
    assert points[["n", "diverged"]].values.tolist() == [[3, 0], [0, 3]]
    caption = Results(results).plot(x="base_lr", wait=False).to_json()
    assert "no point at base_lr = 1e+12, where none finished and 3 networks diverged" in caption


def test_a_long_table_is_shortened_and_says_where_all_is(small_grid, sweep_here):
    done = sweep_here(small_grid, "gamma=lazy", "seed=0", f"base_lr={','.join(f'0.{i}' for i in range(100, 135))}", "--debug")
    assert "the first 30 of 70 configurations; the query below shows all" in done.stdout


def test_the_query_groups_by_every_key_that_varies_in_the_sweep(small_grid, sweep_here, results):
    sweep_here(small_grid, "steps=100", "gamma=1", "--debug")
    done = sweep_here(small_grid, "gamma=1", "--debug", "seed=0,1")
    rows = fetch(results, query_of(done).replace("count(*) AS n", "steps, count(*) AS n"))
    assert query_of(done).startswith("SELECT L, steps, count(*) AS n")
    assert {row[-2] for row in rows} == {2, 3}


def test_a_name_used_before_with_other_settings_is_said(small_grid, sweep_here, results):
    sweep_here(small_grid, "gamma=1", "seed=0", "--debug")
    assert "warning" not in sweep_here(small_grid, "L=3,5,7", "seed=0", "--dry-run").stderr  # extended
    assert "warning" not in sweep_here(small_grid, "L=3", "seed=0", "--dry-run").stderr  # thinned
    said = sweep_here(small_grid, "width=16", "--dry-run").stderr
    assert "warning: small is also the name of networks with width = 32 (here 16): they are averaged and drawn with these" in said
    assert "warning" not in sweep_here(small_grid, "width=16", "--name", "narrow", "--dry-run").stderr


def test_networks_that_leave_the_plan_of_their_sweep_are_said(small_grid, sweep_here):
    sweep_here(small_grid, "gamma=1", "seed=0,1", "L=3,4", "--debug")  # the grid has L = 2 and 3, and seed 0 to 2
    said = sweep_here(small_grid, "--dry-run").stderr
    assert "warning: 2 networks of small so far are not in this grid: they leave the sweep's plan as it runs" in said, said
    assert "warning" not in sweep_here(small_grid, "--dry-run", "--name", "other").stderr


@pytest.mark.parametrize("name", ["", "two words", "../up"])
def test_a_name_that_cannot_be_one_is_refused(small_grid, sweep_here, name):
    done = sweep_here(small_grid, "--dry-run", "--name", name)
    assert done.returncode == 2 and "must be a name of at most 80 letters" in done.stderr


def test_a_named_sweep_is_stored_under_its_name_and_goes_on_under_it(small_grid, sweep_here, results):
    done = sweep_here(small_grid, "--name", "mine", "--limit", "1", "--debug")
    assert fetch(results, "SELECT DISTINCT sweep FROM plans") == [("mine",)]
    assert re.search(r"go on: +python -m orchestrator.sweep \S+ --name mine --results", done.stdout)


def test_commands_to_type_next_name_the_results_as_the_user_did(small_grid, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [str(small_grid), "--limit", "1", "--debug"]
    done = CliRunner().invoke(app, [*words, "--results", "rk"], env={"COLUMNS": "200"})
    hints = [line for line in done.stdout.splitlines() if "--results" in line]
    assert len(hints) > 2 and all(re.search(r" --results rk\b", line) for line in hints), done.stdout
    assert str(tmp_path / "rk") in done.stdout  # where they are, as a whole path, stands in the line of the counts


def test_a_store_of_many_files_is_told_the_command_that_merges_them(small_grid, sweep_here, results, monkeypatch):
    told = f"faster:  python -m orchestrator.store compact --results {results}"
    assert told not in sweep_here(small_grid, "--debug").stdout
    monkeypatch.setattr(summary, "MANY_PACKS", 1)
    assert told in sweep_here(small_grid, "--debug").stdout


def test_keys_that_older_networks_lack_are_no_other_settings(small_grid, sweep_here, results):
    store, old = Store(str(results)), row(1, base_lr=None)
    store.prepare()
    store.commit("old", [old])
    store.write_plan("small", [old["cell_id"]], whole=True)
    said = sweep_here(small_grid, "--dry-run").stderr
    assert "width = 512 (here 32)" in said and "None" not in said
