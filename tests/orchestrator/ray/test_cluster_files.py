"""The cluster files are what Ray takes, and what is wrong with one is said before any machine is touched."""

import copy
import os
import stat
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from orchestrator.launch import app
from orchestrator.ray.cluster_file import ClusterFileError, load_cluster_file
from sweepkit.console.yaml_lines import read_yaml

ROOT = Path(__file__).parents[3]
FILES = ("cluster.yaml", "cluster.onprem.yaml")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that a cluster file can lie in."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.fixture
def edited(checkout: Path):
    """Writes a cluster file with its EDITs done, and then a change; returns its path."""

    def write(name: str = "cluster.onprem.yaml", change=lambda config: None) -> Path:
        config = read_yaml(ROOT / name)
        if config["provider"]["type"] == "local":
            key = checkout / "key"
            key.touch(mode=0o600)
            config["provider"] |= {"head_ip": "10.0.0.1", "worker_ips": ["10.0.0.2", "10.0.0.3"]}
            config["auth"] = {"ssh_user": "someone", "ssh_private_key": str(key)}
        else:
            config["provider"]["region"] = "eu-central-1"
            for node in config["available_node_types"].values():
                arn = "arn:aws:iam::123456789012:instance-profile/sweeps"
                node["node_config"] |= {"ImageId": "ami-1", "SecurityGroupIds": ["sg-1"], "IamInstanceProfile": {"Arn": arn}}
        config = copy.deepcopy(config)  # without YAML's anchors
        change(config)
        path = checkout / name
        path.write_text(yaml.safe_dump(config))
        return path

    return write


def problems(path: Path) -> str:
    with pytest.raises(ClusterFileError) as raised:
        load_cluster_file(path)
    return str(raised.value)


@pytest.mark.parametrize("name", FILES)
def test_the_files_pass_once_they_are_edited(name, edited):
    assert load_cluster_file(edited(name)).config["cluster_name"]


@pytest.mark.parametrize("name", FILES)
def test_each_place_to_edit_is_told(name, capsys):
    told = problems(ROOT / name)
    lines = [line for line in (ROOT / name).read_text().splitlines() if "EDIT" in line.split("#")[0]]
    assert len(lines) >= 4
    for line in lines:
        key = line.split(":")[0].strip()
        assert f"{key}" in told, line
    assert "replace the word EDIT" in told


@pytest.mark.parametrize("name", FILES)
def test_ray_takes_the_files(name, edited):
    """Ray's own filling in and checking, which needs neither account nor network."""
    from ray.autoscaler._private.util import prepare_config, validate_config

    config = prepare_config(yaml.safe_load(edited(name).read_text()))  # as Ray reads it
    validate_config(config)
    if name == "cluster.onprem.yaml":
        only = config["available_node_types"]["local.cluster.node"]
        assert (only["min_workers"], only["max_workers"]) == (2, 2)
    else:
        assert config["available_node_types"]["gpu"]["min_workers"] == 1
        assert config["available_node_types"]["gpu"]["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
        assert "InstanceMarketOptions" not in config["available_node_types"]["head"]["node_config"]
    # What Ray puts before a command must not undo what the file says.
    start = " ".join(config["head_start_ray_commands"])
    assert start.index("RAY_AUTH_MODE=token") < start.index("ray start")


def test_the_older_autoscaler_is_asked_for_after_ray_asks_for_the_newer(edited):
    from ray.autoscaler._private.util import with_envs

    commands = read_yaml(edited())["head_start_ray_commands"]
    for command in with_envs(commands, {"RAY_enable_autoscaler_v2": "1"}):
        if "ray start" in command:
            shell = command.split("~/sweeps/.venv/bin/ray start")[0] + "echo $RAY_enable_autoscaler_v2"
            assert subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True).stdout == "0\n"


def test_a_list_that_is_given_twice_is_refused_with_both_lines(edited):
    path = edited()
    text = path.read_text()
    line = text[: text.index("  worker_ips:")].count("\n") + 1
    path.write_text(text.replace("  worker_ips:", "  worker_ips: [10.0.0.9]\n  worker_ips:"))
    assert problems(path) == f"{path}:{line + 1}: key 'worker_ips' is given twice (first in line {line}); keep one"


@pytest.mark.parametrize("data", [b"\xff", b"a: [", b"\0", b"[" * 500, b"", b"[1]", None])
def test_what_is_no_cluster_file_is_refused_by_its_name(data, tmp_path):
    path = tmp_path / "cluster.yaml"
    path.mkdir() if data is None else path.write_bytes(data)
    done = CliRunner().invoke(app, ["up", str(path)])
    assert done.exit_code == 2 and done.output.replace("\n", "").startswith(str(path)) and "Traceback" not in done.output


def without(*keys):
    def change(config):
        for key in keys[:-1]:
            config = config[key]
        del config[keys[-1]]

    return change


def replaced(value, *keys):
    def change(config):
        for key in keys[:-1]:
            config = config[key]
        config[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (without("cluster_name"), "'cluster_name' is a required property"),
        (replaced({}, "worker_nods"), "'worker_nods' was unexpected"),
        (replaced("locl", "provider", "type"), "did you mean 'local'?"),
        (replaced([], "provider", "worker_ips"), "provider.worker_ips is empty"),
        (replaced(["10.0.0.1"], "provider", "worker_ips"), "10.0.0.1 is given twice"),
        (without("auth", "ssh_private_key"), "auth.ssh_private_key is missing"),
        (replaced("/no/such/key", "auth", "ssh_private_key"), "there is no /no/such/key"),
        (without("file_mounts", "~/.ray/auth_token"), "runs anybody's code"),
        (without("file_mounts", "~/sweeps/.git"), "from which the machines get this project"),
        (replaced(["ray start --head"], "head_start_ray_commands"), "head_start_ray_commands: `ray start` needs"),
        (replaced(["ray start"], "worker_start_ray_commands"), "worker_start_ray_commands: `ray start` needs"),
        (replaced("none.txt", "file_mounts", "~/x"), "none.txt"),
        (replaced([1], "setup_commands"), "setup_commands.0: 1 is not of type 'string'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(change, told, edited):
    path = edited(change=change)
    assert told in problems(path)
    done = CliRunner().invoke(app, ["up", str(path)], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert told in done.stderr


def test_a_key_that_others_may_read_is_refused_as_ssh_would(edited, checkout):
    path = edited()
    (checkout / "key").chmod(0o644)
    assert "chmod 600" in problems(path)


def test_all_problems_come_at_once(edited):
    path = edited(
        change=lambda config: [without("auth", "ssh_user")(config), without("file_mounts", "~/.ray/auth_token")(config)]
    )
    assert "auth.ssh_user" in problems(path) and "anybody's code" in problems(path)


@pytest.mark.parametrize("text", ["", "- 1", "provider: x", "a: [", "!!python/object/apply:os.getcwd []", "\0"])
def test_what_is_no_cluster_file_ends_with_2(text, tmp_path):
    (tmp_path / "c.yaml").write_text(text)
    done = CliRunner().invoke(app, ["up", str(tmp_path / "c.yaml")])
    assert done.exit_code == 2
    assert "c.yaml" in done.stderr


def test_no_file():
    done = CliRunner().invoke(app, ["status", "nowhere.yaml"])
    assert done.exit_code == 2
    assert "nowhere.yaml: cannot be read" in done.stderr.replace("\n", "")


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Stand-ins for ray, ssh and rsync, which write down how they are called and succeed."""
    programs = tmp_path / "programs"
    programs.mkdir()
    log = tmp_path / "calls"
    for name in ("ray", "ssh", "rsync"):
        (programs / name).write_text(f'#!/bin/sh\necho "{name} v2=$RAY_UP_enable_autoscaler_v2 $*" >> {log}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setattr("orchestrator.launch.sys.executable", str(programs / "python"))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return log


def test_up_makes_a_token_for_its_owner_alone_and_keeps_it(edited, recorded, tmp_path):
    path = edited()
    token = tmp_path / "home/.ray/auth_token"
    assert CliRunner().invoke(app, ["up", str(path)]).exit_code == 0
    first = token.read_text()
    assert len(first) == 64
    token.chmod(0o644)  # as Ray itself makes it
    assert CliRunner().invoke(app, ["up", str(path)]).exit_code == 0
    assert token.read_text() == first
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert stat.S_IMODE(token.parent.stat().st_mode) == 0o700
    assert f"ray v2=0 up --log-style pretty {path} -y" in recorded.read_text().replace("-y " + str(path), f"{path} -y")


def test_down_stops_each_machine(edited, recorded):
    assert CliRunner().invoke(app, ["down", str(edited())]).exit_code == 0
    calls = recorded.read_text().splitlines()
    for address in ("someone@10.0.0.1", "someone@10.0.0.2", "someone@10.0.0.3"):
        assert any(address in call and "ray stop" in call for call in calls), address


def test_down_of_rented_machines_is_rays(edited, recorded):
    assert CliRunner().invoke(app, ["down", str(edited("cluster.yaml"))]).exit_code == 0
    assert recorded.read_text().startswith("ray v2= down ")


@pytest.fixture
def unreachable(recorded):
    """The stand-ins fail, with a traceback as Ray has it."""
    for name in ("ray", "ssh"):
        program = recorded.parent / "programs" / name
        program.write_text(program.read_text() + "echo Traceback >&2; echo 'RuntimeError: no such head' >&2; exit 1\n")


@pytest.mark.parametrize("name", FILES)
def test_before_up_there_is_nothing_to_submit_to(name, edited, unreachable):
    path = str(edited(name))
    for words in (["submit", path, str(ROOT / "grid.yaml"), "--results", "/shared"], ["status", path]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert "is not up (RuntimeError: no such head). First: python -m orchestrator.launch up" in done.stderr
        assert "Traceback" not in done.stderr


def test_up_and_down_name_machines_that_do_not_answer(edited, unreachable):
    path = str(edited())
    up = CliRunner().invoke(app, ["up", path])
    assert up.exit_code == 1 and "cannot log in to the head, someone@10.0.0.1: RuntimeError: no such head" in up.stderr
    down = CliRunner().invoke(app, ["down", path])
    assert down.exit_code == 1 and "could not log in to 10.0.0.1, 10.0.0.2, 10.0.0.3" in down.stderr


def test_a_worker_that_does_not_let_the_head_in_is_named_before_the_wait(edited, recorded):
    ssh = recorded.parent / "programs/ssh"
    ssh.write_text(ssh.read_text() + 'case "$*" in *10.0.0.3*) echo "no route" >&2; exit 255;; esac\n')
    done = CliRunner().invoke(app, ["up", str(edited())])
    assert done.exit_code == 1
    assert "the head is up, but cannot log in to 10.0.0.3: no route." in done.stderr
    assert "orchestrator.nodes" not in recorded.read_text()


def test_submit_refuses_what_would_be_lost_or_cannot_run(edited, recorded, tmp_path):
    path, grid = str(edited()), str(ROOT / "grid.yaml")
    relative = CliRunner().invoke(app, ["submit", path, grid, "--results", "results"])
    assert relative.exit_code == 2 and "whole path" in relative.stderr
    bad = tmp_path / "bad.yaml"
    bad.write_text("sweep: bad\ngrids: [{task: same_diferent}]\n")
    wrong = CliRunner().invoke(app, ["submit", path, str(bad), "--results", "/shared"])
    assert wrong.exit_code == 2 and "did you mean 'same_different'" in wrong.stderr
    assert not recorded.exists()


@pytest.mark.parametrize("name", FILES)
def test_submit_takes_the_tasks_of_the_grid_along(name, edited, recorded, tmp_path):
    for program in ("ray", "rsync"):
        copy = f'for word; do [ ! -d "$word" ] || cp -r "$word" {tmp_path}/taken; done\n'
        (tmp_path / "programs" / program).write_text((tmp_path / "programs" / program).read_text() + copy)
    grid = ROOT / "examples/parity_grid.yaml"
    done = CliRunner().invoke(app, ["submit", str(edited(name)), str(grid), "seed=0", "--limit", "2", "--results", "/shared/r"])
    assert done.exit_code == 0, done.stderr
    calls = recorded.read_text()
    assert ("ray v2= rsync-up" if name == "cluster.yaml" else "rsync v2= -rt") in calls
    assert sorted(path.name for path in (tmp_path / "taken").iterdir()) == ["parity.py", "parity_grid.yaml"]
    assert "parity_grid.yaml seed=0 --limit 2 --results /shared/r --address auto" in calls


def test_the_cloud_is_asked_for_what_the_file_says(edited, monkeypatch, tmp_path):
    """Ray's preparation for AWS against a made account: nothing of it opens a port, and the types' cards are known."""
    import boto3
    from moto import mock_aws

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray puts the SSH key that it makes
    (tmp_path / ".ssh").mkdir()
    with mock_aws():
        from ray.autoscaler._private.aws.config import bootstrap_aws
        from ray.autoscaler._private.aws.node_provider import AWSNodeProvider
        from ray.autoscaler._private.util import prepare_config

        ec2 = boto3.resource("ec2", region_name="eu-central-1")
        network = next(iter(ec2.vpcs.all()))
        group = ec2.create_security_group(GroupName="sweeps", Description="made for a test", VpcId=network.id)
        profile = boto3.client("iam").create_instance_profile(InstanceProfileName="sweeps")["InstanceProfile"]
        own = {"SecurityGroupIds": [group.id], "IamInstanceProfile": {"Arn": profile["Arn"]}}
        path = edited("cluster.yaml", lambda c: [kind["node_config"].update(own) for kind in c["available_node_types"].values()])
        config = prepare_config(yaml.safe_load(path.read_text()))
        config = bootstrap_aws(AWSNodeProvider.fillout_available_node_types_resources(config))
        groups = {found.group_name for found in ec2.security_groups.all()}
    types = config["available_node_types"]
    assert groups == {"default", "sweeps"}  # Ray's own group would open port 22 to the world
    assert all(kind["node_config"]["SecurityGroupIds"] == [group.id] for kind in types.values())
    assert types["gpu"]["resources"]["GPU"] == 1 and types["gpu"]["resources"]["CPU"] == 8
    assert types["head"]["resources"]["CPU"] == 0
    assert config["auth"]["ssh_private_key"].startswith(str(tmp_path))
