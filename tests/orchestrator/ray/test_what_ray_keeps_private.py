"""All that this project takes of Ray's private parts: should another version of Ray lack one, it is named here."""

import ast
import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.orchestrator.conftest import ROOT

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray warns about itself

CALLED = {
    "ray._private.authentication.authentication_token_setup.maybe_enable_token_auth_if_token_available": ["warn_if_disabled"],
    "ray._private.services.canonicalize_bootstrap_address": ["addr"],
    "ray._raylet.AuthenticationTokenLoader.instance": [],
    "ray._raylet.AuthenticationTokenLoader.reset_cache": [],
    "ray._raylet.GcsClient": [],
    "ray.air._internal.usage": [],
    "ray.air._internal.usage.tag_callbacks": ["callbacks"],
    "ray.tune.execution.class_cache": [],
    "ray.tune.execution.class_cache._ActorClassCache.get": ["self", "trainable_cls"],
    "ray.tune.execution.tune_controller.TuneController": [],
    "ray.tune.execution.tune_controller.TuneController.checkpoint": ["force", "wait"],
    "ray.tune.execution.tune_controller.TuneController._maybe_reuse_cached_actor": ["trial"],
    "ray.tune.execution.tune_controller.TuneController._mark_trial_to_checkpoint": ["trial"],
    "ray.tune.execution.tune_controller.TuneController.stop_trial": ["trial"],
    "ray.tune.execution.tune_controller.TuneController._process_trial_failure": ["trial", "exception"],
    "ray.tune.experiment.Trial": [],
    "ray.tune.tune.TuneController": [],
}
"""The private names that are called or overridden, with the parameters that each must have."""

HELD = (
    *("_trials", "_live_trials", "_stopped_trials", "_failed_trials"),
    *("_pending_trials", "_pending_trials_list", "_staged_trials", "_resetting_trials"),
    *("_trial_to_actor", "_started_actors", "_actor_manager"),
)
"""Where Tune's controller has its trials and their workers."""

READ = {
    "_private/accelerators/__init__.py": ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"],
    "_private/authentication/authentication_token_setup.py": ["RAY_AUTH_MODE"],
    "_private/node.py": ["set_sigterm_handler(sigterm_handler)"],  # orchestrator.running.interrupts takes it back
    "_private/workers/default_worker.py": ["try_import_each_module(module_names_to_import)"],  # RAY_preload_python_modules
    "_private/services.py": ["ray_current_cluster"],  # cluster.slurm.sh
    "autoscaler/_private/commands.py": ["RAY_UP_enable_autoscaler_v2", "~/ray_bootstrap_key.pem", "~/ray_bootstrap_config.yaml"],
    "autoscaler/_private/local/config.py": ["cluster-{}.state"],
    "autoscaler/ray-schema.json": ["file_mounts", "head_start_ray_commands"],
    "tune/constants.py": ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "TUNE_DISABLE_SIGINT_HANDLER", "TUNE_MAX_PENDING_TRIALS_PG"],
    "tune/execution/class_cache.py": ["self._cache[trainable_cls]"],
    "tune/execution/experiment_state.py": ["TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S"],
    "tune/trainable/trainable.py": ["RAY_CHDIR_TO_TRIAL_DIR"],
    "tune/tune.py": ["RAY_AIR_NEW_OUTPUT", "runner = TuneController(", "air_usage.tag_callbacks(callbacks)"],
}
"""Variables of the environment, files and names that are told to Ray or looked for, by a file of Ray's where they stand."""

PRIVATE_MODULES = ("ray.tune.execution", "ray.tune.experiment", "ray.tune.tune")
"""Without an underscore, and yet nobody promises them."""


def is_private(name: str) -> bool:
    parts = name.split(".")
    private = any(part.startswith("_") and not part.startswith("__") for part in parts) or name.startswith(PRIVATE_MODULES)
    return parts[0] == "ray" and private


def taken(path: Path) -> set[str]:
    """The private names of Ray that a file imports or reads."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return {name for name in found if is_private(name)}


def test_nothing_else_is_taken():
    names = {
        name for package in ("orchestrator", "benchmarks") for path in (ROOT / package).rglob("*.py") for name in taken(path)
    }
    assert names
    assert {name for name in names if not any(known == name or known.startswith(f"{name}.") for known in CALLED)} == set()


@pytest.mark.parametrize("name", CALLED)
def test_it_is_there(name):
    import ray  # noqa: F401 - its parts are imported in its order

    found = resolve_name(name)
    if CALLED[name]:
        assert set(CALLED[name]) <= set(inspect.signature(found).parameters)


def test_workers_load_modules_that_exist():
    from orchestrator.ray.cluster import PRELOADED

    assert [name for name in PRELOADED.split(",") if find_spec(name) is None] == []


def test_the_controller_has_its_trials_where_they_are_forgotten():
    from ray.tune.execution.tune_controller import TuneController

    made = inspect.getsource(TuneController.__init__)
    assert [name for name in HELD if not re.search(rf"self\.{name}\b.* = ", made)] == []


@pytest.mark.parametrize("file", READ)
def test_ray_knows_the_words(file):
    package = find_spec("ray")
    assert package and package.origin
    text = (Path(package.origin).parent / file).read_text()
    assert [word for word in READ[file] if word not in text] == []
