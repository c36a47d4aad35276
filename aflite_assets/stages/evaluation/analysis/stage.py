"""The stage of `analysis`: every number of the report as tidy tables and records, from what other stages published."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.checks import CheckOutcome
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.dataset import ChallengeSpec, RowCount, Seed
from aflite_assets.specs.forgettables import MinoritiesSpec
from aflite_assets.specs.models import EncoderSpec, EvaluatorSpec, Name, SplitName, validation_splits
from aflite_assets.specs.report_settings import ReportSpec
from aflite_assets.stages.checks import stage_checks
from aflite_assets.stages.data.challenge_sets import CHALLENGE_SETS
from aflite_assets.stages.data.raw_dataset import RAW_DATASET
from aflite_assets.stages.data.train_sample import TRAIN_SAMPLE
from aflite_assets.stages.evaluation.analysis.by_question import answer_tables, question_notes
from aflite_assets.stages.evaluation.analysis.forgettables import read_forgettables
from aflite_assets.stages.evaluation.analysis.model_families import (
    held_back_shares,
    model_architectures,
    model_families,
)
from aflite_assets.stages.evaluation.analysis.rankings import read_rankings
from aflite_assets.stages.evaluation.analysis.rows import (
    data_maps,
    information_tables,
    read_row_facts,
    read_source_rows,
    row_information,
)
from aflite_assets.stages.evaluation.evaluator_models import EVALUATOR_MODELS
from aflite_assets.stages.evaluation.forgettable_sets import FORGETTABLE_SETS
from aflite_assets.stages.filtering.filtered_sets import FILTERED_SETS
from aflite_assets.stages.shared.asked_sets import asked_sets
from aflite_assets.stages.shared.evaluator_roles import (
    fine_tuned_evaluators,
    is_apart,
    partial_inputs,
    second_phases,
)
from aflite_assets.stages.shared.published import (
    challenge_examples,
    full_rows,
    read_challenge_sets,
    read_control_sets,
    read_learning_curves,
    read_sample_curve,
    read_train_sample,
    representation_of,
)
from aflite_assets.stages.shared.report_inputs import (
    changed_rows_note,
    check_scatter_features,
    earlier_sets_note,
    filtered_set,
    read_evidence,
    read_planted,
    read_removal_cues,
    read_similarities,
    row_notes,
    score_counts,
    test_sets,
    whole_earlier_sets,
)
from aflite_assets.stages.shared.train_sets import filter_runs
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings
from aflite_assets.stages.warmup.warmup_models import WARMUP_MODELS
from aflite_assets.stages.warmup.warmup_split import WARMUP_SPLIT

if TYPE_CHECKING:
    from aflite_assets.analysis.analysis import Analysis

CHECKED = (
    RAW_DATASET,
    CHALLENGE_SETS,
    TRAIN_SAMPLE,
    WARMUP_SPLIT,
    WARMUP_MODELS,
    FILTERED_SETS,
    FORGETTABLE_SETS,
    EVALUATOR_MODELS,
)
"""The stages whose checks are reported, in this order."""


class AnalysisSettings(StageSettings):
    """What `analysis` reads of a dataset's file."""

    title: str
    description: str
    columns: ColumnsSpec
    challenge_sets: dict[Name, ChallengeSpec]
    limit: dict[SplitName, RowCount] | None
    report: ReportSpec
    representations: dict[Name, EncoderSpec]
    evaluators: dict[Name, EvaluatorSpec]
    seeds: tuple[Seed, ...]
    filter_seeds: int
    seed: int
    full_includes_warmup: bool
    minorities: MinoritiesSpec | None


@dataclass(frozen=True)
class AnalysisInputs(StageInputs):
    """The results that `analysis` reads."""

    raw_dataset: PublishedResult
    challenge_sets: PublishedResult
    train_sample: PublishedResult
    warmup_split: PublishedResult
    warmup_models: PublishedResult
    filtered_sets: PublishedResult
    control_sets: PublishedResult
    forgettable_sets: PublishedResult
    evaluator_models: PublishedResult
    bias_evidence: PublishedResult


def run(settings: AnalysisSettings, inputs: AnalysisInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Compute every number of the report from what was published; the tracker has the mean accuracies."""
    from aflite_assets.analysis.analysis import analyse
    from aflite_assets.analysis.rows.table import write_row_tables
    from aflite_assets.analysis.storage import write_analysis, write_evidence

    data = benchmark_data(settings, inputs, draft.partition)
    analysis = analyse(data)
    write_analysis(analysis, draft.path)
    write_evidence(data.evidence, draft.path)
    write_row_tables(data, draft.path)
    context.tracker.log_metrics(mean_accuracies(analysis))
    return {
        "cells": len(data.cells),
        "test_sets": [test.name for test in data.test_sets],
        "verdict": analysis.verdicts[0].verdict.code if analysis.verdicts else None,
        "checks_failed": sum(check.outcome == "failed" for check in data.checks),
    }


def mean_accuracies(analysis: "Analysis") -> dict[str, float]:
    """Mean accuracies in [0, 1] by representation, evaluator, train set and test set, as a tracker's metrics."""
    from aflite_assets.analysis.scores.accuracies import ACCURACIES

    return {
        ".".join([*names, *([] if one.tested_on == "all" else [one.tested_on])]): one.accuracy
        for one in analysis.of(ACCURACIES)
        if one.representation is not None and one.whole and one.top == 1 and one.accuracy is not None
        for names in [(one.representation, one.evaluator, one.train_set, one.test_set)]
    }


def benchmark_data(settings: AnalysisSettings, inputs: AnalysisInputs, name: str) -> BenchmarkData:
    """Return everything that the report of one dataset shows."""
    raw, report, models = load_examples(inputs.raw_dataset.path), settings.report, inputs.evaluator_models
    if report.scatter_features is not None:
        check_scatter_features(report.scatter_features, raw)
    source = read_source_rows(inputs.raw_dataset, raw, settings.columns)
    parts = inputs.filtered_sets.parts
    filtered = tuple(filtered_set(representation, part, raw.label_names) for representation, part in parts.items())
    encoders = dict(settings.representations)
    encoders |= {one: settings.representations[representation_of(inputs.filtered_sets, one)] for one in parts}
    fine_tuned, phases = fine_tuned_evaluators(settings.evaluators), second_phases(settings.evaluators)
    by_row = test_sets(
        raw,
        inputs.challenge_sets,
        filtered,
        settings.challenge_sets,
        validation_splits(settings.evaluators),
        fine_tuned,
        read_control_sets(inputs.control_sets),
    )
    tests = asked_sets(by_row, raw.label_names, inputs.raw_dataset, settings.challenge_sets)
    cells, whole_sets = tests.cells(models), whole_earlier_sets(inputs.control_sets)
    sample = read_train_sample(inputs.train_sample)
    full = full_rows(raw, inputs.warmup_split, include_warmup=settings.full_includes_warmup, sample=sample)
    information = row_information(models, full.in_split("train"), by_row, left_out={*fine_tuned, *phases})
    evidence = (
        *read_evidence(inputs.bias_evidence, source.named),
        *answer_tables(models, tests.answers),
        *information_tables(information, by_row, filtered),
    )
    return BenchmarkData(
        name=name,
        title=settings.title or name,
        description=settings.description,
        label_names=raw.label_names,
        split_rows=inputs.raw_dataset.summary["rows"],
        warmup_rows=inputs.warmup_split.summary["rows"],
        notes=(
            *question_notes(tests.asked),
            *row_notes(inputs.raw_dataset),
            *earlier_sets_note(inputs.control_sets),
        ),
        settings_done=changed_rows_note(inputs.raw_dataset),
        filtered=filtered,
        cells=tuple(c for c in cells if not is_apart(c, phases) and (c.representation, c.train_set) not in whole_sets),
        test_sets=tests.asked,
        examples=raw,
        scatter_features=report.scatter_features,
        checks=_checks(settings, inputs),
        row_facts=read_row_facts(parts, inputs.bias_evidence, raw),
        evidence=evidence,
        row_information=information,
        source=source,
        forgettables=read_forgettables(
            inputs.forgettable_sets, models, cells, phases, by_row, raw, settings.minorities
        ),
        data_maps=data_maps(models, raw, filtered),
        planted=read_planted(inputs.bias_evidence),
        cues=read_removal_cues(inputs.bias_evidence, source.named, challenge_examples(inputs.challenge_sets)),
        provenance=_provenance(settings, inputs),
        missing_sets=read_challenge_sets(inputs.challenge_sets).missing,
        families=model_families(encoders, settings.evaluators),
        architectures=model_architectures(encoders, settings.evaluators),
        held_back=held_back_shares(settings.evaluators),
        published=report.published,
        fine_tuned=fine_tuned,
        partial_inputs=partial_inputs(settings.evaluators) if "text_pair" in raw.table.column_names else (),
        warmup_curves=read_learning_curves(inputs.warmup_split),
        sample_curve=read_sample_curve(inputs.train_sample),
        similarities=read_similarities(inputs.bias_evidence),
        filter_runs=filter_runs(settings.seeds, settings.filter_seeds) if settings.filter_seeds > 1 else {},
        primary=None if report.primary is None else (report.primary.evaluator, report.primary.test_set),
        smallest_effect=report.smallest_effect,
        rankings=tuple(read_rankings(inputs.filtered_sets, inputs.control_sets, filtered)),
        score_counts={name: counts for name, part in parts.items() if (counts := score_counts(part)) is not None},
    )


def _checks(settings: AnalysisSettings, inputs: AnalysisInputs) -> tuple[CheckOutcome, ...]:
    results = inputs.results
    return tuple(one for stage in CHECKED for one in stage_checks(stage, results[stage.name], settings, results))


def _provenance(settings: AnalysisSettings, inputs: AnalysisInputs) -> dict[str, str]:
    sampled = read_train_sample(inputs.train_sample) is not None
    return {
        "seed": str(settings.seed),
        "evaluator seeds": ", ".join(map(str, settings.seeds)),
        "full includes warm-up rows": str(settings.full_includes_warmup),
        **{
            f"data version of {name}": result.data_version
            for name, result in inputs.results.items()
            if name != "train_sample" or sampled
        },
        **{name: str(version) for name, version in inputs.evaluator_models.manifest["environment"].items()},
    }


ANALYSIS = Stage("analysis", "1", AnalysisSettings, AnalysisInputs, run)
