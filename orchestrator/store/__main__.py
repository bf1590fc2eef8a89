"""`python -m orchestrator.store {status,check,compact,copy,export}`: look after a results directory."""

from orchestrator.store import app
from sweepkit.console.streams import run_and_leave

if __name__ == "__main__":
    run_and_leave(lambda: app(prog_name="python -m orchestrator.store"), quiet_pipe=True)
