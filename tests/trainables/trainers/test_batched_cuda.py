"""`batched` on a GPU, as far as a machine without one can tell: in Triton's interpreter, and compiled ahead of time.

What needs the GPU is in test_trainers.py.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_kernels_in_the_interpreter():
    pytest.importorskip("triton", reason="Triton is not part of this PyTorch")
    suite = Path(__file__).with_name("interpreted_batched.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(suite)]
    done = subprocess.run(command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
