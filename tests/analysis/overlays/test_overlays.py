"""Which theory is set beside which points, and what it says there."""

import pandas as pd
import pytest
from sweepkit.studies.tong25.theory import kernel_flow, of_same_different
from sweepkit.studies.tong25.theory.bayes import generalising_accuracy
from sweepkit.studies.tong25.theory.of_same_different import expected
from sweepkit.studies.tong25.theory.rich import test_accuracy as eq3

from analysis.background import Background
from analysis.charts.curves import with_residuals
from analysis.data.points import points
from analysis.data.selection import Selection
from analysis.overlays import overlays
from analysis.overlays.registry import THEORIES
from analysis.overlays.theory import PLAIN
from analysis.scaling.predictions import predicted
from trainables.training import SGD


def test_eq3_stands_beside_rich_noiseless_networks_alone(measured):
    found = points(measured, Selection("measured"))
    said = overlays.beside(found.frame, "best_test_acc", wait=False)
    rich = said.values[said.values["theory"] == "Eq. 3"]
    rows = found.frame.loc[rich["point"]]
    assert (rows["gamma"] >= 1).all() and (rows["sigma2"] == 0).all() and len(rows) == 15
    assert list(rich["value"]) == pytest.approx([float(eq3(n)) for n in rows["L"]])


def test_bayes_stands_beside_noisy_networks(measured):
    found = points(measured, Selection.of(sigma2=4.0))
    said = overlays.beside(found.frame, "best_test_acc")
    values = said.values.set_index("theory")["value"]
    assert set(values["Bayes, generalising"]) == {float(generalising_accuracy(4.0, 64))}
    assert (values["Bayes, memorising"] < values["Bayes, generalising"].iloc[0]).all()
    assert not said.missing


def test_what_takes_long_is_left_out_and_listed_until_it_is_there(measured):
    found = points(measured, Selection.of(sigma2=1.0, L=16))
    said = overlays.beside(found.frame, "final_test_acc", wait=False)
    if said.missing:  # another test of the session may have computed it
        assert set(said.values["theory"]) == {"Bayes, generalising"}
        (later,) = said.missing
        assert 0.5 < later.compute() < 1
    again = overlays.beside(found.frame, "final_test_acc", wait=False)
    assert not again.missing and set(again.values["theory"]) == {"Bayes, generalising", "Bayes, memorising"}


def test_curves_are_drawn_between_the_points_and_told_apart(measured):
    found = points(measured, Selection.of(gamma_label="1", sigma2=0.0))
    over_l = overlays.curves(found.frame, "best_test_acc", "L", [])
    assert list(over_l["L"]) == list(range(2, 9)) and set(over_l["curve"]) == {"Eq. 3"}
    over_d = overlays.curves(found.frame, "best_test_acc", "d", [])
    assert over_d["curve"].nunique() == 5  # one level for each L
    assert overlays.curves(found.frame, "activation_change", "L", []).empty


def test_without_the_prefactor_eq3_says_nothing(measured):
    frame = points(measured, Selection.of(gamma_label="1", sigma2=0.0)).frame.assign(prefactor="none")
    assert overlays.beside(frame, "best_test_acc").values.empty


def test_the_tangent_kernel_is_that_of_normal_initial_weights():
    """Eq. 3 speaks of learnt weights, whatever they were at first."""
    keys = {"task": "same_different", "L": 4, "d": 16, "width": 64, "sigma2": 0.0, "prefactor": "sqrt_d"}
    rows = [keys | gamma | {"initial": law}
            for gamma in ({"gamma": 1e-5 / 4, "gamma_label": "lazy"}, {"gamma": 1.0, "gamma_label": "1"})
            for law in (None, "normal", "truncated")]  # fmt: skip
    spoken = {theory.name: list(theory.about.speaks_of(pd.DataFrame(rows))) for theory in THEORIES.values()}
    assert spoken["lazy, infinite width"] == spoken["lazy, its width"] == [True, True, False, False, False, False]
    assert spoken["Eq. 3"] == [False, False, False, True, True, True]


def test_the_tangent_kernel_stands_beside_accuracy_and_auc_of_lazy_networks():
    """Each measure has a value of its own, by the sizes and the schedule of the networks."""
    keys = {"task": "same_different", "L": 6, "d": 8, "width": 64, "sigma2": 0.0, "prefactor": "sqrt_d", "base_lr": 0.1,
            "gamma": 1e-5 / 8**0.5, "gamma_label": "lazy", "steps": 2000, "eval_every": 1000, "test_size": 1024}  # fmt: skip
    frame = pd.DataFrame([keys | {"final_test_size": size} for size in (None, 128)])

    def said(measure):
        values = overlays.beside(frame, measure).values
        return values.set_index(["theory", "point"])["value"].unstack()

    acc, auc, best = (said(f"final_test_{name}") for name in ("acc", "auc", "acc_best_threshold"))
    found = kernel_flow.predict(6, 8, steps=2000, test_size=128)
    assert set(auc.index) == {"lazy, infinite width", "lazy, its width"}
    of_infinite = auc.loc["lazy, infinite width", 1], best.loc["lazy, infinite width", 1]
    assert of_infinite == pytest.approx((found.auc[-1], found.best_threshold[-1]))
    assert (auc > best).to_numpy().all() and (best > acc + 0.02).to_numpy().all()
    # The best of 128 examples is luckier than the best of 1024, and nothing else knows of the last evaluation's size.
    assert (best[1] > best[0] + 0.005).all() and (auc[0] == auc[1]).all() and (acc[0] == acc[1]).all()


def test_residuals_keep_the_interval(measured):
    found = points(measured, Selection.of(gamma_label="1", sigma2=0.0, L=3, d=64))
    (row,) = with_residuals(found.frame, overlays.beside(found.frame, "best_test_acc").values).to_dict("records")
    assert row["residual"] == pytest.approx(row["mean"] - float(eq3(3)))
    assert row["residual_high"] - row["residual_low"] == pytest.approx(row["high"] - row["low"])


def test_what_takes_long_is_computed_in_another_process_and_then_found_here(measured, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = points(measured, Selection.of(sigma2=1.0, L=16))
    (later,) = overlays.beside(found.frame, "final_test_acc", wait=False).missing
    apart = Background()
    value = apart.compute(later.compute)
    apart.close()
    said = overlays.beside(found.frame, "final_test_acc", wait=False)
    assert not said.missing and set(said.values["value"][said.values["theory"] == "Bayes, memorising"]) == {value}


def test_theory_that_the_one_who_asks_would_not_find_is_an_error(measured, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = points(measured, Selection.of(sigma2=1.0, L=16))
    (later,) = overlays.beside(found.frame, "final_test_acc", wait=False).missing
    monkeypatch.setattr(of_same_different, "is_kept", lambda *call: False)
    with pytest.raises(RuntimeError, match=f"could not be kept in {tmp_path}"):
        later.compute()
    monkeypatch.setattr(overlays, "code_of", lambda study: "edited since")
    with pytest.raises(RuntimeError, match="start it again"):
        later.compute()


OTHER_PARTS = [{"network": "mlp"}, {"training": "adam"}, {"training": "langevin"}, {"training": None, "kappa": 1.0},
               {"momentum": 0.9}, {"weight_decay": 1e-4}, {"loss": "mse"}]  # fmt: skip
THE_FIRST_PARTS = [{}, {"network": None, "training": None}, {"network": "relu2", "training": "sgd"}, {"kappa": None},
                   {"momentum": 0.0, "weight_decay": None, "loss": None}, {"loss": "cross_entropy"}]  # fmt: skip


@pytest.mark.parametrize("parts", OTHER_PARTS)
def test_eq3_says_nothing_of_another_network_or_training(measured, parts):
    frame = points(measured, Selection.of(gamma_label="1", sigma2=0.0)).frame.assign(**parts)
    assert overlays.beside(frame, "best_test_acc", wait=False).values.empty
    assert overlays.curves(frame, "best_test_acc", "L", [], wait=False).empty
    assert predicted("L", "d", frame.iloc[0].to_dict()) is None
    assert expected(frame.iloc[0].to_dict()) == {}


@pytest.mark.parametrize("parts", [{"momentum": 0.9}, {"weight_decay": 1e-4}, {"loss": "mse"}])
@pytest.mark.parametrize("selected", [{"sigma2": 4.0}, {"gamma_label": "lazy", "L": 8}])
def test_bayes_and_kernels_say_nothing_of_another_training(measured, selected, parts):
    frame = points(measured, Selection.of(**selected)).frame
    plain = overlays.beside(frame, "best_test_acc", wait=False)
    assert len(plain.values) or plain.missing
    said = overlays.beside(frame.assign(**parts), "best_test_acc", wait=False)
    assert said.values.empty and not said.missing
    assert predicted("L", "d", frame.assign(**parts).iloc[0].to_dict()) is None


@pytest.mark.parametrize("parts", THE_FIRST_PARTS)
def test_rows_of_older_versions_are_two_layer_networks_under_sgd(measured, parts):
    frame = points(measured, Selection.of(gamma_label="1", sigma2=0.0)).frame.assign(**parts)
    assert set(overlays.beside(frame, "best_test_acc", wait=False).values["theory"]) == {"Eq. 3"}
    assert str(predicted("L", "d", frame.iloc[0].to_dict())) == "0 [Eq. 3]"
    assert expected(frame.iloc[0].to_dict())["alignment_pos"].value == 1


def test_of_a_store_of_several_networks_a_theory_speaks_of_its_own(measured):
    frame = points(measured, Selection.of(gamma_label="1", sigma2=0.0)).frame
    both = pd.concat([frame, frame.assign(network="mlp")], ignore_index=True)
    said = overlays.beside(both, "best_test_acc", wait=False).values
    assert set(said["point"]) == set(range(len(frame)))


def test_every_theory_says_which_networks_it_speaks_of():
    assert len({(theory.source, theory.measures) for theory in THEORIES.values()}) == len(THEORIES)
    for theory in THEORIES.values():
        assert theory.about.task and theory.about.network and theory.about.training


def test_each_key_of_sgd_is_known_to_be_plain_or_not():
    """A theory would otherwise be drawn beside networks that, say, a new kind of momentum trains."""
    assert set(PLAIN) == SGD.model_fields.keys() - {*SGD.hashed_at_default, *SGD.measured_by}
    assert all(values == (SGD.model_fields[key].default,) for key, values in PLAIN.items() if key != "loss")
