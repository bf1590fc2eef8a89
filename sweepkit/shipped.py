"""Grids, studies and examples of the project: beside its packages in a clone, inside this one when installed from a wheel."""

import os
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
ROOT = next((folder for folder in (_HERE, _HERE.parent) if (folder / "examples").is_dir()), _HERE)
"""The folder with `grid.yaml`, `studies/` and `examples/`."""


@cache
def grids() -> dict[str, Path]:
    """The file of each grid by its stem, the name that `sweep run NAME` takes anywhere: `grid`, `quick`, `parity`."""
    folders = ("examples/", "studies/*/grids/", "")
    files = [file for folder in folders for file in sorted(ROOT.glob(f"{folder}*.yaml")) if folder or file.stem == "grid"]
    return {file.stem: file for file in files}


def grid_file(name: str) -> Path | None:
    """The file of the grid that a person names by its stem, by its path in a clone, such as `examples/NAME.yaml`, or by
    `grids/NAME.yaml`, where it was before there were studies. None for the path of a file elsewhere, which is another grid,
    whatever its name."""
    path, held = Path(name), grids().get(Path(name).stem)
    by_path = path.suffix == ".yaml" and path.parent in (Path("grids"), Path("examples"))
    is_it = len(path.parts) > 1 and ROOT / path == held  # as a clone has it
    return held if by_path or is_it or name == path.stem else None


def grid_path(name: str) -> Path:
    """The file that a command takes for this word: one that lies here, else that of the project's grid."""
    return Path(name) if os.path.isfile(name) else grid_file(name) or Path(name)  # unlike Path.is_file, for names of any length


def name_of(grid: str) -> str:
    """The word for a grid of the project that a command takes here: its path, if that leads to it, else its stem."""
    file = grids().get(Path(grid).stem)
    return grid if file is None or Path(grid).is_file() else file.stem


def example(name: str) -> str:
    """The path of an example, as short as it can be from here: `example("parity.py")`."""
    near = Path("examples", name)
    return str(near if near.is_file() else ROOT / near)


def page(name: str) -> str:
    """The path of a page of the documentation, as short as it can be from here: `page("howto/grids.md")`."""
    near, file = Path("docs", name), ROOT / "docs" / name
    return str(near if near.is_file() else file)
