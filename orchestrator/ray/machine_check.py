"""Check of a machine before it trains packs for a driver: it must run the same code, and see the driver's results."""

import socket
import time

from orchestrator.code import code_facts
from sweepkit.console.commands import command
from sweepkit.store.files import ResultsError, open_files


def misfit(results: str, shared_file: str, code: dict[str, str], patience_s: float = 0.0) -> str:
    """Why this machine must not train for a driver; empty if it may.

    `code`: the driver's `code_facts`. `shared_file`: a file that the driver has put into the results. The check waits up to
    `patience_s` seconds for this file, because a lease may be gone for a moment.
    """
    own, machine = code_facts(), f"machine {socket.gethostname()}"
    other = [f"{name} {own[name]}, the driver {code[name]}" for name in code if own[name] != code[name]]
    if other:
        return (
            f"{machine} runs other code than this one: it has {'; '.join(other)}. Bring both to the same commit and "
            f"requirements.lock (on a cluster from a file: {command('launch', 'up', 'CLUSTER.yaml')})"
        )
    unseen = f"{machine} does not see {results}: packs trained there would be lost"
    end = time.monotonic() + patience_s
    try:
        while not (seen := open_files(results).entry(shared_file)) and time.monotonic() < end:
            time.sleep(0.5)
    except ResultsError as error:
        return f"{unseen}: {error}"
    return "" if seen else f"{unseen}; give a directory that all machines share, or a bucket"
