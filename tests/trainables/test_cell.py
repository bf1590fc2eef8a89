"""Cells: frozen, checked, and named by what they are."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from trainables.engines import ENGINES
from trainables.streams import stream_owner
from trainables.tasks import SameDifferent


def test_id_depends_on_every_key_and_on_nothing_else(make_cell):
    base = make_cell()
    assert make_cell().cell_id == base.cell_id
    changes = [{"L": 6}, {"d": 17}, {"sigma2": 0.5}, {"prefactor": "none"}, {"width": 33}, {"gamma": 0.5}, {"base_lr": 0.2},
        {"steps": 80},
               {"batch": 33}, {"eval_every": 40}, {"test_size": 65}, {"seed": 1}, {"dtype": "float32"}]  # fmt: skip
    assert len({base.cell_id, *(make_cell(**c).cell_id for c in changes)}) == 1 + len(changes)
    assert set().union(*changes) == set(base.keys()) - {"task"}


def test_whole_numbers_and_floats_name_the_same_cell(make_cell):
    assert make_cell(gamma=1).cell_id == make_cell(gamma=1.0).cell_id


def test_id_is_fixed(make_cell):
    """A change of ids orphans every stored result: raise SCIENCE_VERSION knowingly."""
    assert make_cell().cell_id == KNOWN_ID


KNOWN_ID = "f68c300d02e11eb25471"


@pytest.mark.parametrize(("settings", "needs"), [
    ({"gamma": 1.0}, False), ({"gamma": "lazy"}, True), ({"network": "mlp", "centred": True}, False),
    ({"network": "mlp", "gamma": 1e-3, "centred": True}, True), ({"network": "mlp", "gamma": 1e-3}, False),
])  # fmt: skip
def test_a_difference_over_a_small_epsilon_needs_float64(make_cell, settings, needs):
    """The memory that `stacked` is given goes by it. Any cell may ask for float64."""
    single, double = (make_cell(task=SameDifferent(L=5, d=16), dtype=t, **settings) for t in ("float32", "float64"))
    assert (single.needs_float64, double.needs_float64) == (needs, True)
    memory = [ENGINES["stacked"].memory([cell]) for cell in (single, double)]
    assert memory[1] == memory[0] * (1 if needs else 2)


@pytest.mark.parametrize("bad", [{"steps": 30}, {"gamma": 0.0}, {"gamma": -1.0}, {"gamma": float("nan")}, {"width": 0},
                                 {"seed": -1}, {"dtype": "float16"}, {"steps": True}, {"base_lr": 0.0}])  # fmt: skip
def test_bad_settings_are_refused(make_cell, bad):
    with pytest.raises(ValidationError):
        make_cell(**bad)


def test_rates_follow_the_paper(make_cell):
    """gamma^2 d alpha_0 up to gamma = 1, gamma sqrt(d) alpha_0 above [Tong25 App. G.1]."""
    assert make_cell(d=16, gamma=0.5).learning_rate == pytest.approx(0.25 * 16 * 0.1)
    assert make_cell(d=16, gamma=1.0).learning_rate == pytest.approx(16 * 0.1)
    assert make_cell(d=16, gamma=10.0).learning_rate == pytest.approx(10 * 4 * 0.1)
    assert make_cell(gamma="lazy").epsilon == pytest.approx(1e-5)


def test_without_the_prefactor_output_and_rate_have_no_d(make_cell):
    """[Tong25 App. F]: alpha = gamma^2 alpha_0 then, and initial weights and batches are the same."""
    with_it, without = make_cell(d=16, gamma=0.5), make_cell(d=16, gamma=0.5, prefactor="none")
    assert (with_it.epsilon, without.epsilon) == (2.0, 0.5)
    assert without.learning_rate == pytest.approx(0.25 * 0.1)
    assert stream_owner(with_it) == stream_owner(without)


def test_gamma_labels(make_cell):
    assert [make_cell(gamma=g).gamma_label for g in (1.0, 0.1, 10**-4.5, "lazy")] == ["1", "0.1", "3.16228e-05", "lazy"]


def test_shape_leaves_out_what_may_differ_in_a_pack(make_cell):
    assert make_cell().shape() == make_cell(gamma=0.1, base_lr=1.0, seed=4, sigma2=1.0).shape()
    assert make_cell().shape() != make_cell(width=33).shape()


def test_networks_with_other_laws_of_initial_weights_share_no_pack(make_cell):
    """They would share a group, and a group has one array of initial weights."""
    normal, truncated = make_cell(), make_cell(initial="truncated")
    assert stream_owner(normal) == stream_owner(truncated)
    keys = {(name, device): [engine.pack_key(cell, device) for cell in (normal, truncated)]
            for name, engine in ENGINES.items() if engine.trains(normal) for device in engine.devices}  # fmt: skip
    assert {name for name, _ in keys} >= {"reference", "batched", "gram", "stacked"}
    assert all(one != other for one, other in keys.values())


def test_import_is_cheap():
    code = (
        "import sys, trainables.cell, trainables.tasks, trainables.streams; sys.exit(bool({'torch', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
