"""Outcomes of checks are computed once for a result, kept beside it, and read by the report."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages import checks
from aflite_assets.stages.checks import stage_checks
from aflite_assets.stages.display import prepare_shown, result_checks
from aflite_assets.stages.evaluation.analysis.stage import ANALYSIS, benchmark_data
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.stage import Stage, StageChecks, StageSettings

CHECKED = {
    "raw_dataset", "challenge_sets", "cue_scan", "train_sample", "warmup_split", "warmup_models", "filtered_sets",
    "forgettable_sets", "evaluator_models",
}  # fmt: skip


class Counting:
    """Counts how often the outcome is computed."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(
        self, result: PublishedResult, inputs: Mapping[str, PublishedResult], settings: DatasetSpec
    ) -> Iterator[CheckOutcome]:
        self.n += 1
        assert list(inputs) == ["raw_dataset"]
        yield CheckOutcome("data", "counted", "Asked.", False, "found", "do it", "a", numbers={"n": self.n})


@pytest.fixture
def raw(circles_spec: DatasetSpec, store: ResultStore) -> PublishedResult:
    return run_stage("raw_dataset", circles_spec, store=store).result


def counted(counting: Counting) -> Stage:
    own = StageChecks({"counted": "Asked."}, counting, ("raw_dataset",), StageSettings("seed"))
    return replace(STAGES["raw_dataset"], checks=own)


def test_stages_that_check_their_results() -> None:
    assert {name for name, stage in STAGES.items() if stage.checks.asks} == CHECKED
    for stage in STAGES.values():
        assert set(stage.checks.inputs) <= set(stage.input_names), stage.name
        assert stage.checks.blocking <= set(stage.checks.asks)


def test_outcomes_are_computed_once(circles_spec: DatasetSpec, raw: PublishedResult) -> None:
    counting, results = Counting(), {"raw_dataset": raw}
    (first,) = stage_checks(counted(counting), raw, circles_spec, results)
    assert first == CheckOutcome("data", "counted", "Asked.", False, "found", "do it", "a", numbers={"n": 1})
    report = STAGES["analysis"].settings.of(circles_spec)
    assert stage_checks(counted(counting), raw, report, results) == (first,)
    assert counting.n == 1


def test_what_outcomes_depend_on_makes_them_anew(
    circles_spec: DatasetSpec, store: ResultStore, raw: PublishedResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting, results = Counting(), {"raw_dataset": raw}
    stage = counted(counting)
    stage_checks(stage, raw, circles_spec, results)
    other_seed = circles_spec.model_copy(update={"seed": circles_spec.seed + 1})
    other_rows = {"raw_dataset": run_stage("challenge_sets", circles_spec, store=store).result}
    stage_checks(stage, raw, other_seed, results)
    assert counting.n == 2
    stage_checks(stage, raw, other_seed, other_rows)
    assert counting.n == 3
    monkeypatch.setattr(checks, "sources_version", lambda files: "other code")
    stage_checks(stage, raw, other_seed, other_rows)
    assert counting.n == 4
    renamed = circles_spec.model_copy(update={"title": "Another", "seed": other_seed.seed})
    stage_checks(stage, raw, renamed, other_rows)
    assert counting.n == 4
    assert len(list(raw.path.parent.glob("shown/*-findings-*"))) == 1


def test_a_stage_without_checks_keeps_nothing(circles_spec: DatasetSpec, raw: PublishedResult) -> None:
    assert stage_checks(STAGES["embeddings"], raw, circles_spec, {}) == ()
    assert list(raw.path.parent.glob("shown/*")) == []


def test_the_report_lists_what_was_kept_when_results_were_made(
    circles_spec: DatasetSpec, store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of results that were made before outcomes were kept: then it computes and keeps them."""
    results = {
        name: run_stage(name, circles_spec, store=store).result
        for name in STAGES
        if name not in ("analysis", "benchmark_report")
    }
    inputs, settings = ANALYSIS.inputs_of(results), circles_spec
    kept = [result.path.parent / "shown" for result in results.values()]
    assert not any(folder.exists() for folder in kept)
    late = benchmark_data(settings, inputs, circles_spec.name).checks
    for result in results.values():
        prepare_shown(result, circles_spec, store)
    shown = [one for name in STAGES if name in results for one in result_checks(results[name], circles_spec, store)]
    monkeypatch.setattr(checks, "asdict", None)  # nothing is computed again
    early = benchmark_data(settings, inputs, circles_spec.name).checks
    assert early == late
    assert sorted(map(str, shown)) == sorted(map(str, late))
    assert [one.title for one in late if one.outcome == "passed" and one.about != "data"] == [
        "no_cautions (given)", "all_cells_done", "better_than_largest_class (linear)",
        "better_than_largest_class (rbf_svm)", "more_than_one_answer",
    ]  # fmt: skip
    (file,) = results["filtered_sets"].path.parent.glob("shown/*-findings-*")
    (filtered,) = json.loads(json.loads(file.read_text())["value"])
    assert (filtered["name"], filtered["subject"]) == ("no_cautions", "given")
