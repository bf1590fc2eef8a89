"""Any module may be the first that is imported: none needs another one to have been imported before it."""

import pkgutil
import subprocess
import sys

import trainables.features
import trainables.tasks

# The interpreter has imported nothing of this package; each child of its own imports one module. Forked, so that the libraries
# below are imported once.
ONE_BY_ONE = """
import os, sys, traceback
import numpy, pydantic, rich.console
failed = 0
for name in sys.argv[1:]:
    if not (child := os.fork()):
        try:
            __import__(name)
        except BaseException:
            print(name, traceback.format_exc(), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
sys.exit(failed)
"""
WITH_TORCH = ("trainables.features.vgg",)
"""Seconds to import."""


def test_each_module_can_be_imported_first():
    folders = (trainables.features, trainables.tasks)
    found = [m.name for f in folders for m in pkgutil.iter_modules(f.__path__, f"{f.__name__}.")]
    names = ["trainables.basics", "trainables.cell", *(name for name in found if name not in WITH_TORCH)]
    assert {"trainables.features.kept", "trainables.tasks.cifar100"} < set(names)
    done = subprocess.run([sys.executable, "-c", ONE_BY_ONE, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
