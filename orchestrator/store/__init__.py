"""`sweep store`: the commands that look after a results directory. Sweeps may run meanwhile."""

from orchestrator.store import imports, sweeps
from orchestrator.store.files import app

__all__ = ["app", "imports", "sweeps"]
