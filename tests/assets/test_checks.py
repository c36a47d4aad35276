"""How findings and text lengths stand in Dagster: names, severities, numbers, what to do."""

import os
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aflite_assets.analysis.inputs.checks import CheckOutcome
from aflite_assets.stages.evaluation.learnt import Learnt

from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.analysis.scores.judges import OverLargestClass
from aflite_assets.assets import common, data, evaluation, warmup
from aflite_assets.assets.steps.optional_checks import applies
from aflite_assets.diagnostics.data_checks.all_checks import DATA_CHECKS
from aflite_assets.results import StoredResult
from aflite_assets.specs.registry import Registry, parse_spec
from aflite_assets.stages.shared.published import ChallengeSets
from aflite_assets.stages.warmup.findings import EncoderFit, EncoderFits
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource

BLOCKING = {"files_intact", "row_ids_unique", "labels_known", "features_finite", "no_label_copies"}


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_here: None) -> None:
    """60 premises with a hypothesis per label and no groups; a hostile empty text; two rows without a label.

    The dataset stands under the name of a partition that the definitions were loaded with.
    """
    rows = range(182)
    train = pa.table(
        {
            "premise": [f"<script>\x1b premise{row // 3}" for row in rows],
            "hypothesis": ["" if row == 7 else f"hypothesis{row}" for row in rows],
            "label": [-1 if row >= 180 else row % 3 for row in rows],
        }
    )
    pq.write_table(train, tmp_path / "train.parquet")
    test = pa.table({"premise": ["a", "b", "c"], "hypothesis": ["d", "e", "f"], "label": [0, 1, 2]})
    pq.write_table(test, tmp_path / "test.parquet")
    spec = parse_spec(
        {
            "name": "circles_1",
            "source": {"format": "parquet", "splits": {n: str(tmp_path / f"{n}.parquet") for n in ("train", "test")}},
            "columns": {"text": "premise", "text_pair": "hypothesis"},
            "labels": ["entailment", "neutral", "contradiction"],
            "unlabelled": [-1],
            "representations": {"small": {"kind": "small_transformer"}},
            "evaluators": {"linear": {"kind": "linear"}},
        }
    )
    monkeypatch.setattr(common, "REGISTRY", Registry({"circles_1": spec}, {}, {}))


def resources() -> dict[str, Any]:
    return {
        "result_store": ResultStoreResource(),
        "compute_device": ComputeDevice(device="cpu"),
        "compute_cluster": ComputeCluster(),
        "experiment_tracker": ExperimentTracker(),
    }


def evaluations(*assets: Any, raise_on_error: bool = True) -> dict[str, dg.AssetCheckEvaluation]:
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            list(assets),
            partition_key="circles_1",
            instance=instance,
            raise_on_error=raise_on_error,
            resources=resources(),
        )
        return {one.check_name: one for one in result.get_asset_check_evaluations()}


def shown(one: dg.AssetCheckEvaluation) -> dict[str, Any]:
    return {name: value.value for name, value in one.metadata.items()}


def test_declared_checks_are_the_findings() -> None:
    declared = {key.name: data.raw_dataset.get_spec_for_check_key(key) for key in data.raw_dataset.check_keys}
    assert set(declared) == {"files_intact", *(one.name for one in DATA_CHECKS)}
    assert {name for name, spec in declared.items() if spec.blocking} == BLOCKING
    assert declared["no_empty_texts"].description == "No text is empty or white space alone."


def test_findings_stand_on_the_asset(pairs: None) -> None:
    checks = evaluations(data.raw_dataset)
    left_out = {
        "images_decode", "no_constant_features", "no_repeated_features", "features_on_one_scale", "annotators_agree",
        "no_groups_across_splits",
    }  # fmt: skip
    assert set(checks) == {"files_intact", *(one.name for one in DATA_CHECKS)} - left_out
    assert {name for name, one in checks.items() if not one.passed} == {
        "all_rows_labelled", "no_empty_texts", "repeated_texts_grouped",
    }  # fmt: skip
    warnings = {name for name, one in checks.items() if one.severity == dg.AssetCheckSeverity.WARN}
    assert set(checks) - warnings == BLOCKING
    empty = shown(checks["no_empty_texts"])
    assert empty.pop("found").startswith("1 empty text of ")
    assert empty == {
        "empty": 1,
        "text_pair.train.empty": 1,
        "text_pair.train.row_ids": "7",
        "what_to_do": "fill these texts or drop their rows in the source: a model sees nothing there",
        "dataset": "circles_1",
    }
    repeated = shown(checks["repeated_texts_grouped"])
    assert repeated["text.most_frequent"] == r"'<script>\x1b premise0' in 3 rows"
    assert repeated["text.majority_share"] == 0.3333
    assert repeated["text.accuracy_rows_held_out"] < 0.15 < repeated["text.accuracy_texts_held_out"]
    assert shown(checks["all_rows_labelled"])["train.dropped"] == 2
    assert shown(checks["features_finite"])["result"] == "not applicable: features only"
    assert shown(checks["classes_balanced"])["train.ratio"] == 1.0


def test_a_check_of_a_stage_can_be_run_alone(pairs: None) -> None:
    chosen = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey("raw_dataset"), "no_empty_texts"))
    jobs = [dg.define_asset_job("only", chosen)]
    defs = dg.Definitions(assets=[data.raw_dataset], resources=resources(), jobs=jobs)
    with dg.DagsterInstance.ephemeral() as instance:
        tags = {"dagster/partition": "circles_1"}
        result = defs.resolve_job_def("only").execute_in_process(instance=instance, tags=tags)
    (found,) = result.get_asset_check_evaluations()
    assert (found.check_name, found.passed, shown(found)["empty"]) == ("no_empty_texts", False, 1)
    assert not result.get_asset_materialization_events()


def test_a_damaged_result_is_not_read(pairs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was damaged after it was found; the run itself makes again what is damaged before."""

    def damaged_since(*arguments: Any) -> StoredResult:
        obtained = common.run_asset(*arguments)
        path = obtained.result.file("rows-00000.parquet")
        path.write_bytes(b"?" * path.stat().st_size)
        os.utime(path, ns=(0, 0))  # the clock of files ticks coarsely
        return obtained

    monkeypatch.setattr(data, "run_asset", damaged_since)
    checks = evaluations(data.raw_dataset, raise_on_error=False)
    assert len(checks) == 1 + len(DATA_CHECKS)
    assert not any(one.passed for one in checks.values())
    assert shown(checks["no_empty_texts"])["skipped"].startswith("files are damaged: ['rows-00000.parquet ")


def test_small_transformers_are_not_measured(pairs: None) -> None:
    checks = evaluations(data.raw_dataset, warmup.warmup_split)
    outcome = checks["texts_fit_encoders"]
    assert outcome.passed
    assert shown(outcome)["representations.small"] == "not measured: its tokenizer is made when it is trained"


def lengths(over: int, *, of_rows: int = 200) -> dict[str, Any]:
    return {
        "of_rows": of_rows, "rows": 200, "max_length": 64, "over": over, "share": over / 200, "longest": 300,
        "fits_99": 121,
    }  # fmt: skip


@pytest.mark.parametrize(("over", "passed"), [(2, True), (3, False)])
def test_over_one_percent_of_cut_rows_is_told_with_the_length_to_set(over: int, passed: bool) -> None:
    outcome = warmup._texts_fit({"representations.bert": lengths(over), "evaluators.bert": lengths(0, of_rows=999)})
    assert (outcome.passed, outcome.severity) == (passed, dg.AssetCheckSeverity.WARN)
    texts = {name: str(value.value) for name, value in outcome.metadata.items()}
    assert texts["representations.bert"] == (
        f"{over} of 200 rows ({over / 2:.2f}%) have more than 64 tokens and are cut; 99 % have at most 121, the "
        "longest has 300"
    )
    assert texts["evaluators.bert"].startswith("0 of a sample of 200 of 999 rows (0.00%)")
    advice = (
        "representations.bert: set max_length to 128 (99 % of the rows fit in 121 tokens, the longest has 300), or as "
        "near to it as the checkpoint reads"
    )
    assert texts["what_to_do"] == ("none" if passed else advice)


NOTHING_ASKED = Learnt({}, {}, ("svm",), {"hans": ("svm",)}, {})


def test_what_has_nothing_to_look_at_does_not_apply() -> None:
    for outcome in (
        warmup._better_than_largest_class(EncoderFits(0.5, {})),
        evaluation._better_than_largest_class(NOTHING_ASKED),
        evaluation._not_at_chance(NOTHING_ASKED),
        warmup._curves_flatten(None),
        data._available(ChallengeSets({}, {})),
    ):
        assert not applies(outcome.metadata), outcome.check_name
    for outcome in (
        warmup._better_than_largest_class(EncoderFits(0.5, {"a": EncoderFit(0.4, 100)})),
        data._available(ChallengeSets({}, {"hans": "no file"})),
    ):
        assert applies(outcome.metadata), outcome.check_name
        assert not outcome.passed


def outcome(name: str, passed: bool, said: str, *, applies: bool = True) -> dict[str, CheckOutcome]:
    return {name: CheckOutcome("evaluators", name, "What is asked.", passed, said, applies)}


def over(difference: float, *, test_set: str) -> OverLargestClass:
    """So many points over the largest class, of a quarter of the rows, with four points to either side."""
    margin = CrossedInterval(difference, difference - 4, difference + 4, 0.05, 3, (2, 2), 100, 100, True)
    return OverLargestClass("linear", test_set, 0.25, margin)


def test_evaluators_of_whom_it_cannot_be_asked_are_named_beside_the_others() -> None:
    outcomes = {
        **outcome("better_than_largest_class (linear)", False, "27.0 % of answers"),
        **outcome("not_at_chance (hans)", True, "better: linear"),
        **outcome("not_at_chance (few)", True, "cannot be told: linear", applies=False),
        **outcome("more_than_one_answer", False, "these learnt little"),
    }
    places = {name: {"linear": over(9, test_set=name)} for name in ("hans", "few")}
    unasked = {"hans": ("svm",), "none": ("linear", "svm")}
    learnt = Learnt({"linear": over(2, test_set="answers")}, places, ("svm",), unasked, outcomes)
    natural, elsewhere = evaluation._better_than_largest_class(learnt), evaluation._not_at_chance(learnt)
    assert (natural.passed, elsewhere.passed) == (False, True)
    assert {name: value.value for name, value in natural.metadata.items()} == {
        "behind": "linear", "evaluators": "linear: 27.0 % of answers", "cannot_be_asked_of": "svm",
    }  # fmt: skip
    assert {name: value.value for name, value in elsewhere.metadata.items()} == {
        "at_chance": "none",
        "test_sets": "hans: better: linear\nfew: cannot be told: linear",
        "cannot_be_asked_of": "svm on hans, linear on none, svm on none",
    }
    assert (natural.severity, elsewhere.severity) == (dg.AssetCheckSeverity.WARN,) * 2


def test_what_the_report_skips_is_skipped_and_what_fails_there_fails() -> None:
    skipped = outcome("not_at_chance (few)", True, "cannot be told: linear", applies=False)
    failed = outcome("not_at_chance (hans)", False, "at chance: linear")
    places = {"hans": {"linear": over(2, test_set="hans")}}
    assert not applies(evaluation._not_at_chance(Learnt({}, places, (), {}, skipped)).metadata)
    found = evaluation._not_at_chance(Learnt({}, places, (), {}, failed | skipped))
    assert (found.passed, found.metadata["at_chance"].value) == (False, "linear on hans")


@pytest.mark.parametrize(("accuracy", "passed"), [(0.505, False), (0.58, True)])
def test_encoders_are_held_against_the_largest_class_by_the_interval(accuracy: float, passed: bool) -> None:
    found = warmup._better_than_largest_class(EncoderFits(0.5, {"bert": EncoderFit(accuracy, 200)}))
    assert (found.passed, found.severity) == (passed, dg.AssetCheckSeverity.WARN)
    shown = {name: value.value for name, value in found.metadata.items()}
    low, high = ("51.1%", "64.6%") if passed else ("43.6%", "57.4%")
    assert shown == {
        "largest_class": 0.5,
        "train_accuracy": f"bert: {accuracy:.1%} of 200 rows, 95 % interval {low} to {high}",
        "not_surely_better": "none" if passed else "bert",
    }
    (spec,) = warmup.warmup_models.check_specs
    assert spec.description is not None
    assert "passing is no proof that it learnt the task" in spec.description


def test_datasets_without_text_models_pass() -> None:
    outcome = warmup._texts_fit({})
    assert outcome.passed
    assert outcome.metadata["result"].value == "not applicable: text models only"
    assert len(outcome.metadata) == 1
