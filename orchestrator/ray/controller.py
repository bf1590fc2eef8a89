"""Tune, fitted to sweeps: its controller forgets trials that ended, writes no state of them, and ends no worker that starts.

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


class SweepController(TuneController):
    """Holds only the trials that are waiting or running, and lets each worker that starts come to its trial."""

    def _maybe_reuse_cached_actor(self, trial: Trial) -> bool:
        """Give the trial a worker that fell free. If its own is starting, a trial that waits for room is given the free one.

        Tune would end the one that starts. Where packs end more often than a worker takes to start, a machine that joined would
        never come to train.
        """
        if not self._is_starting(trial):
            return super()._maybe_reuse_cached_actor(trial)
        waiting = (self._pending_trials & self._staged_trials) - self._resetting_trials
        for other in self._pending_trials_list:
            alike = other.placement_group_factory == trial.placement_group_factory
            if other in waiting and alike and not self._is_starting(other):
                super()._maybe_reuse_cached_actor(other)
                break
        return False

    def _is_starting(self, trial: Trial) -> bool:
        """The trial's worker has its room on a machine and is not ready yet."""
        worker = self._trial_to_actor.get(trial)
        return worker is not None and worker not in self._started_actors and self._actor_manager.is_actor_started(worker)

    def checkpoint(self, force: bool = False, wait: bool = False) -> None:
        """Write the state only at the end, when Tune calls with `wait`: without a state Tune fails there."""
        if wait:
            super().checkpoint(force, wait)

    def _mark_trial_to_checkpoint(self, trial: Trial) -> None:
        """Do nothing: no trial's state is written."""

    def stop_trial(self, trial: Trial) -> None:
        super().stop_trial(trial)
        self._forget(trial)

    def _trial_task_failure(self, trial: Trial, exception: Exception) -> None:
        """Count once the loss of a worker that is handed from one trial to the next. Tune recovers the trial at the loss of the
        worker, then hears that the handing over failed, finds the trial waiting, and gives it up."""
        recovered = trial in self._resetting_trials and trial.status == Trial.PENDING
        if recovered and isinstance(exception, ray.exceptions.RayActorError):
            self._resetting_trials.discard(trial)
        else:
            super()._trial_task_failure(trial, exception)

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
        patched.enter_context(mock.patch.object(ray.tune.tune, "TuneController", SweepController))
        patched.enter_context(mock.patch.object(usage, "tag_callbacks", lambda callbacks: False))
        if local:
            patched.enter_context(mock.patch.object(class_cache._ActorClassCache, "get", _actor_class))
        yield


def _actor_class(cache: Any, trainable: type) -> Any:
    """The trainable's actor class, without an environment of its own."""
    if trainable not in cache._cache:
        cache._cache[trainable] = ray.remote(trainable)
    return cache._cache[trainable]
