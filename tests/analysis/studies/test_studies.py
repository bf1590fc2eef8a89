"""Studies from their folders: what they bring, what is wrong with them in words, and what an edit forgets."""

import hashlib
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import sweepkit.studies
from analysis import Results, Study
from analysis.claims.check import load_claims
from analysis.claims.kinds import KINDS
from analysis.claims.networks_used import networks
from analysis.claims.verdict import JUDGES
from analysis.claims.verdict_cache import judged_by
from analysis.data.source import ResultsError
from analysis.figures.along import _along_training, _theory
from analysis.figures.registry import FIGURES
from analysis.overlays.overlays import beside
from analysis.overlays.registry import THEORIES
from analysis.overlays.unheard import unheard
from analysis.studies import loading
from analysis.study import Along, Case, NotMeasured, Page, theory
from analysis.theory.cache import is_kept, kept
from app.pages import PAGES
from sweepkit.console.commands import STUDIES
from sweepkit.shipped import ROOT, grid_file
from sweepkit.store.store import Store
from sweepkit.studies import StudyError, folders
from tests.store_rows import row

STUDY = """from analysis.study import Along, Case, Study

STUDY = Study(title="Mine", grids=("{name}",), figures=(
    Along("{name}_figure", "test_mse", x="P", title="Mine", cases=(Case("a", {{"task": "hermite"}}, by="d", theory="{theory}"),)),
))
"""
THEORY = """from analysis.study import theory


@theory("theory of {name}", metric=["test_mse", "final_train_loss"], of={{"task": "hermite", "d": [4, 8], "P": {{"at_most": 9}}}})
def error(d: int, P: int) -> float:
    return P / d


def slow(d):
    return d * {factor}
"""
KIND = """from analysis.study import NotMeasured, kind


@kind
def kind_of_{name}(results: str, measure: str) -> NotMeasured:
    return NotMeasured("never")
"""
CLAIMS = """claims:
  - id: {name}-a
    topic: Mine
    source: mine
    says: It is 1.
    grid: {name}
    measure: {{kind: kind_of_{name}, measure: test_mse}}
    expected: {{at_most: 1}}
    because: so
"""
GRID = (
    "sweep: {name}\ngrids: [{{task: hermite, degree: 1, network: linear1, training: ridge, ridge: 0.1, d: 4, P: 2, seed: 0}}]\n"
)


FROM, AS = "from analysis.study import", "STUDY = Study(title='a'"
"""Beginnings of lines in study.py."""
NONE = "metric='test_mse', of={}"


@pytest.fixture(autouse=True)
def no_others(monkeypatch):
    """Each test knows the studies that it names, and no others."""
    monkeypatch.setenv(STUDIES, "")


def made(folder: Path, **files: str) -> Path:
    """A study with these files in place of the usual ones; None leaves one out."""
    usual = {"study.py": STUDY, "theory.py": THEORY, "kinds.py": KIND, "claims.yaml": CLAIMS, f"grids/{folder.name}.yaml": GRID}
    (folder / "grids").mkdir(parents=True)
    for name, text in (usual | files).items():
        if text is not None:
            (folder / name).write_text(text.format(name=folder.name, theory="error", factor=2) if "{name}" in text else text)
    return folder


def told_by_the_environment(folder: Path, monkeypatch) -> None:
    """Let a study be known as in a process that starts with the variable."""
    monkeypatch.setenv(STUDIES, str(folder))
    sweepkit.studies._place(folder)


def test_a_folder_anywhere_brings_theory_a_figure_a_kind_and_claims(tmp_path):
    study = Study.load(made(tmp_path / "elsewhere"))
    assert (study.name, study.title, study.theory.error(d=4, P=2)) == ("elsewhere", "Mine", 0.5)
    assert FIGURES["elsewhere_figure"].title == "Mine" and "kind_of_elsewhere" in KINDS
    (claim,) = load_claims(study="elsewhere")
    assert claim.grid == str(study.grid_file("elsewhere"))
    assert [one.name for one in THEORIES.values() if one.study == "elsewhere"] == ["theory of elsewhere"]
    rows = pd.DataFrame({"task": "hermite", "d": [4, 4, 16, 4], "P": [2, 8, 2, 10], "momentum": [None, 0.0, None, None]})
    said = beside(rows, "final_train_loss", only=["theory of elsewhere"]).values
    assert dict(zip(said["point"], said["value"], strict=True)) == {0: 0.5, 1: 2.0}


def test_it_does_not_speak_of_momentum_unless_it_says_so():
    @theory("m", metric="test_mse", of={"task": "hermite"})
    def plain(d):
        return d

    @theory("m", metric="test_mse", of={"task": "hermite", "momentum": [0, 0.9]})
    def with_momentum(d):
        return d

    rows = pd.DataFrame({"task": "hermite", "d": [4, 4], "momentum": [None, 0.9]})
    about = [function.theories[0].about.speaks_of(rows).tolist() for function in (plain, with_momentum)]
    assert about == [[True, False], [False, True]]


def test_nothing_of_a_folder_is_run_unless_it_is_named(tmp_path, monkeypatch):
    made(tmp_path / "beside", **{"study.py": "raise RuntimeError"})
    monkeypatch.chdir(tmp_path)
    assert "beside" not in folders() and loading.studies()


def test_another_process_knows_it_by_its_name(tmp_path):
    Study.load(made(tmp_path / "told"))
    code = """from analysis.figures.along import _along_training, _theory
from analysis.figures.registry import FIGURES
from sweepkit.studies.told.theory import error
print(error(4, 2), 'told_figure' in FIGURES)"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.5", "True"]


def test_two_of_one_name_are_refused(tmp_path):
    Study.load(made(tmp_path / "one" / "twin"))
    with pytest.raises(StudyError, match="two studies of one name"):
        Study.load(made(tmp_path / "two" / "twin"))
    with pytest.raises(StudyError, match="two studies of one name"):
        Study.load(made(tmp_path / "one_third"))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"study.py": None}, "is no study, as it has no study.py"),
        ({"study.py": "STUDY = 1"}, "study.py: it must hold STUDY = Study"),
        ({"study.py": "x = (\n"}, "study.py:1: not Python"),
        ({"study.py": "\n1 / 0"}, "study.py:2: ZeroDivisionError"),
        (
            {"study.py": f"{FROM} Study\n{AS}, grid='b')"},
            "study.py:2: grid: Unexpected keyword argument",
        ),
        (
            {"study.py": f"{FROM} Study\n{AS}, grids='b')"},
            "study.py:2: grids: Input should be a valid tuple",
        ),
        (
            {"study.py": f"{FROM} Study\n{AS}, grids=('wrong3',))"},
            "grids: no 'wrong3'; did you mean 'wrong",
        ),
        ({"study.py": f"{FROM} Study\n{AS}, needs=('one_thrid',))"}, "did you mean 'one_third'"),
    ],
)
def test_what_is_wrong_with_study_py_is_told_with_its_place(tmp_path, files, said, request):
    folder = tmp_path / f"wrong{request.node.callspec.indices['files']}"
    with pytest.raises(StudyError) as told:
        Study.load(made(folder, **files))
    assert said in str(told.value) and str(folder) in str(told.value)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"theory.py": "\n\nraise OSError('no')"}, "theory.py:3: OSError: no"),
        ({"theory.py": f"{FROM} theory\n@theory('a', metric='test_mse', of=3)\ndef e(d): ..."}, "theory.py:2: theory 'a': of"),
        ({"theory.py": f"{FROM} theory\n@theory('a', {NONE})\ndef e(*d): ..."}, "each argument must be the name of a key"),
        ({"theory.py": "def other(d): ..."}, "case 'a': theory 'error' is no function of theory.py"),
        ({"theory.py": "def error(d, P, width): ..."}, "no value of its argument 'width'"),
        ({"theory.py": f"{FROM} theory\n@theory('ridge regression', {NONE})\ndef e(d): ..."}, "there twice"),
        ({"kinds.py": f"{FROM} kind\n@kind\ndef mean(results): ..."}, "kind 'mean' is there already"),
        ({"figures.py": f"{FROM} Figure\nA = Figure('Balance', 't', 's', (), None)"}, "figure 'Balance' is there already"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_its_other_files_is_told(tmp_path, files, said, request):
    folder = made(tmp_path / f"bad{request.node.callspec.indices['files']}", **files)
    Study.load(folder)
    with pytest.raises(StudyError) as told:
        list(THEORIES), list(KINDS), list(FIGURES)
    assert said in str(told.value), told.value


@pytest.mark.parametrize(
    "files",
    [{"study.py": "x = (\n"}, {"theory.py": "1 / 0"}, {"kinds.py": "1 / 0"}, {"figures.py": "1 / 0"}, {"claims.yaml": "a: 1"},
     {"claims.yaml": CLAIMS.replace("kind_of_", "no_kind_of_")},
     {"claims.yaml": CLAIMS.replace("{name}-a", "one-third-d1")}],
)  # fmt: skip
def test_a_broken_study_that_only_the_environment_names_is_left_out_and_told_once(tmp_path, monkeypatch, capfd, files, request):
    folder = made(tmp_path / f"broken{request.node.callspec.indices['files']}", **files)
    told_by_the_environment(folder, monkeypatch)
    for _ in range(2):
        assert len(list(THEORIES)) > 10 and len(list(KINDS)) > 10 and len(list(FIGURES)) > 10 and len(load_claims()) > 10
    told = capfd.readouterr().err
    assert told.count("is left out") == 1 and folder.name in told and "ModuleNotFoundError" not in told
    with pytest.raises((StudyError, ValueError)):
        Study.load(folder), list(THEORIES), list(KINDS), list(FIGURES), load_claims(study=folder.name)


@pytest.mark.parametrize("name", ["curves", "dimension"])
def test_a_page_with_the_address_of_another_one_is_left_out(tmp_path, monkeypatch, capfd, name):
    """One is a page of the app itself, the other a study's."""
    before = dict(PAGES)
    text = f"""from analysis.study import Page, Study
STUDY = Study(title='a', pages=(Page(name='{name}', title='A', meaning='a', networks='any', grid='quick', takes='a minute'),))"""
    told_by_the_environment(made(tmp_path / f"paged_{name}", **{"study.py": text}), monkeypatch)
    assert dict(PAGES) == before and "is there already" in capfd.readouterr().err


def test_the_kind_on_the_page_about_studies_measures(measured):
    page = (ROOT / "docs/howto/studies.md").read_text()
    held = {}
    exec(next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "@kind" in block), held)
    found = held["share_above"](measured, "best_test_acc", 0.5, {"task": "same_different", "L": 3, "d": 64})
    assert 0 < found.interval.value <= 1 and "network" in found.what
    assert isinstance(held["share_above"](measured, "best_test_acc", 0.5, {"task": "parity2"}), NotMeasured)


@pytest.mark.parametrize("wrong", [{"where": {"P": {"at_least": 3}}}, {"saved": "nothing"}])
def test_a_page_with_a_condition_that_is_none_is_refused(wrong):
    with pytest.raises(StudyError, match="page 'a'"):
        Page(name="a", title="A", meaning="a", networks="any", grid="quick", takes="a minute", **wrong)


@pytest.mark.parametrize(
    ("measure", "said"),
    [("{kind: mean, measure: test_mse, of: {P: {atleast: 3}}}", "of: P: unknown 'atleast'"),
     ("{kind: difference, measure: test_mse, of: {}, a: {P: {at_lest: 3}}, b: {P: 1}}", "a: P: unknown 'at_lest'"),
     ("{kind: mean, measure: test_mse, of: }", "of: must be a mapping")],
)  # fmt: skip
def test_networks_of_a_claim_that_are_misspelt_are_refused(tmp_path, measure, said):
    file = tmp_path / "claims.yaml"
    entry = CLAIMS.replace("{{kind: kind_of_{name}, measure: test_mse}}", measure.replace("{", "{{").replace("}", "}}"))
    file.write_text(entry.format(name="misspelt"))
    with pytest.raises(ValueError, match=said):
        load_claims(file)


def test_networks_of_several_tasks_are_measured(measured):
    assert (
        KINDS["mean"](measured, "best_test_acc", of={"task": ["same_different", "psvrt"], "L": 3, "d": 64}).interval.value > 0.5
    )


def test_a_folder_that_the_environment_names_and_that_is_not_there_stops_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv(STUDIES, str(tmp_path / "gone"))
    assert "gone" not in folders() and len(loading.studies()) > 10
    assert "study gone is left out: no folder" in capfd.readouterr().err


def test_a_theory_of_the_step_is_drawn_along_training(measured):
    @theory("falls", metric="test_acc", of={"task": "same_different"})
    def falls(step, width):
        return 1 - 0.1 / (1 + step / width)

    chart = Results(measured).plot("step", "test_acc", by="gamma", sweep="measured", where={"L": 3, "d": 64}, theory=[falls])
    assert "dashed: falls at each step" in chart.to_dict()["description"]
    alone = Results(measured).plot("step", "test_acc", by="gamma", sweep="measured", where={"L": 3, "d": 64}, theory=False)
    assert "dashed" not in alone.to_dict()["description"]


def test_a_name_that_is_no_study_tells_the_nearest():
    with pytest.raises(StudyError, match="no study 'one_thrid'; did you mean 'one_third'"):
        Study.load("one_thrid")
    with pytest.raises(StudyError, match="no folder"):
        Study.load("there/is/none")


def digests(folder):
    for function in (loading.theory_digest, loading.judging_digest):
        function.cache_clear()
    return loading.theory_digest(folder), loading.judging_digest(folder)


@pytest.mark.parametrize(
    ("file", "theory_stays", "verdicts_stay"),
    [
        ("theory.py", False, False),
        ("kinds.py", True, False),
        ("figures.py", True, True),
        ("README.md", True, True),
        ("test_a.py", True, True),
    ],
)
def test_an_edit_forgets_what_depends_on_it_alone(tmp_path, file, theory_stays, verdicts_stay):
    folder = made(tmp_path / f"edited_{file[:3].lower()}")
    Study.load(folder)
    other = folders()["one_third"]
    (before, judged), others = digests(folder), digests(other)
    with (folder / file).open("a") as text:
        text.write("\n# more\n")
    (after, judged_after), others_after = digests(folder), digests(other)
    assert ((before == after), (judged == judged_after)) == (theory_stays, verdicts_stay) and others == others_after


def test_an_edit_of_what_a_study_needs_forgets_its_values_too(tmp_path):
    needed = made(tmp_path / "needed")
    Study.load(needed)
    needing = made(
        tmp_path / "needing",
        **{"study.py": f"{FROM} Study\n{AS}, needs=('needed',))", "claims.yaml": None},
    )
    Study.load(needing)
    before = digests(needing)
    (needed / "theory.py").write_text("x = 1")
    assert all(old != new for old, new in zip(before, digests(needing), strict=True))


def test_kept_values_of_a_study_are_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = made(tmp_path / "keeping")
    slow = Study.load(folder).theory.slow
    assert kept(slow, 3) == 6 and is_kept(slow, 3)
    (folder / "theory.py").write_text(THEORY.format(name="keeping", factor=5))
    digests(folder)  # as a process that starts now
    assert not is_kept(slow, 3)


def test_a_verdict_depends_on_its_study_and_on_that_of_its_theory():
    claims = {claim.id: claim for claim in load_claims()}
    before = {name: judged_by(claim) for name, claim in claims.items()}
    changed = folders()["ridge"]
    with pytest.MonkeyPatch.context() as patch:
        digest = loading.judging_digest
        patch.setattr("analysis.claims.verdict_cache.judging_digest", lambda folder: "x" if folder == changed else digest(folder))
        other = {name for name, claim in claims.items() if judged_by(claim) != before[name]}
    assert other == {name for name, claim in claims.items() if claim.study == "ridge"} != set()


def test_all_that_judges_is_in_the_rooms_whose_code_names_verdicts():
    """Charts are loaded with what measures, and draw only."""
    code = """import sys, analysis.claims.check as _
from analysis.claims.kinds import KINDS; from analysis.overlays.registry import THEORIES; list(KINDS), list(THEORIES)
print(*(name for name in sys.modules if name.split(".")[0] in ("analysis", "sweepkit")))"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    rooms = {"/".join(name.split(".")[:2]) for name in done.stdout.split()}
    apart = {
        "analysis",
        "analysis/study",
        "analysis/charts",
        "sweepkit",
        "sweepkit/console",
        "sweepkit/shipped",
        "sweepkit/studies",
    }
    assert rooms <= {*JUDGES, *apart}, rooms - {*JUDGES, *apart}


def test_a_study_is_one_folder_of_few_files_and_needs_no_other_but_those_it_names():
    for study in loading.studies():
        files = [
            file
            for file in study.folder.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts and "grids" not in file.parts
        ]
        assert study.tag or len(files) <= 8, (study.name, files)
        assert (study.folder / "README.md").is_file() and study.claims_file and study.grids
        for file in study.folder.rglob("*.py"):
            text = file.read_text()
            for name in folders():
                if name != study.name and re.search(rf"from \.+{name}\b|from \.\.+ import .*\b{name}\b", text):
                    assert name in study.needs, f"{file} imports {name}"


def test_own_files_of_grids_stay_byte_by_byte():
    """Their digests are part of the ids of stored networks."""
    file = folders()["denoising"] / "grids/denoising.py"
    assert hashlib.sha256(file.read_bytes()).hexdigest() == "1f74b2cb16bc0f6ccd870f461c0131813685fb2ee6dc5ea8f89786335e575b34"
    assert (
        hashlib.sha256((ROOT / "examples/parity.py").read_bytes()).hexdigest()
        == "4f6af91b5cdf2c18700a15ee91980ba680cf28c49688324ea2e5ada2b1297b5d"
    )


def test_grids_of_studies_are_found_by_their_stems():
    for study in loading.studies():
        assert all(grid_file(grid) == study.grid_file(grid) for grid in study.grids)


def test_the_core_imports_no_study():
    for room in ("analysis", "app", "orchestrator", "sweepkit", "trainables"):
        for file in (ROOT / room).rglob("*.py"):
            assert "sweepkit.studies." not in file.read_text().replace("`sweepkit.studies.", ""), file


def test_the_code_on_the_page_about_studies_is_that_of_a_new_one():
    page, example = (ROOT / "docs/howto/studies.md").read_text(), ROOT / "examples/my_law"
    for kind, file in (("python", "theory.py"), ("python", "study.py"), ("yaml", "claims.yaml")):
        blocks = re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)
        assert any(len(block) > 200 and block in (example / file).read_text() for block in blocks), file


def test_a_chart_with_curves_of_ones_own_alone(measured):
    @theory("mine", metric="best_test_acc", of={"task": "same_different"})
    def half(L):
        return 0.5

    chart = Results(measured).plot(x="L", where={"d": 128, "gamma": 1}, theory=[half])
    assert "mine" in chart.to_json() and "Eq. 3" not in chart.to_json()


def test_a_plain_function_of_keys_is_drawn_beside_all_networks(measured):
    def my_guess(L):
        return 1 - 1 / L

    r = Results(measured)
    chart = r.plot(x="L", y="final_test_acc", where={"d": 128, "gamma": 1}, theory=[my_guess])
    assert "my guess" in chart.to_json() and "0.8" in chart.to_json()
    assert "formula" in r.plot(x="L", where={"d": 128, "gamma": 1}, theory=[lambda L, d: 1 - d / L**2]).to_json()
    for wrong, why in (("my_guess", "is no theory: declare it"), (len, "each argument must be the name of a key")):
        with pytest.raises(StudyError, match=why):
            r.plot(x="L", theory=[wrong])
    with pytest.raises(StudyError, match="theory of_n: no network has a key n, widht; did you mean 'width'"):
        r.plot(x="L", theory=[of_n])


def of_n(n, widht):
    return 1 / n + widht


def test_claims_of_a_file_or_of_one_study(measured, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        CLAIMS.format(name="mine").replace("kind_of_mine, measure: test_mse", "mean, measure: best_test_acc, of: {L: 3}")
    )
    assert list(Results(measured).claims(file)["id"]) == ["mine-a"]
    assert set(Results(measured).claims(study="balance")["topic"]) == {"Conservation"}
    with pytest.raises(ResultsError, match="No such file"):
        Results(measured).claims(tmp_path / "none.yaml")


def test_theory_that_is_about_no_network_is_told_with_what_is_misspelt(measured, tmp_path):
    text = """from analysis.study import theory
@theory("heard", metric="best_test_acc", of={"task": "same_different"})
def heard(L): return 0.5
@theory("other metric", metric="best_tset_acc", of={"task": "same_different"})
def metric(L): return 0.5
@theory("other key", metric="best_test_acc", of={"task": "same_different", "gama": 1})
def key(L): return 0.5
@theory("other value", metric="best_test_acc", of={"task": "same_diferent"})
def value(L): return 0.5
"""
    study = Study.load(made(tmp_path / "unheard", **{"theory.py": text, "study.py": f"{FROM} Study\n{AS})"}))
    metric, key, value = unheard(study, measured)
    assert "'other metric' is of best_tset_acc" in metric and "did you mean 'best_test_acc'" in metric
    assert "'other key' names 'gama'" in key and "did you mean 'gamma'" in key
    assert "'other value' is about none of the networks" in value


def test_a_network_without_a_parameter_is_another_kind():
    @theory("m", metric="test_mse", of={"task": "hermite"})
    def of(d: int, P: int):
        return P / d

    rows = pd.DataFrame({"task": "hermite", "d": [4, 4], "P": pd.array([2, None], dtype="Int64"), "loss": [None, None]})
    assert of.theories[0].about.speaks_of(rows).tolist() == [True, False]


def test_the_loss_that_results_leave_out_may_be_named():
    @theory("m", metric="test_mse", of={"task": "hermite", "loss": "mse"})
    def of(d):
        return d

    rows = pd.DataFrame({"task": "hermite", "d": 4, "loss": [None, "mse", "cross_entropy"]})
    assert of.theories[0].about.speaks_of(rows).tolist() == [True, True, False]


def test_claims_judge_the_networks_of_a_file_as_it_is_now(tmp_path):
    store = Store(str(tmp_path))
    for i, (version, value) in enumerate((("3+aaaa", 0.1), ("3+bbbb", 0.9))):
        when = datetime(2026, 11, 29, 12, i, tzinfo=UTC)
        names = range(3) if i == 0 else range(3, 6)
        store.commit(
            f"p{i}", [row(f"c{n}", seed=n % 3, best_test_acc=value, science_version=version, finished_at=when) for n in names]
        )
    found = networks(store.results, {"task": "same_different"}, "best_test_acc")
    assert set(found.frame["value"]) == {0.9} and len(found.frame) == 3


def test_the_theory_of_a_mean_is_its_mean_over_the_same_steps():
    figure = Along("A", "train_loss", (), "t", x="base_lr * step")
    frame = pd.DataFrame({"step": [0, 2, 12, 1012], "x": [0.0, 1.0, 6.0, 506.0]})
    x, means = _along_training(figure, frame, lambda t: t, {})
    # Steps 0 and 1; 2 to 11; 12 to 1011, at half the step each.
    assert list(x) == [1.0, 6.0, 506.0] and means == pytest.approx([0.25, 3.25, 255.75])


def test_a_curve_for_each_series_whose_evaluations_differ():
    figure = Along("A", "train_loss", (), "t", x="base_lr * step")
    frame = pd.DataFrame(
        {
            "series": ["a", "a", "b", "b", "c", "c"],
            "step": [10, 20] * 3,
            "x": [1.0, 2.0, 5.0, 10.0, 1.0, 2.0],
            "base_lr": [0.1] * 2 + [0.5] * 2 + [0.1] * 2,
        }
    )
    one = SimpleNamespace(case=Case("case", {}, axes=("base_lr",), theory="flow"))
    lines, at_points = _theory(figure, one, frame, lambda t: np.exp(-t))
    assert list(lines.groupby("series").size().items()) == [("a", 2), ("b", 2)]  # c is as a
    assert list(at_points) == list(at_points[:4]) + list(at_points[:2]) and at_points.notna().all()
