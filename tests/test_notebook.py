"""The notebook of the examples runs from top to bottom as a person runs it, in a kernel, and shows what it promises."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_sweep.ipynb"


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_its_cells_are_short_and_it_is_kept_without_outputs():
    """Outputs would change with each machine, and hide what a change of the text changed."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert [cell.source for cell in code_cells(notebook) if len(cell.source.splitlines()) > 5] == []
    assert not any(cell.outputs or cell.execution_count for cell in code_cells(notebook))


@pytest.mark.ray
@pytest.mark.filterwarnings("default::DeprecationWarning")  # of the client, which is no part of this project
def test_it_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {cell.source.splitlines()[-1]: cell.outputs for cell in code_cells(notebook)}
    [*_, summary] = shown["run(grid)"]
    assert "first: 60 networks: 60 ok." in summary["data"]["text/plain"] and "<table" in summary["data"]["text/html"]
    assert any("<progress" in one.get("data", {}).get("text/html", "") for one in shown["run(grid)"])
    assert "image/png" in shown["figure"][-1]["data"]
    chart = shown['results.plot(x="L", by="gamma", where={"d": 32}, sweep="first")'][-1]["data"]
    assert "Eq. 3" in str(chart) and "image/png" in chart and "text/html" not in chart  # the picture needs no net
    rich = shown['results.threshold("L", at=0.85, by=["d", "gamma"], sweep="first")'][-1]["data"]["text/plain"]
    assert "reached" in rich
    assert "first: 90 networks: 90 ok." in shown["run(grid.replace(d=[16, 32, 64]))"][-1]["data"]["text/plain"]
    laws = shown['results.exponent("L", over="d", at=0.85, sweep="first")'][-1]["data"]["text/plain"].splitlines()
    [of_rich] = [line.split() for line in laws if line.split()[1:3] == ["1", "1.000000"]]
    _, _, _, exponent, low, high, n, *_ = of_rich
    assert float(low) < float(exponent) < float(high) and n == "3"
    asked = shown['""").pivot(index="step", columns="L", values="accuracy")'][-1]["data"]["text/plain"].splitlines()
    of_eight = {int(line.split()[0]): float(line.split()[-1]) for line in asked if line.split()[0].isdecimal()}
    assert of_eight[1] < 0.65 and of_eight[1000] > 0.85  # the table begins at chance, so that it shows when networks leave it
