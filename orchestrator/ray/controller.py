"""Tune's controller for sweeps of any length: it forgets a trial that has ended, and writes no state that nobody reads.

Tune's own keeps every trial, looks through all of them, and writes the state of all at each snapshot, which every checkpoint
of a trial forces. A sweep resumes from its store.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray.tune.tune
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial


class ForgetfulController(TuneController):
    """Holds the trials that are waiting or running, and no others."""

    def checkpoint(self, force: bool = False, wait: bool = False) -> None:
        """At the end alone, which Tune asks for with `wait`: it fails where it finds no state then."""
        if wait:
            super().checkpoint(force, wait)

    def _mark_trial_to_checkpoint(self, trial: Trial) -> None:
        """No trial's state is written."""

    def stop_trial(self, trial: Trial) -> None:
        super().stop_trial(trial)
        self._forget(trial)

    def _process_trial_failure(self, trial: Any, exception: Any) -> None:
        trial.ended_by = exception  # for callbacks: Tune's own `get_error` looks for a file that may not be there yet
        super()._process_trial_failure(trial, exception)
        self._forget(trial)

    def _forget(self, trial: Trial) -> None:
        """Unless it goes on elsewhere, or its actor is still to end."""
        if trial.status not in (Trial.TERMINATED, Trial.ERROR):
            return
        self._live_trials.discard(trial)
        self._stopped_trials.discard(trial)
        self._failed_trials.discard(trial)
        if trial in self._trials:
            self._trials.remove(trial)


@contextmanager
def forgetful() -> Iterator[None]:
    """Inside, `Tuner.fit` uses it: Tune has no parameter for its controller."""
    module: Any = ray.tune.tune
    usual, module.TuneController = module.TuneController, ForgetfulController
    try:
        yield
    finally:
        module.TuneController = usual
