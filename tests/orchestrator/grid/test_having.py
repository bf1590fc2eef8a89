"""Metrics that networks of a grid cannot have are refused before anything starts, with what to do."""

import pytest

from orchestrator.grid.load import Grid, load_grid
from orchestrator.grid.syntax.problems import GridError
from tests.made_texts import made_text, made_tokenizer
from tests.own_parts import keep_registries
from trainables.features.folders import DATA_DIR
from trainables.metrics import metric_groups, requested_metric, richness
from trainables.tasks import SameDifferent
from trainables.tasks.clusters import Clusters
from trainables.tasks.images.digits import DigitValues

PLAIN = """\
from typing import Annotated, ClassVar
from pydantic import Field
from trainables.networks import Network, register

@register
class Plain(Network):
    name: ClassVar[str] = "plain"
    width: Annotated[int, Field(ge=1)]

    def init(self, rng, cell):
        return {"a": rng.standard_normal((cell.task.input_dim, 1))}

    def apply(self, parameters, x, cell):
        return (x @ parameters["a"])[:, 0]
"""
WITH_FEATURES = (
    PLAIN
    + """
    def features(self, parameters, x, cell):
        return x @ parameters["a"]
"""
)
GRID = """\
sweep: some
networks: [plain.py]
defaults: {d: 4, width: 4, seed: 0}
grids: [{task: same_different, %s}]
"""
OF_PLAIN = "L: 4, network: plain, save: [%s]"
OF_ONE_OUTPUT = {"d_lr_proj", "d_lr_rank", "nc1", "nc1_regularised", "tr_sw"}
"""Metrics that need several outputs."""


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """The grid whose block has these keys."""
    keep_registries(monkeypatch)

    def plan(keys, network=PLAIN):
        (tmp_path / "plain.py").write_text(network)
        (tmp_path / "grid.yaml").write_text(GRID % keys)
        return load_grid(tmp_path / "grid.yaml")

    return plan


@pytest.mark.parametrize("asked", ["richness", "d_lr", "richness_curve", "participation"])
def test_richness_of_a_network_without_features_is_refused(plan, asked):
    with pytest.raises(
        GridError, match=f"network plain has no `features`, which {asked} needs: add a method `features`"
    ) as error:
        plan(OF_PLAIN % asked)
    assert ("or save theta_norm2 alone" in str(error.value)) == (asked == "richness")
    assert plan(OF_PLAIN % asked, WITH_FEATURES).cells


def test_a_network_of_this_project_without_features_is_told_what_to_save(plan):
    with pytest.raises(GridError, match=r"linear1 has no `features`, which modes needs: save curve_mode_1, .*curve_mode_4 alone"):
        Grid.load({"grids": [{"task": "modes", "network": "linear1", "training": "gd", "d": 4, "seed": 0, "save": ["modes"]}]})


def test_a_network_without_features_has_what_needs_none(plan):
    assert plan(OF_PLAIN % "curves, theta_norm2").cells[0].save == {"curves", "theta_norm2"}


def test_a_search_by_richness_needs_features_too(plan):
    keys = "network: plain, find: {axis: L, metric: d_lr, at: 0.5, range: [2, 8]}"
    with pytest.raises(GridError, match=r"metric = 'd_lr': network plain has no `features`.*; they have .*, theta_norm2"):
        plan(keys)
    assert plan(keys, WITH_FEATURES).searches


@pytest.mark.parametrize("name", sorted(OF_ONE_OUTPUT))
def test_a_metric_of_several_outputs_is_refused_by_name_where_there_is_one(plan, name):
    said = f"{name} is of several outputs, and task same_different has one; leave it out, or take a task of classes"
    with pytest.raises(GridError, match=f"save: {said}"):
        plan(f"L: 4, gamma: 1, save: [{name}]")
    with pytest.raises(GridError, match=f"find: metric = '{name}': {said}"):
        plan(f"gamma: 1, find: {{axis: L, metric: {name}, at: 0.5, range: [2, 8]}}")


@pytest.mark.parametrize("asked", ["richness", "richness_curve", *(one.name for one in (*richness.METRICS, *richness.CURVE))])
def test_richness_is_refused_where_each_token_is_answered(plan, tmp_path, monkeypatch, asked):
    """Its probe sets would be a thousand long strings at once, and there is no row of features for each."""
    pytest.importorskip("tokenizers")
    made_tokenizer(tmp_path / "gpt2")
    made_text(tmp_path / "small")
    monkeypatch.setenv(DATA_DIR, str(tmp_path))
    monkeypatch.setattr("tests.orchestrator.grid.test_having.GRID", "sweep: some\ngrids: [{task: text, seed: 0, %s}]\n")
    text = "corpus: small, context: 8, save: [%s]"
    said = f"save: {asked} is of one answer an example, and task text asks each token; leave it out"
    with pytest.raises(GridError, match=said):
        plan(text % asked)
    assert plan(text % "curves, identity_qk_mean").cells


def test_the_group_has_what_the_task_has(plan):
    group = {*metric_groups()["richness"].members}
    assert plan("L: 4, gamma: 1, save: [richness]").cells[0].save == group - OF_ONE_OUTPUT
    classes = plan("L: 4, gamma: 1}, {task: clusters, P: 8, network: mlp, depth: 1, save: [richness, nc1]")
    assert classes.cells[1].save == group


def test_one_block_of_two_tasks_is_told_to_be_two(plan):
    with pytest.raises(GridError, match=r"nc1 is of several outputs, .*; others of this block have them: write two blocks"):
        plan("L: 4, gamma: 1}, {task: [same_different, clusters], L: 4, P: 8, network: mlp, depth: 1, save: [nc1]")


@pytest.mark.parametrize(("task", "outputs"), [(SameDifferent, "one"), (Clusters, "several"), (DigitValues, "one")])
def test_tasks_say_how_many_outputs_they_have(task, outputs):
    assert task.traits()["outputs"] == outputs
    assert requested_metric("nc1").metric.had_by(task.traits()) == (outputs == "several")


def test_one_wrong_key_is_not_said_to_clash_with_others(plan):
    with pytest.raises(GridError, match=r"\d: kernel_size: must be odd"):
        plan("L: 4, gamma: 1}, {task: digits, P: 100, network: conv, depth: 2, kernel_size: 4")
