"""How the outcomes of checks stand in Dagster: names, severities, numbers, what to do."""

import logging
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.assets import common, data, evaluation, filtering, warmup
from aflite_assets.checks import CheckOutcome
from aflite_assets.diagnostics.data_checks.all_checks import DATA_CHECKS
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.studies.forgettables.assets.assets import forgettable_sets
from aflite_assets.studies.sample.assets.assets import train_sample
from tests.assets.made import materialize, register, resources

ASSETS = (
    data.challenge_sets, train_sample, warmup.warmup_split, warmup.warmup_models, filtering.filtered_sets,
    forgettable_sets, evaluation.evaluator_models,
)  # fmt: skip
pytestmark = pytest.mark.usefixtures("tracking_home")
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
    register(
        monkeypatch,
        {
            "name": "circles_1",
            "source": {"format": "parquet", "splits": {n: str(tmp_path / f"{n}.parquet") for n in ("train", "test")}},
            "columns": {"text": "premise", "text_pair": "hypothesis"},
            "labels": ["entailment", "neutral", "contradiction"],
            "unlabelled": [-1],
            "representations": {"small": {"kind": "small_transformer"}},
            "evaluators": {"linear": {"kind": "linear"}},
        },
    )


def evaluations(*assets: Any, **options: Any) -> dict[str, dg.AssetCheckEvaluation]:
    return {one.check_name: one for one in materialize(assets, **options).get_asset_check_evaluations()}


def shown(one: dg.AssetCheckEvaluation) -> dict[str, Any]:
    return {name: value.value for name, value in one.metadata.items()}


def test_declared_checks_are_the_findings() -> None:
    declared = {key.name: data.raw_dataset.get_spec_for_check_key(key) for key in data.raw_dataset.check_keys}
    assert set(declared) == {"files_intact", *(one.name for one in DATA_CHECKS)}
    assert {name for name, spec in declared.items() if spec.blocking} == BLOCKING
    assert declared["no_empty_texts"].description == "No text is empty or only white space."


NAMES = {
    "challenge_sets": ["challenge_sets_available"],
    "train_sample": ["sample_curve_flattens"],
    "warmup_split": ["texts_fit_encoders", "learning_curves_flatten"],
    "warmup_models": ["better_than_largest_class"],
    "filtered_sets": ["target_size_kept", "removed_rows_predictable", "test_kept_like_train", "no_cautions"],
    "forgettable_sets": [
        "weak_models_trained", "weak_models_learnt", "forgettable_rows_are_a_choice", "balancing_keeps_half",
    ],
    "evaluator_models": [
        "all_cells_done", "better_than_largest_class", "not_at_chance_on_challenge_sets", "more_than_one_answer",
    ],
}  # fmt: skip
"""Names that people's alerts have; none may change."""


@pytest.mark.parametrize("asset", [one for one in ASSETS if one.key.path[-1] in NAMES], ids=lambda one: one.op.name)
def test_names_of_checks_stay(asset: dg.AssetsDefinition) -> None:
    name = asset.key.path[-1]
    specs = {one.name: one for one in asset.check_specs}
    assert sorted(specs) == sorted(NAMES[name])
    assert {one.name for one in specs.values() if one.blocking} == (
        {"target_size_kept", "removed_rows_predictable"} if name == "filtered_sets" else set()
    )
    asks = STAGES[name].checks.asks
    assert set(asks.values()) <= {one.description for one in specs.values()}


def test_findings_stand_on_the_asset(pairs: None) -> None:
    checks = evaluations(data.raw_dataset)
    left_out = {
        "images_decode", "no_constant_features", "no_repeated_features", "features_on_one_scale", "annotators_agree",
        "no_groups_across_splits",
    }  # fmt: skip
    assert set(checks) == {"files_intact", *(one.name for one in DATA_CHECKS)}
    for name in left_out:
        assert checks[name].passed
        assert str(shown(checks[name])["result"]).startswith(("not applicable", "does not apply"))
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
        "what_to_do": "add the missing texts or drop their rows in the source, because a model gets no input from "
        "empty texts",
        "dataset": "circles_1",
    }
    repeated = shown(checks["repeated_texts_grouped"])
    assert repeated["text.most_frequent"] == r"'<script>\x1b premise0' in 3 rows"
    assert repeated["text.majority_share"] == 0.3333
    assert repeated["text.accuracy_rows_held_out"] < 0.15 < repeated["text.accuracy_texts_held_out"]
    assert shown(checks["all_rows_labelled"])["train.dropped"] == 2
    assert shown(checks["features_finite"])["result"] == "not applicable: features only"
    assert shown(checks["classes_balanced"])["train.ratio"] == 1.0
    assert "what_to_do" not in shown(checks["classes_balanced"])


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

    run_asset = common.run_asset

    def damaged_since(*arguments: Any, **given: Any) -> common.AssetRun:
        obtained = run_asset(*arguments, **given)
        path = obtained.result.file("rows-00000.parquet")
        path.write_bytes(b"?" * path.stat().st_size)
        os.utime(path, ns=(0, 0))  # the clock of files ticks coarsely
        return obtained

    monkeypatch.setattr(common, "run_asset", damaged_since)
    checks = evaluations(data.raw_dataset, raise_on_error=False)
    assert len(checks) == 1 + len(DATA_CHECKS)
    assert not any(one.passed for one in checks.values())
    assert shown(checks["no_empty_texts"])["skipped"].startswith(
        "files are damaged: ['the content of rows-00000.parquet has changed"
    )


def test_small_transformers_are_not_measured(pairs: None) -> None:
    checks = evaluations(data.raw_dataset, warmup.warmup_split)
    outcome = checks["texts_fit_encoders"]
    assert outcome.passed
    assert shown(outcome)["representations.small"] == "not measured: its tokenizer is built during training"


def outcome(name: str, subject: str = "", *, passed: bool = True, **fields: Any) -> CheckOutcome:
    return CheckOutcome("evaluators", name, "What is asked.", passed, subject=subject, **fields)


def metadata(one: dg.AssetCheckResult) -> dict[str, Any]:
    return {name: value.value for name, value in one.metadata.items()}


def test_outcomes_of_one_name_are_one_check_that_names_who_failed() -> None:
    same = {"cannot_be_asked_of": "svm", "share": 0.123456}
    natural, *others = common.asset_checks(
        [
            outcome("better", "linear", passed=False, found="27 %", what_to_do="train it longer", numbers=same),
            outcome("better", "bert", found="80 %", what_to_do="train it longer", numbers=same | {"rows": 3}),
            outcome("done", passed=False, found="linear: no", numbers={"undone": 1}),
        ]
    )
    assert (natural.check_name, natural.passed, natural.severity) == ("better", False, dg.AssetCheckSeverity.WARN)
    assert metadata(natural) == {
        "cannot_be_asked_of": "svm",
        "share": 0.1235,
        "rows": 3,
        "found": "linear: 27 %\nbert: 80 %",
        "failed": "linear",
        "what_to_do": "linear: train it longer",
    }
    (done,) = others
    assert (done.check_name, done.passed, metadata(done)) == ("done", False, {"undone": 1, "found": "linear: no"})


def test_numbers_that_differ_stand_by_subject() -> None:
    (found,) = common.asset_checks(
        [outcome("fits", name, numbers={"rows": rows}) for name, rows in (("a", 1), ("b", 2))]
    )
    assert metadata(found) == {"rows": "a: 1\nb: 2"}


def test_what_does_not_apply_passes_and_says_so() -> None:
    skipped = outcome("not_at_chance", "few", passed=False, applies=False, found="cannot be told")
    (alone,) = common.asset_checks([skipped])
    assert (alone.passed, alone.severity) == (True, dg.AssetCheckSeverity.WARN)
    assert metadata(alone) == {"result": "few: cannot be told"}
    (named,) = common.asset_checks([outcome("not_at_chance", "hans", found="better"), skipped])
    assert (named.check_name, named.passed) == ("not_at_chance_on_challenge_sets", True)
    assert metadata(named) == {"found": "hans: better\nfew: cannot be told"}
    (blocking,) = common.asset_checks([outcome("finite", applies=False, blocking=True, found="not applicable: texts")])
    assert (blocking.passed, blocking.severity) == (True, dg.AssetCheckSeverity.ERROR)
    assert metadata(blocking) == {"result": "not applicable: texts"}


def test_the_run_log_says_why_a_blocking_check_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = CheckOutcome(
        "data", "no_label_copies", "No column is the label.", False, "column '\x1bbatch' is one to one with the label",
        blocking=True, what_to_do="leave it out",
    )  # fmt: skip
    outcomes = (copies, replace(copies, name="no_repeats", blocking=False), replace(copies, name="ids", passed=True))
    monkeypatch.setattr(common, "result_checks", lambda *given: outcomes)
    monkeypatch.setattr(common, "REGISTRY", {"circles_1": None})
    run: Any = SimpleNamespace(result=SimpleNamespace(partition="circles_1"), store=None)
    loud = logging.getLogger("dagster.builtin")
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    loud.addHandler(handler)
    try:
        assert len(common.found_checks(run)) == 3
    finally:
        loud.removeHandler(handler)
    assert len(lines) == 1
    assert lines[0].startswith("check FAILED: no_label_copies: column '")
    assert lines[0].endswith("batch' is one to one with the label. To do: leave it out")
    assert lines[0].isprintable()
