"""`python -m orchestrator.store`: look after a results directory, as `sweep store`."""

from orchestrator.store import app
from sweepkit.console.streams import run_and_leave

if __name__ == "__main__":
    run_and_leave(lambda: app(prog_name="python -m orchestrator.store"), quiet_pipe=True)
