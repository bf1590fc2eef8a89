"""Suites that need Triton's interpreter, which must be chosen before Triton is imported: each runs in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from packaging.version import Version


def interpret(suite: Path) -> None:
    """Run a file of tests in the interpreter, and fail if one of them fails.

    Triton 3.6 makes whole numbers of arrays of one element, which NumPy 2.4 refuses. Compiled kernels do not care.
    """
    triton = pytest.importorskip("triton", reason="Triton is not part of this PyTorch")
    if Version(triton.__version__) < Version("3.7") and Version(np.__version__) >= Version("2.4"):
        pytest.skip("the interpreter of this Triton does not work with this NumPy")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(suite)]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
