"""The stage of `benchmark_report`: one page to read, its figures, its numbers as JSON, Markdown and Parquet."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from aflite_assets.models.devices import DeviceSettings
from aflite_assets.reports.accuracy import Score
from aflite_assets.reports.records import BenchmarkData
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.results.files import write_json
from aflite_assets.sources.model_specs import validation_splits
from aflite_assets.sources.specs import SpecView
from aflite_assets.sources.tables import load_examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.stages.published import read_challenge_sets, read_learning_curves
from aflite_assets.stages.report_inputs import (
    check_scatter_features,
    filtered_set,
    fine_tuned_evaluators,
    model_families,
    read_cells,
    read_evidence,
    read_similarities,
    score_counts,
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
    from aflite_assets.reports.flat_tables import flat_tables
    from aflite_assets.reports.html import render_report
    from aflite_assets.reports.json_report import report_json

    data = report_data(spec, inputs, draft.partition)
    (draft.path / "report.html").write_text(render_report(data), encoding="utf-8")
    (draft.path / "report.json").write_text(json.dumps(report_json(data), indent=2, allow_nan=False), encoding="utf-8")
    write_json(draft.path / "tables.json", markdown_tables(data))
    (draft.path / "tables").mkdir()
    for name, table in flat_tables(data).items():
        pq.write_table(table, draft.path / "tables" / f"{name}.parquet")
    write_pictures(data, draft.path)
    tracker.log_metrics(accuracies(data))
    tracker.log_artifact(draft.path / "report.html")
    tracker.log_artifact(draft.path / "report.json")
    return {"cells": len(data.cells), "test_sets": [test.name for test in data.test_sets]}


def write_pictures(data: BenchmarkData, folder: Path) -> None:
    """Every figure as `figures/<name>.png`, and in `figures.json` what each shows."""
    from aflite_assets.reports.pictures import report_pictures

    pictures = report_pictures(data)
    (folder / "figures").mkdir()
    for name, picture in pictures.items():
        (folder / "figures" / f"{name}.png").write_bytes(picture.png)
    write_json(folder / "figures.json", {name: picture.alt for name, picture in pictures.items()})


def markdown_tables(data: BenchmarkData) -> dict[str, str]:
    """The report's tables as Markdown by name; those with nothing to show are left out."""
    from aflite_assets.reports import markdown_comparisons as comparisons
    from aflite_assets.reports.in_distribution import in_distribution_tables
    from aflite_assets.reports.markdown import challenge_markdown, main_markdown
    from aflite_assets.reports.paired import paired_differences
    from aflite_assets.reports.published_tables import published_tables
    from aflite_assets.reports.tables import challenge_table, main_table
    from aflite_assets.reports.top_k import top_k_tables
    from aflite_assets.reports.transfer import transfer_tables
    from aflite_assets.reports.wording import set_notes
    from aflite_assets.reports.zero_shot import zero_shot_tables

    notes = {test.name: set_notes(test, data.label_names) for test in data.test_sets}
    tables = {f"accuracy_{one}": main_markdown(main_table(data, one)) for one in data.representations}
    for one in data.representations:
        challenged = challenge_table(data, one)
        tables[f"challenge_sets_{one}"] = challenge_markdown(challenged, notes=notes, missing=data.missing_sets)
        tables[f"zero_shot_{one}"] = comparisons.zero_shot_markdown(zero_shot_tables(data, one))
        tables[f"transfer_{one}"] = comparisons.transfer_markdown(transfer_tables(data, one))
        if paired := paired_differences(data, one):
            tables[f"paired_{one}"] = comparisons.paired_markdown(paired)
    tables["in_distribution"] = comparisons.in_distribution_markdown(in_distribution_tables(data))
    tables["top_5"] = comparisons.top_k_markdown(top_k_tables(data))
    tables["published"] = comparisons.published_markdown(published_tables(data.published))
    return {name: text for name, text in tables.items() if text}


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
    from aflite_assets.reports.top_k import is_ranked

    raw_result = inputs["raw_dataset"]
    raw = load_examples(raw_result.path)
    if spec.report.scatter_features is not None:
        check_scatter_features(spec.report.scatter_features, raw)
    parts = inputs["filtered_sets"].parts
    filtered = tuple(filtered_set(one, part) for one, part in parts.items())
    unreported = validation_splits(spec.evaluators)
    fine_tuned = fine_tuned_evaluators(spec.evaluators)
    tested = test_sets(raw, inputs["challenge_sets"], filtered, spec.challenge_sets, unreported, fine_tuned)
    ranked = [test for test in tested if test.adds_probabilities or is_ranked(raw.label_names, test)]
    return BenchmarkData(
        name=name,
        title=spec.title or name,
        description=spec.description,
        label_names=raw.label_names,
        split_rows=raw_result.summary["rows"],
        warmup_rows=inputs["warmup_split"].summary["rows"],
        notes=(*trial_note(raw_result), *unlabelled_note(raw_result), *undecodable_note(raw_result)),
        filtered=filtered,
        cells=read_cells(inputs["evaluator_models"], ranked=ranked),
        test_sets=tested,
        examples=raw,
        scatter_features=spec.report.scatter_features,
        evidence=read_evidence(inputs["bias_evidence"]),
        provenance=_provenance(spec, inputs),
        missing_sets=read_challenge_sets(inputs["challenge_sets"]).missing,
        families=model_families(spec.representations, spec.evaluators),
        published=spec.report.published,
        fine_tuned=fine_tuned,
        warmup_curves=read_learning_curves(inputs["warmup_split"]),
        similarities=read_similarities(inputs["bias_evidence"]),
        score_counts={name: counts for name, part in parts.items() if (counts := score_counts(part)) is not None},
    )


def _provenance(spec: SpecView, inputs: Inputs) -> dict[str, str]:
    versions = {f"data version of {name}": result.data_version for name, result in inputs.items()}
    seeds = {"seed": str(spec.seed), "evaluator seeds": ", ".join(map(str, spec.seeds))}
    return {**seeds, "full includes warm-up rows": str(spec.full_includes_warmup), **versions, **_libraries(inputs)}


def _libraries(inputs: Inputs) -> dict[str, str]:
    made_with: PublishedResult = inputs["evaluator_models"]
    return {name: str(version) for name, version in made_with.manifest["environment"].items()}
