"""Tune, fitted to sweeps: its controller forgets trials that ended and writes no state of them; its workers start sooner.

Tune's own controller keeps every trial and looks through all of them; each checkpoint of a trial makes it write the state of all.
A sweep needs no such state: it resumes from its store.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import ray
import ray.tune.tune
from ray.air._internal import usage
from ray.tune.execution import class_cache
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial


class ForgetfulController(TuneController):
    """Holds only the trials that are waiting or running."""

    def checkpoint(self, force: bool = False, wait: bool = False) -> None:
        """Write the state only at the end, when Tune calls with `wait`: without a state Tune fails there."""
        if wait:
            super().checkpoint(force, wait)

    def _mark_trial_to_checkpoint(self, trial: Trial) -> None:
        """Do nothing: no trial's state is written."""

    def stop_trial(self, trial: Trial) -> None:
        super().stop_trial(trial)
        self._forget(trial)

    def _process_trial_failure(self, trial: Any, exception: Any) -> None:
        trial.ended_by = exception  # for callbacks: Tune's own `get_error` reads a file that may not exist yet
        super()._process_trial_failure(trial, exception)
        self._forget(trial)

    def _forget(self, trial: Trial) -> None:
        """Forget the trial, unless it goes on elsewhere or its actor has not ended yet."""
        if trial.status not in (Trial.TERMINATED, Trial.ERROR):
            return
        self._live_trials.discard(trial)
        self._stopped_trials.discard(trial)
        self._failed_trials.discard(trial)
        if trial in self._trials:
            self._trials.remove(trial)


@contextmanager
def tuned(local: bool) -> Iterator[None]:
    """Inside, `Tuner.fit` forgets trials that ended, and starts its first worker sooner. Tune has no parameters for this.

    Callbacks are not counted for Ray's statistics of use: the count imports each tracker of experiments that is installed, of
    which W&B and MLflow take seconds, and W&B leaves folders in /tmp.

    `local`: Ray's processes were started by this one and have its environment. Then workers need no environment of their own, and
    a trial takes one that Ray has started already, where Tune would start another beside it.
    """
    with ExitStack() as patched:
        patched.enter_context(mock.patch.object(ray.tune.tune, "TuneController", ForgetfulController))
        patched.enter_context(mock.patch.object(usage, "tag_callbacks", lambda callbacks: False))
        if local:
            patched.enter_context(mock.patch.object(class_cache._ActorClassCache, "get", _actor_class))
        yield


def _actor_class(cache: Any, trainable: type) -> Any:
    """The trainable's actor class, without an environment of its own."""
    if trainable not in cache._cache:
        cache._cache[trainable] = ray.remote(trainable)
    return cache._cache[trainable]
