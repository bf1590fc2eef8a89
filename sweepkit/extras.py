"""The extras of an installation: packages that training, figures, the app and buckets need and reading results does not."""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from sweepkit import __version__
from sweepkit.console.terminal import stop
from sweepkit.console.words import listed


class Extra(NamedTuple):
    """Something that needs packages: in words, and the modules that must be there."""

    does: str
    modules: tuple[str, ...]


EXTRAS = {
    "train": Extra("training", ("ray", "torch", "numba", "threadpoolctl")),
    "figures": Extra("a figure as a file", ("vl_convert", "PIL", "latex2mathml")),
    "app": Extra("the app", ("streamlit", "vl_convert")),
    "cluster": Extra("a bucket", ("obstore",)),
    "mlflow": Extra("--to mlflow", ("mlflow",)),
    "wandb": Extra("--to wandb", ("wandb",)),
    "tensorboard": Extra("--to tensorboard", ("tensorboard",)),
}


def missing_extra(name: str) -> str:
    """The line that says what an extra lacks here and how to install it; empty if it lacks nothing.

    >>> missing_extra("train")
    ''
    """
    extra = EXTRAS[name]
    absent = [module for module in extra.modules if find_spec(module) is None]
    if not absent:
        return ""
    return f"{extra.does} needs {listed(absent)}, not installed here: {_installed_by(name)}"


def require(name: str) -> None:
    """Leave a command that needs an extra which is not there."""
    if why := missing_extra(name):
        stop(why, 1)


def _installed_by(extra: str) -> str:
    """The command that adds an extra, from where this installation came from: no registry has a release of the project."""
    try:
        origin = json.loads(distribution("sweepkit").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):  # a copy of its folders, or an installer that writes something else
        origin = {}
    path = unquote(urlsplit(origin.get("url", "")).path) if origin.get("url", "").startswith("file:") else ""
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    # uv's environments have no pip.
    installs = "python -m pip install" if find_spec("pip") else f"uv pip install --python {sys.executable}"
    return f"{installs} {editable}'{path or f'sweepkit-{__version__}-py3-none-any.whl'}[{extra}]'"
