"""Python imports this module at its start where its folder is in PYTHONPATH: see tests/fake_card/__init__.py."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))  # so that workers find `tests`


def _engines(module):
    make = module.DescentEngine.make

    def make_on(engine, cells, device="cpu"):
        if device == "cpu":
            return make(engine, cells, device)
        from tests.fake_card.trainer import FakeCard
        from trainables.trainers.run import PackRun

        return PackRun(cells, FakeCard(engine, cells))

    module.DescentEngine.make = make_on


def _cuda(module):
    module.get_device_name = lambda *_: "Fake H200"


def _cluster(module):
    init = module.ray.init

    def with_a_card(address=None, **how):
        return init(address=address, **({"num_gpus": 1} if address == "local" else {}), **how)

    module.ray.init = with_a_card


def _rates(module):
    module.measured_on_card = dict  # no rates: the estimates stay


def _rates_in_ray(module):
    module.card_rates = dict


PATCHES = {
    "trainables.engines.base": _engines, "torch.cuda": _cuda, "orchestrator.ray.cluster": _cluster,
    "orchestrator.cost.calibration": _rates, "orchestrator.cost.measure": _rates_in_ray,
}  # fmt: skip


class _Patching(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module

        def and_patch(module):
            execute(module)
            PATCHES[name](module)

        spec.loader.exec_module = and_patch
        return spec


sys.meta_path.insert(0, _Patching())
