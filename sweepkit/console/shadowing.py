"""Files in the working directory that hide a package of this project from Python, such as a user's own `analysis.py`.

Packages run this file by its path when they are imported: `import sweepkit` may find the wrong one, too. `sweep` looks for no
module in the working directory, but `python -m`, a notebook and a script do.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("analysis", "app", "orchestrator", "sweepkit", "trainables")


def _may_be_imported(name: str) -> bool:
    """True for packages that are looked for in the working directory. Only Streamlit's own command runs `app`: a user's app.py
    beside a notebook is in nobody's way."""
    return name != "app" or "streamlit" in sys.modules


def hiding(name: str) -> Path | None:
    """The file that Python finds in place of one of the packages, if any."""
    try:
        spec = find_spec(name)
    except ValueError:  # a module without a spec was made by hand: no file lies in the way
        return None
    if spec is None or not spec.origin:  # a folder without Python files hides nothing
        return None
    found = Path(spec.origin).resolve()
    return None if found == ROOT / name / "__init__.py" else found


def refuse() -> None:
    """Say which file hides a package: `python -m` ends with exit code 2, an import raises ImportError."""
    for name in filter(_may_be_imported, PACKAGES):
        if found := hiding(name):
            message = f"{found} hides the package `{name}` of this project: rename it"
            module, *arguments = _started()
            if module.partition(".")[0] not in PACKAGES:
                raise ImportError(message)
            print(f"{message}{_instead(module, arguments)}", file=sys.stderr)
            raise SystemExit(2)


def _started() -> list[str]:
    """The module that Python was told to run by `-m`, and its arguments; an empty name if there is none."""
    return sys.orig_argv[sys.orig_argv.index("-m") + 1 :] if "-m" in sys.orig_argv[:-1] else [""]


def _instead(module: str, arguments: list[str]) -> str:
    """The command that looks for no module in the working directory: `, or type `sweep run grid.yaml``."""
    commands = run_path(str(Path(__file__).with_name("commands.py")))
    name = next((name for name, form in commands["FORMS"].items() if form[2:3] == (module,)), None)
    return f", or type `{commands['joined'](['sweep', name, *arguments])}`" if name else ""


refuse()
