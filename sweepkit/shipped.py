"""Grids and examples that come with the project: beside its packages in a clone, inside this one when installed from a wheel."""

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
ROOT = next((folder for folder in (_HERE, _HERE.parent) if (folder / "grids").is_dir()), _HERE)
"""The folder with `grid.yaml`, `grids/` and `examples/`."""


@cache
def grids() -> dict[str, Path]:
    """The file of each grid by its stem, the name that `sweep run NAME` takes anywhere: `grid`, `quick`, `dimension`."""
    files = [*ROOT.glob("examples/*.yaml"), *ROOT.glob("grids/*.yaml"), *ROOT.glob("grid.yaml")]
    return {file.stem: file for file in sorted(files)}


def grid_file(name: str) -> Path | None:
    """The file of the grid that a person names by its stem, or by `grids/NAME.yaml` from another folder's history."""
    path = Path(name)
    by_path = path.parent.name == "grids" and path.suffix == ".yaml"
    return grids().get(path.stem) if by_path or name == path.stem else None


def name_of(grid: str) -> str:
    """The word for a grid of the project that a command takes here: its path, if that leads to it, else its stem."""
    file = grids().get(Path(grid).stem)
    return grid if file is None or Path(grid).is_file() else file.stem


def page(name: str) -> str:
    """The path of a page of the documentation, as short as it can be from here: `page("howto/grids.md")`."""
    near, file = Path("docs", name), ROOT / "docs" / name
    return str(near if near.is_file() else file)
