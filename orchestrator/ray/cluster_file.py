"""Cluster files, checked as a whole before any machine is touched."""

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sweepkit.console.words import nearest, show
from sweepkit.console.yaml_lines import NotYamlError, read_yaml
from sweepkit.store.provenance import git

CODE = "~/sweeps"
"""Folder of this project on the cluster's machines."""
TOKEN = "~/.ray/auth_token"
PLACEHOLDER = "EDIT"
OLDER_AUTOSCALER = "RAY_enable_autoscaler_v2=0"
"""Setting for Ray's older autoscaler: the newer one starts no workers on given machines (ray issue 57153)."""
SSH_OPTIONS = (
    "BatchMode=yes StrictHostKeyChecking=no UserKnownHostsFile=/dev/null ConnectTimeout=10 LogLevel=ERROR "
    "ServerAliveInterval=5 ServerAliveCountMax=6"
)
"""`ssh` asks no questions, accepts the new host keys of machines that were installed anew, and notices a lost connection in half
a minute."""


class ClusterFileError(Exception):
    """Everything that is wrong with a cluster file, one problem per line."""


@dataclass(frozen=True)
class ClusterFile:
    """A cluster file that was checked, and can be given to Ray."""

    path: Path
    config: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.config["cluster_name"])

    @property
    def on_premises(self) -> bool:
        """Whether the cluster's machines are given, not rented as they are needed."""
        return self.config["provider"]["type"] == "local"

    @property
    def head(self) -> str:
        """Address of the head of a cluster on given machines."""
        return str(self.config["provider"]["head_ip"])

    @property
    def workers(self) -> list[str]:
        """Addresses of the other machines of a cluster on given machines."""
        return [str(ip) for ip in self.config["provider"]["worker_ips"]]

    @property
    def at_least(self) -> int:
        """Number of machines of the cluster once it is up, the head included; more may be rented later."""
        types = self.config.get("available_node_types", {})
        return 1 + (len(self.workers) if self.on_premises else sum(kind.get("min_workers", 0) for kind in types.values()))

    def ssh(self, address: str, command: str, key: str | None = None, terminal: bool = False) -> list[str]:
        """The arguments that run a shell command on a given machine. With `terminal`, Ctrl-C reaches the command, and the command
        ends with the connection."""
        return [*self._ssh(key), *(["-tt"] if terminal else []), f"{self.config['auth']['ssh_user']}@{address}", command]

    def rsync(self, source: str, address: str, target: str) -> list[str]:
        """The arguments that copy a folder's content to one of the given machines."""
        return ["rsync", "-rt", "-e", shlex.join(self._ssh()), source, f"{self.config['auth']['ssh_user']}@{address}:{target}"]

    def _ssh(self, key: str | None = None) -> list[str]:
        key = key or os.path.expanduser(self.config["auth"]["ssh_private_key"])
        return ["ssh", "-i", key, *(f"-o{option}" for option in SSH_OPTIONS.split())]


def load_cluster_file(path: str | Path) -> ClusterFile:
    """Read and check a cluster file; ClusterFileError names everything that is wrong with it."""
    path = Path(path)
    try:
        config = read_yaml(path, versions_agree=True)  # Ray reads the file itself, by YAML 1.1
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise ClusterFileError(str(error) if isinstance(error, NotYamlError) else f"{path}: cannot be read: {error}") from None
    problems = list(_problems(config, path.absolute().parent))
    if problems:
        raise ClusterFileError("\n".join(f"{path}: {problem}" for problem in problems))
    return ClusterFile(path.absolute(), config)


def uncommitted(folder: Path) -> list[str] | None:
    """Files in the folder that differ from its commit; None if git does not say. The cluster gets the commit, without these
    changes."""
    said = git(folder, "status", "--porcelain")
    return None if said is None else [line[3:] for line in said.splitlines()]


def _problems(config: Any, folder: Path) -> Iterator[str]:
    if not isinstance(config, dict) or not isinstance(config.get("provider"), dict):
        yield "is not a cluster file: it needs `cluster_name` and `provider`; cluster.yaml and cluster.onprem.yaml are examples"
        return
    unedited = [where for where, text in _texts(config) if PLACEHOLDER in text]
    yield from (f"{where}: replace the word {PLACEHOLDER}" for where in unedited)
    if schema := _against_schema(config):
        yield schema
        return
    kind = config["provider"]["type"]
    if kind not in ("local", "aws", "gcp", "azure"):
        yield f"provider.type {show(kind)}: local, aws, gcp or azure{nearest(kind, ('local', 'aws', 'gcp', 'azure'))}"
    if kind == "local" and not unedited:
        yield from _of_given_machines(config)
    yield from _open_doors(config)
    for where, source in config.get("file_mounts", {}).items():
        if where != TOKEN and not (folder / os.path.expanduser(str(source))).exists():
            clone = "; the cluster gets the commit that is checked out beside this file" if source == ".git" else ""
            yield f"file_mounts: there is no {folder / str(source)}{clone}"
    if f"{CODE}/.git" not in config.get("file_mounts", {}):
        yield f"file_mounts: needs `{CODE}/.git: .git`, from which the machines get this project"


def _against_schema(config: dict[str, Any]) -> str:
    """Violations of Ray's schema for cluster files; empty if there are none."""
    import jsonschema

    package = find_spec("ray")  # without the import, which takes a second
    assert package and package.origin
    schema = json.loads((Path(package.origin).parent / "autoscaler" / "ray-schema.json").read_text())
    found = sorted(jsonschema.Draft7Validator(schema).iter_errors(config), key=lambda error: [str(part) for part in error.path])
    return "; ".join(f"{'.'.join(map(str, error.path)) or 'the file'}: {error.message}" for error in found)


def _of_given_machines(config: dict[str, Any]) -> Iterator[str]:
    provider, auth = config["provider"], config.get("auth", {})
    yield from (
        f"provider.{key} is {'empty' if key in provider else 'missing'}"
        for key in ("head_ip", "worker_ips")
        if not provider.get(key)
    )
    addresses = [provider.get("head_ip"), *(provider.get("worker_ips") or ())]
    for address in sorted({str(a) for a in addresses if a and addresses.count(a) > 1}):
        yield f"provider: {address} is given twice; the head also takes packs, and must not be a worker"
    yield from (f"auth.{key} is missing" for key in ("ssh_user", "ssh_private_key") if not auth.get(key))
    if auth.get("ssh_private_key"):
        key_file = Path(auth["ssh_private_key"]).expanduser()
        if not key_file.is_file():
            yield f"auth.ssh_private_key: there is no {key_file}"
        elif key_file.stat().st_mode & 0o077:
            fix = f"chmod 600 {shlex.quote(str(key_file))}"
            yield f"auth.ssh_private_key: others may read {key_file}, and ssh refuses such keys: {fix}"
    if not any("ray start" in c and OLDER_AUTOSCALER in c for c in config.get("head_start_ray_commands", ())):
        yield f"head_start_ray_commands: `ray start` needs `export {OLDER_AUTOSCALER};` before it, else no worker ever starts"


def _open_doors(config: dict[str, Any]) -> Iterator[str]:
    """Problems of security. A cluster without a token runs code of anyone who reaches its port."""
    if config.get("file_mounts", {}).get(TOKEN) != TOKEN:
        yield f"file_mounts: needs `{TOKEN}: {TOKEN}`, without which the cluster runs anybody's code"
    for key in ("head_start_ray_commands", "worker_start_ray_commands"):
        if not any("ray start" in c and "RAY_AUTH_MODE=token" in c for c in config.get(key, ())):
            yield f"{key}: `ray start` needs `export RAY_AUTH_MODE=token;` before it, without which it runs anybody's code"
        if any(re.search(r"--dashboard-host[= ](?!127\.0\.0\.1|localhost)", c) for c in config.get(key, ())):
            yield f"{key}: `--dashboard-host` opens Ray's dashboard to the network: leave it out, and look through an SSH tunnel"


def _texts(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """All texts of a configuration, each with its place, such as `provider.worker_ips.0`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _texts(inner, f"{where}.{k}")
    elif isinstance(value, str):
        yield where, value
