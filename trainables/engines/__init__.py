"""The engines. Adding one: a folder of its own here, and its class in the line below."""

from trainables.engines.base import DescentEngine, Engine
from trainables.engines.dense.engine import Batched, Reference
from trainables.engines.gram.engine import Gram
from trainables.engines.langevin.engine import Langevin
from trainables.engines.patches.engine import Patches
from trainables.engines.resident.engine import Resident
from trainables.engines.ridge.engine import Ridge
from trainables.engines.stacked.engine import Stacked

_ENGINES = (Reference(), Batched(), Gram(), Patches(), Resident(), Stacked(), Langevin(), Ridge())
ENGINES: dict[str, Engine] = {engine.name: engine for engine in _ENGINES}
"""The engines by name."""


def descent_engine(name: str) -> DescentEngine:
    """The engine of that name. KeyError if there is none or if it makes no trainers."""
    engine = ENGINES[name]
    if not isinstance(engine, DescentEngine):
        raise KeyError(name)
    return engine


__all__ = ["ENGINES", "DescentEngine", "Engine", "descent_engine"]
