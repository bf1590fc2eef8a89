"""A cluster from cluster.onprem.yaml on `tests.hosts`: a laptop that launches, a head, workers; each with its own disk."""

import shutil
import subprocess
from pathlib import Path

import yaml

from sweepkit.console.yaml_lines import read_yaml
from tests.hosts import HOME, ROOT, SHARED, Hosts

CHECKOUT = f"{HOME}/sweeps"
RESULTS = f"{SHARED}/results"


class Lab:
    """Hosts `laptop`, `head` and the workers. The laptop has a checkout of this tree, whatever is committed here."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        checkout = hosts.folder / "laptop/home/sweeps"
        copy_tree(checkout)
        config = read_yaml(checkout / "cluster.onprem.yaml")
        workers = [hosts.address(name) for name in hosts.names if name not in ("laptop", "head")]
        config["provider"] |= {"head_ip": hosts.address("head"), "worker_ips": workers}
        config["auth"] = {"ssh_user": "root", "ssh_private_key": "~/.ssh/id_ed25519"}
        assert "make install" in config["setup_commands"][-1]
        # Gigabytes for each host; they are on the disk that all hosts see. The code still is each host's own.
        config["setup_commands"][-1] = f"ln -sfn {ROOT}/.venv {CHECKOUT}/.venv"
        (checkout / "lab.yaml").write_text(yaml.safe_dump(config))

    def on(self, host: str, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run `python -m ...` in the host's checkout."""
        return self.hosts[host].run("env", "-C", CHECKOUT, "python", "-m", *words, check=False, **environment)

    def launch(self, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run `orchestrator.launch VERB` on the laptop."""
        return self.on("laptop", "orchestrator.launch", verb, "lab.yaml", *words)

    def sweep_command(self, *words: str) -> list[str]:
        """The words of a sweep on the head, to be started there."""
        return ["env", "-C", CHECKOUT, "python", "-m", "orchestrator.sweep", *words, "--address", "auto"]

    def sweep(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """A sweep on the head, to its end."""
        return self.hosts["head"].run(*self.sweep_command(*words), check=False)


def copy_tree(target: Path) -> None:
    """This working tree, without what git ignores, as a repository of one commit."""
    command = ["git", "-C", str(ROOT), "ls-files", "-coz", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    author = ["-c", "user.name=lab", "-c", "user.email=lab@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "lab"]):
        subprocess.run(["git", "-C", target, *words], check=True)
