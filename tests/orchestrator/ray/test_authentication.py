"""The token of a local Ray: in the sweep's scratch, whatever HOME and the environment say."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.orchestrator.conftest import ROOT

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray warns about itself


def test_the_accounts_token_holds_again_afterwards(tmp_path, monkeypatch):
    from orchestrator.ray.authentication import local_token

    monkeypatch.setenv("RAY_AUTH_TOKEN", "the account's")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/the/account's")
    seen = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        with local_token(str(tmp_path / name)):
            path = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
            assert path.parent == tmp_path / name and "RAY_AUTH_TOKEN" not in os.environ
            seen.append((stat.S_IMODE(path.stat().st_mode), path.read_text()))
    assert [mode for mode, _ in seen] == [0o600, 0o600] and len({text for _, text in seen}) == 2
    assert (os.environ["RAY_AUTH_TOKEN"], os.environ["RAY_AUTH_TOKEN_PATH"]) == ("the account's", "/the/account's")


WITHOUT_HOME = """
import os
from pathlib import Path
from orchestrator.ray import cluster
with cluster.joined(None) as here:
    token = Path(here.scratch, "auth_token").read_text()
    sessions = Path(os.environ["RAY_TMPDIR"], "ray").glob(f"session_*_{os.getpid()}")
    files = [file for session in sessions for file in session.rglob("*") if file.is_file()]
    told = [str(file) for file in files if token.encode() in file.read_bytes()]
    print(len(token), len(files) > 0, told, cluster.ray.cluster_resources()["CPU"] >= 1)
print(os.path.exists(here.scratch))
"""


@pytest.mark.ray
def test_a_local_ray_starts_without_a_home_and_tells_its_token_nowhere(tmp_path):
    home = tmp_path / "none"
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    env |= {"HOME": str(home), "RAY_TMPDIR": "/tmp"}  # Ray's socket names must stay short
    done = subprocess.run([sys.executable, "-c", WITHOUT_HOME], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["64 True [] True", "False"], done.stderr
    assert not home.exists()
