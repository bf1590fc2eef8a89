"""Waiting for a cluster's nodes."""

import pytest
from typer.testing import CliRunner

from orchestrator.nodes import app

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray warns about itself


def test_no_cluster_at_the_address():
    done = CliRunner().invoke(app, ["127.0.0.1:1", "1"])
    assert done.exit_code == 2
    assert "no Ray cluster answers at '127.0.0.1:1'" in done.stderr


def test_it_says_how_many_joined_in_time():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        assert CliRunner().invoke(app, [cluster.address, "1"]).exit_code == 0
        done = CliRunner().invoke(app, [cluster.address, "2", "--seconds", "1"])
    finally:
        cluster.shutdown()
    assert done.exit_code == 2
    assert "1 of 2 nodes joined within 1 s" in done.stderr
