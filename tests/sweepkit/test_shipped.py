"""Grids of the project by their names, from any folder; and words that are no such name start nothing."""

import pytest

from orchestrator.grid.load import load_grid
from orchestrator.grid.syntax.problems import GridError
from sweepkit.console.commands import sweep_command
from sweepkit.shipped import ROOT, grid_file, grids


def test_a_stem_is_that_of_one_grid():
    files = [*ROOT.glob("studies/*/grids/*.yaml"), *ROOT.glob("examples/*.yaml"), ROOT / "grid.yaml"]
    assert sorted(grids().values()) == sorted(files)


@pytest.mark.parametrize("word", ["ridge", "grids/ridge.yaml", "studies/ridge/grids/ridge.yaml"])
def test_a_grid_of_a_study_is_found_where_it_was_and_where_it_is(word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert grid_file(word) == ROOT / "studies/ridge/grids/ridge.yaml"
    assert load_grid("examples/dimension.yaml").source.file == ROOT / "examples/dimension.yaml"


@pytest.mark.parametrize(("word", "meant"), [("quick.yaml", "quick"), ("grid.yaml", "grid"), ("Ridge.yaml", "ridge")])
def test_a_file_that_is_not_there_starts_nothing_and_names_the_grid_of_the_project(word, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GridError, match=f"no such file; a grid of the project is named '{meant}'"):
        load_grid(word)


@pytest.mark.parametrize("word", ["quick", "grids/quick.yaml", "./grids/quick.yaml"])
def test_it_is_found_from_any_folder(word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_grid(word).source.file == ROOT / "studies/tong25/grids/quick.yaml"
    assert sweep_command("grids/quick.yaml", "results").endswith(" quick")


def test_a_file_that_lies_here_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grids").mkdir()
    (tmp_path / "grids/quick.yaml").write_text((ROOT / "grid.yaml").read_text())
    assert load_grid("grids/quick.yaml").sweep == "eq3"
    assert sweep_command("grids/quick.yaml", "results").endswith(" grids/quick.yaml")


@pytest.mark.parametrize(
    "word", ["{}/grids/quick.yaml", "../grids/quick.yaml", "mine/grids/quick.yaml", "quick.yaml", "grids/quick"]
)
def test_the_path_of_a_file_that_is_not_there_is_no_grid_of_the_project(word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert grid_file(word.format(tmp_path)) is None
    with pytest.raises(GridError, match="no such file"):
        load_grid(word.format(tmp_path))


def test_a_word_that_may_mean_two_grids_or_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick.yaml").write_text((ROOT / "grid.yaml").read_text())
    with pytest.raises(GridError, match=r"is the name of .*grids/quick\.yaml, and quick\.yaml lies here"):
        load_grid("quick")
    with pytest.raises(GridError, match=r"no grid of the project has this name; did you mean 'quick'\?"):
        load_grid("quik")
    with pytest.raises(GridError, match="no grid of the project has this name"):
        load_grid("")
