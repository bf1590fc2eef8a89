"""The page of keys and metrics is what the declarations say."""

from pathlib import Path

from analysis.data.measures import MEASURES
from orchestrator.reference import reference

PAGE = Path(__file__).parents[2] / "docs/reference/keys.md"


def test_the_page_is_what_the_command_prints():
    assert PAGE.read_text() == reference(), "python -m orchestrator.reference > docs/reference/keys.md"


def test_every_part_and_metric_is_on_it():
    text = reference()
    for name in ("same_different", "mlp", "adam", "langevin", "erf3", "best_test_acc", "momentum", "kappa", *MEASURES):
        assert f"`{name}`" in text
