"""The stage of `benchmark_report`: one page to read, and the same numbers as JSON."""

import json
from typing import Any

from aflite_assets.models.devices import DeviceSettings
from aflite_assets.reports.accuracy import Score
from aflite_assets.reports.records import BenchmarkData
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.results.files import write_json
from aflite_assets.sources.specs import SpecView
from aflite_assets.sources.tables import load_examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.stages.published import read_challenge_sets
from aflite_assets.stages.report_inputs import (
    check_scatter_features,
    filtered_set,
    read_cells,
    read_evidence,
    test_sets,
    trial_note,
    undecodable_note,
    unlabelled_note,
)
from aflite_assets.tracking import TrackedRun


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Render the report from what was published, and keep it as an artifact of the run."""
    from aflite_assets.reports.html import render_report
    from aflite_assets.reports.json_report import report_json
    from aflite_assets.reports.markdown import challenge_markdown, main_markdown
    from aflite_assets.reports.tables import challenge_table, main_table
    from aflite_assets.reports.wording import set_notes

    data = report_data(spec, inputs, draft.partition)
    (draft.path / "report.html").write_text(render_report(data), encoding="utf-8")
    (draft.path / "report.json").write_text(json.dumps(report_json(data), indent=2, allow_nan=False), encoding="utf-8")
    tables = {f"accuracy_{one}": main_markdown(main_table(data, one)) for one in data.representations}
    if data.missing_sets or any(test.challenge for test in data.test_sets):
        notes = {test.name: set_notes(test, data.label_names) for test in data.test_sets}
        tables |= {
            f"challenge_sets_{one}": challenge_markdown(
                challenge_table(data, one), notes=notes, missing=data.missing_sets
            )
            for one in data.representations
        }
    write_json(draft.path / "tables.json", tables)
    tracker.log_metrics(accuracies(data))
    tracker.log_artifact(draft.path / "report.html")
    tracker.log_artifact(draft.path / "report.json")
    return {"cells": len(data.cells), "test_sets": [test.name for test in data.test_sets]}


def accuracies(data: BenchmarkData) -> dict[str, float]:
    """Mean accuracies in [0, 1] by representation, evaluator, train set and test set, as a tracker's metrics."""
    from aflite_assets.reports.tables import challenge_table, main_table

    scores: dict[str, Score | None] = {}
    for one in data.representations:
        for row in main_table(data, one):
            for test in row.tests:
                name = f"{one}.{row.evaluator}.{row.train_set}.{test.test_set}"
                scores |= {f"{name}.full": test.full, f"{name}.filtered": test.filtered}
        for challenged in challenge_table(data, one):
            name = f"{one}.{challenged.evaluator}.{challenged.train_set}.{challenged.test_set}"
            scores[name] = challenged.overall
    return {name: score.accuracy.mean for name, score in scores.items() if score and score.accuracy}


def report_data(spec: SpecView, inputs: Inputs, name: str) -> BenchmarkData:
    """Everything that the report of one dataset shows."""
    raw_result = inputs["raw_dataset"]
    raw = load_examples(raw_result.path)
    if spec.report.scatter_features is not None:
        check_scatter_features(spec.report.scatter_features, raw)
    filtered = tuple(filtered_set(one, part) for one, part in inputs["filtered_sets"].parts.items())
    tested = test_sets(raw, inputs["challenge_sets"], filtered, spec.challenge_sets)
    adding = [test.name for test in tested if test.adds_probabilities]
    return BenchmarkData(
        name=name,
        title=spec.title or name,
        description=spec.description,
        label_names=raw.label_names,
        split_rows=raw_result.summary["rows"],
        warmup_rows=inputs["warmup_split"].summary["rows"],
        notes=(*trial_note(raw_result), *unlabelled_note(raw_result), *undecodable_note(raw_result)),
        filtered=filtered,
        cells=read_cells(inputs["evaluator_models"], probabilities_of=adding),
        test_sets=tested,
        examples=raw,
        scatter_features=spec.report.scatter_features,
        evidence=read_evidence(inputs["bias_evidence"]),
        provenance=_provenance(spec, inputs),
        missing_sets=read_challenge_sets(inputs["challenge_sets"]).missing,
    )


def _provenance(spec: SpecView, inputs: Inputs) -> dict[str, str]:
    versions = {f"data version of {name}": result.data_version for name, result in inputs.items()}
    seeds = {"seed": str(spec.seed), "evaluator seeds": ", ".join(map(str, spec.seeds))}
    return {**seeds, "full includes warm-up rows": str(spec.full_includes_warmup), **versions, **_libraries(inputs)}


def _libraries(inputs: Inputs) -> dict[str, str]:
    made_with: PublishedResult = inputs["evaluator_models"]
    return {name: str(version) for name, version in made_with.manifest["environment"].items()}
