"""A store of networks of images with synthetic weights, rich and lazy, for tests of what shows them; nothing is trained."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from sweepkit.store.store import Store
from tests.store_rows import OWN_KEYS, row

SIZES = {"psvrt": 5, "pentomino": 7, "cifar100": 3}
"""Pixels a side of a patch; images are two patches wide. The last stands for photographs, and shows its examples in colours."""


def pictures(task: str, scale: float, seed: int) -> list[dict[str, Any]]:
    """Rows as the store keeps them: two neurons of either sign, an example of either label."""
    rng = np.random.default_rng(seed)
    side = 2 * SIZES[task]
    coloured = task == "cifar100"

    def shown(picture: Any) -> dict[str, Any]:
        return {"shape": picture.shape, "pixels": picture.ravel(), "rulings": None if coloured else SIZES[task]}

    weights = [
        {"kind": "weights", "neuron": i, "readout": a, **shown(scale * rng.standard_normal((side, side)))}
        for i, a in enumerate((3.25, 2.0, -2.5, -1.0))
    ]
    examples = [
        {"kind": "example", "same": same, **shown(rng.random((4, 8, 3)) if coloured else rng.integers(-1, 2, (side, side)) * 1.0)}
        for same in (True, False)
    ]
    return [*weights, *examples]


def pictured_store(folder: Path, only: Collection[tuple[str, str]] = ()) -> str:
    """Its directory. Of each task a rich and a lazy network with weights and neurons, and one at 0.1 without either.

    `only`: networks of these tasks and labels of gamma alone.
    """
    store = Store(str(folder / "results"))
    store.prepare()
    rows = []
    for task in SIZES:
        for gamma, label, scale in ((1.0, "1", 1.0), (1e-5, "lazy", 0.05), (0.1, "0.1", None)):
            if only and (task, label) not in only:
                continue
            keys = {"task": task, "L": 16, "d": None, "gamma": gamma, "gamma_label": label, "seed": 0}
            measures = {"readout_ratio": 1.25, "alignment_pos": 0.5, "alignment_neg": -0.5}
            cell = row(len(rows), neurons=0 if scale is None else 6, **keys, **measures)
            if task != "cifar100":  # an image has no halves
                cell |= {"patches": 2, "patch_size": SIZES[task], "alignment_pos": None, "alignment_neg": None}
                if scale is not None:
                    cell["neuron_alignment"] = [math.nan] * 6
            if scale is not None:
                cell["weights_file"] = store.write_weights(cell["cell_id"], pictures(task, scale, len(rows)))
            rows.append(cell)
    store.commit("pictured", rows, OWN_KEYS)
    store.write_plan("pictured", [one["cell_id"] for one in rows], whole=True)
    return store.results
