"""The stage `analysis`: it computes every number of the report from the results of other stages."""

from itertools import chain

import pyarrow as pa

from aflite_assets.analysis.analysis import Analysis, analyse, write_analysis, write_evidence
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rows.table import write_predictions, write_row_tables
from aflite_assets.analysis.scores.score_tables import ACCURACIES
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import Draft
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import validation_splits
from aflite_assets.stages.checks import stage_checks
from aflite_assets.stages.data.challenge_sets import CHALLENGE_SETS
from aflite_assets.stages.data.cue_scan import CUE_SCAN, read_scan
from aflite_assets.stages.data.raw_dataset import RAW_DATASET
from aflite_assets.stages.evaluation.analysis import rows, special_sets
from aflite_assets.stages.evaluation.analysis.by_question import answer_tables, question_notes
from aflite_assets.stages.evaluation.analysis.studied import StudyContext, study_readers
from aflite_assets.stages.evaluation.evaluator_models import EVALUATOR_MODELS
from aflite_assets.stages.evaluation.leaning_sets import LEANING_SETS
from aflite_assets.stages.filtering.filtered_sets import FILTERED_SETS
from aflite_assets.stages.shared import evaluator_roles, model_families, published, report_inputs
from aflite_assets.stages.shared.asked_sets import asked_sets, test_sets
from aflite_assets.stages.shared.train_sets import filter_runs
from aflite_assets.stages.stage import (
    Stage,
    StageContext,
    StageInputs,
    StageSettings,
    with_study_stages,
)
from aflite_assets.stages.warmup.warmup_models import WARMUP_MODELS
from aflite_assets.stages.warmup.warmup_split import WARMUP_SPLIT

_CHECKED = (
    RAW_DATASET,
    CHALLENGE_SETS,
    CUE_SCAN,
    WARMUP_SPLIT,
    WARMUP_MODELS,
    FILTERED_SETS,
    LEANING_SETS,
    EVALUATOR_MODELS,
)
"""Stages of the core whose checks the report shows with those of studies, in the order of the report."""


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Compute every number of the report from published results, and log the mean accuracies to the tracker."""
    data = benchmark_data(settings, inputs, draft.partition)
    analysis = analyse(data)
    write_analysis(analysis, draft.path)
    write_evidence(data.evidence, draft.path)
    write_row_tables(data, draft.path)
    write_predictions(data, published.test_examples(data.examples, inputs.challenge_sets), draft.path)
    context.tracker.log_metrics(_mean_accuracies(analysis))
    return {
        "cells": len(data.cells),
        "test_sets": [test.name for test in data.test_sets],
        "verdict": analysis.verdicts[0].verdict.code if analysis.verdicts else None,
        "checks_failed": sum(check.outcome == "failed" for check in data.checks),
    }


def _mean_accuracies(analysis: Analysis) -> dict[str, float]:
    """Return mean accuracies in [0, 1] as metrics, named by representation, evaluator, train set and test set."""
    return {
        ".".join([*names, *([] if one.tested_on == "all" else [one.tested_on])]): one.accuracy
        for one in analysis.of(ACCURACIES)
        if one.representation is not None and one.whole and one.top == 1 and one.accuracy is not None
        for names in [(one.representation, one.evaluator, one.train_set, one.test_set)]
    }


def benchmark_data(settings: DatasetSpec, inputs: StageInputs, name: str) -> BenchmarkData:
    """Return all data that the report of one dataset shows."""
    raw, report, evaluators = load_examples(inputs.raw_dataset.path), settings.report, settings.evaluators
    models, evidence, parts = inputs.evaluator_models, inputs.bias_evidence, inputs.filtered_sets.parts
    challenges, results = inputs.challenge_sets, inputs.results
    examples = published.test_examples(raw, challenges)
    if report.scatter_features is not None:
        report_inputs.check_scatter_features(report.scatter_features, raw)
    source = rows.read_source_rows(inputs.raw_dataset, raw, settings.columns)
    filtered = tuple(report_inputs.filtered_set(one, part, raw.label_names) for one, part in parts.items())
    encoders = dict(settings.representations)
    encoders |= {one: encoders[published.representation_of(inputs.filtered_sets, one)] for one in parts}
    fine_tuned = evaluator_roles.fine_tuned_evaluators(evaluators)
    phases = evaluator_roles.second_phases(evaluators)
    unreported, controls = validation_splits(evaluators), published.read_control_sets(inputs.control_sets)
    by_row = test_sets(raw, challenges, filtered, settings.challenge_sets, unreported, fine_tuned, controls)
    tests = asked_sets(by_row, raw.label_names, inputs.raw_dataset, settings.challenge_sets)
    cells, unused = tests.cells(models), report_inputs.whole_earlier_sets(inputs.control_sets)
    earlier = report_inputs.earlier_sets_note(inputs.control_sets)
    shown = [one for one in cells if not evaluator_roles.is_apart(one, phases)]
    selection = published.read_selection(inputs.selection)
    full = published.full_rows(
        raw, inputs.warmup_split, include_warmup=settings.full_includes_warmup, selection=selection
    )
    context = StudyContext(settings, models, cells, phases, by_row, raw)
    studies = {stage: read(results[stage], context) for stage, read in study_readers().items()}
    statistics = report_inputs.read_evidence(evidence, source.named), answer_tables(models, tests.answers)
    information = rows.row_information(models, full.in_split("train"), by_row, left_out={*fine_tuned, *phases})
    return BenchmarkData(
        name=name,
        title=settings.title or name,
        description=settings.description,
        label_names=raw.label_names,
        split_rows=inputs.raw_dataset.summary["rows"],
        warmup_rows=inputs.warmup_split.summary["rows"],
        notes=(*question_notes(tests.asked), *report_inputs.row_notes(inputs.raw_dataset), *earlier),
        settings_done=report_inputs.changed_rows_note(inputs.raw_dataset),
        filtered=filtered,
        cells=tuple(one for one in shown if (one.representation, one.train_set) not in unused),
        test_sets=tests.asked,
        examples=raw,
        checks=tuple(
            one
            for stage in with_study_stages(_CHECKED)
            for one in stage_checks(stage, results[stage.name], settings, results)
        ),
        row_facts=rows.read_row_facts(parts, evidence, raw),
        evidence=(*chain(*statistics), *rows.information_tables(information, by_row, filtered)),
        row_information=pa.concat_tables(information.values()) if information else None,
        source=source,
        studies=studies,
        leanings=special_sets.read_leanings(inputs.leaning_sets, cells, tests.asked, source.named),
        attributes=special_sets.attribute_values(full.in_split("train"), by_row, examples),
        copies=special_sets.read_copies(by_row, examples, {one.name for one in tests.asked if one.unit == "row"}),
        scan=read_scan(inputs.cue_scan),
        data_maps=rows.data_maps(models, raw, filtered),
        planted=report_inputs.read_planted(evidence),
        cues=report_inputs.read_removal_cues(evidence, source.named, published.challenge_examples(challenges)),
        provenance=_provenance(settings, inputs),
        missing_sets=published.read_challenge_sets(challenges).missing,
        families=model_families.model_families(encoders, evaluators),
        architectures=model_families.model_architectures(encoders, evaluators),
        held_back=model_families.held_back_shares(evaluators),
        published=report.published,
        fine_tuned=fine_tuned,
        partial_inputs=evaluator_roles.partial_inputs(evaluators) if "text_pair" in raw.table.column_names else (),
        warmup_curves=published.read_learning_curves(inputs.warmup_split),
        similarities=report_inputs.read_similarities(evidence),
        filter_runs=filter_runs(settings.seeds, settings.filter_seeds) if settings.filter_seeds > 1 else {},
        primary=None if report.primary is None else (report.primary.evaluator, report.primary.test_set),
        smallest_effect=report.smallest_effect,
        rankings=special_sets.read_rankings(inputs.filtered_sets, inputs.control_sets, filtered),
        score_bins=tuple(row for one in parts.items() for row in report_inputs.score_bins(*one)),
    )


def _provenance(settings: DatasetSpec, inputs: StageInputs) -> dict[str, str]:
    seeds = {"seed": str(settings.seed), "evaluator seeds": ", ".join(map(str, settings.seeds))}
    versions = {f"data version of {name}": result.data_version for name, result in inputs.results.items()}
    if published.read_selection(inputs.selection) is None:
        versions = {name: one for name, one in versions.items() if name.rpartition(" ")[2] not in inputs.selection}
    environment = {name: str(version) for name, version in inputs.evaluator_models.manifest["environment"].items()}
    return seeds | {"full includes warm-up rows": str(settings.full_includes_warmup)} | versions | environment


_SETTINGS = StageSettings(
    "title description columns challenge_sets limit report representations evaluators seeds filter_seeds seed "
    "full_includes_warmup",
    stage="analysis",
)
_INPUTS = (
    "raw_dataset challenge_sets cue_scan selection warmup_split warmup_models filtered_sets "
    "control_sets drawn leaning_sets evaluator_models bias_evidence measured"
)
ANALYSIS = Stage("analysis", "10", _SETTINGS, _INPUTS, run)
