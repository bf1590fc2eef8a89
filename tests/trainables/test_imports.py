"""Any module may be the first that is imported: none needs another one to have been imported before it, nor torch or numba."""

import pkgutil
import subprocess
import sys

import trainables

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
            heavy = {'torch', 'numba'} & set(sys.modules)
            assert not heavy, f'imports {heavy}'
        except BaseException:
            print(name, traceback.format_exc(), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
sys.exit(failed)
"""
WITH_TORCH = (
    *(f"trainables.checking.{name}" for name in ("metric", "network", "optimiser", "tensors", "training")),
    *("trainables.features.images.vgg", "trainables.networks.batched_mlp", "trainables.networks.strings.batched_transformer"),
    *("trainables.networks.strings.softmax", "trainables.tensors", "trainables.training.losses"),
)
"""Seconds to import; what needs them imports them when it computes."""
COMPUTING = ("trainables.kernels", "trainables.trainers")
"""Folders of what computes with torch and numba. So does all of an engine's folder but its `engine`."""


def computes(name):
    of_engine = name.startswith("trainables.engines.") and name.count(".") > 2
    return name.startswith(COMPUTING) or (of_engine and not name.endswith(".engine"))


def test_each_module_can_be_imported_first():
    found = [m.name for m in pkgutil.walk_packages(trainables.__path__, "trainables.")]
    names = [name for name in found if not computes(name) and name not in WITH_TORCH]
    assert {"trainables.basics", "trainables.cell", "trainables.parts", "trainables.streams", "trainables.result"} < set(names)
    assert {"trainables.features.array_cache", "trainables.tasks.images.cifar100", "trainables.networks.two_layer"} < set(names)
    assert {
        "trainables.checking.task",
        "trainables.training.langevin",
        "trainables.engines.dense.engine",
        "trainables.engines.langevin.engine",
    } < set(names)
    done = subprocess.run([sys.executable, "-c", ONE_BY_ONE, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
