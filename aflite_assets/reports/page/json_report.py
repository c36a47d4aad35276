"""The numbers of the report as one JSON-serialisable dict, from the same tables that the page shows."""

from collections.abc import Sequence

from aflite_assets.analysis.analysis import TABLES, Analysis
from aflite_assets.analysis.facts import FilteringFacts, TestSetFacts
from aflite_assets.analysis.filtering import ITERATIONS, PREDICTABILITY
from aflite_assets.analysis.inputs.similarity import ClassSimilarity
from aflite_assets.analysis.json_values import JsonValue, to_json
from aflite_assets.analysis.scores.accuracies import TRAININGS
from aflite_assets.reports.class_maps import set_notes
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.sentences.summary import plain_summary
from aflite_assets.reports.sentences.verdict import verdict_json, verdict_texts
from aflite_assets.reports.tables.published import paper_records

SCHEMA_VERSION = 3


def report_json(analysis: Analysis, inputs: ReportInputs) -> dict[str, JsonValue]:
    """All numbers of the page: accuracies, predictabilities and shares in [0, 1], differences in points.

    `tables` has the rows of the tidy tables that `analysis` publishes, and the papers' own figures.

    Missing numbers are None; NaN never appears. Dataset text is as it came, not escaped.
    """
    facts = analysis.facts
    tables = {table.name: [to_json(table.as_row(one)) for one in analysis.of(table)] for table, _ in TABLES}
    return {
        "schema_version": SCHEMA_VERSION,
        "dataset": _dataset(analysis),
        "verdict": verdict_json(analysis),
        "notes": [*facts.notes, *facts.settings_done],
        "summary": list(plain_summary(analysis)),
        "representations": {one.representation: _representation(analysis, inputs, one) for one in facts.filterings},
        "tables": {**tables, "published": to_json(list(paper_records(facts.published)))},
        "families": dict(facts.families),
        "architectures": dict(facts.architectures),
        "held_back": {one.name: one.held_back for one in facts.evaluators if one.held_back is not None},
        "fine_tuned": to_json(facts.fine_tuned),
        "cells": to_json(analysis.of(TRAININGS)),
        "evidence": [
            {
                "title": evidence.title,
                "caption": evidence.caption,
                "columns": list(evidence.table.column_names),
                "rows": to_json(evidence.table.to_pylist()),
            }
            for evidence in inputs.evidence
        ],
        "provenance": dict(facts.provenance),
    }


def _dataset(analysis: Analysis) -> dict[str, JsonValue]:
    facts = analysis.facts
    names = ("name", "title", "description", "label_names", "split_rows", "warmup_rows")
    return {
        **{name: to_json(getattr(facts, name)) for name in names},
        "test_sets": [_test_set(one, facts.label_names) for one in facts.test_sets],
        "missing_sets": dict(facts.missing_sets),
        "primary_comparison": to_json(analysis.primary.chosen),
        "smallest_effect": facts.smallest_effect,
    }


def _test_set(one: TestSetFacts, label_names: Sequence[str]) -> JsonValue:
    names = ("name", "challenge", "rows", "unit", "chance", "filtered_rows", "label_names", "class_map", "collapse")
    return to_json(
        {
            **{name: getattr(one, name) for name in (*names, "category_columns", "groups")},
            "notes": set_notes(one, label_names),
            "took_part_in_the_filter": one.pooled,
        }
    )


def _representation(analysis: Analysis, inputs: ReportInputs, filtering: FilteringFacts) -> dict[str, JsonValue]:
    name = filtering.representation
    headlines = [one for one in analysis.headlines if one.representation == name]
    verdicts = {one.representation: one for one in verdict_texts(analysis)}
    iterations, bins = analysis.of(ITERATIONS, name), analysis.of(PREDICTABILITY, name)
    beside = {"representation", "largest_class", "guessing_deviation"}
    columns = [column for column in ITERATIONS.schema.names if column not in beside]
    return {
        "headlines": to_json(headlines),
        "verdict": to_json(verdicts[name]),
        "falls": to_json([one.fall for one in headlines]),
        "iterations": [{column: getattr(row, column) for column in columns} for row in iterations],
        "largest_class": [row.largest_class for row in iterations],
        "similarity": [_similarity(one) for one in inputs.similarities.get(name, ())],
        "predictability_histogram": {
            "edges": [0.0, *(one.high for one in bins)],
            "kept": [one.kept for one in bins],
            "removed": [one.removed for one in bins],
        },
        "stop_reason": filtering.stop_reason,
        "warnings": list(filtering.warnings),
        "settings": to_json(filtering.settings),
    }


def _similarity(one: ClassSimilarity) -> JsonValue:
    blocks = {
        block.side: {"rows": block.rows, "used_rows": block.used_rows, "mean": block.mean, "row_ids": block.row_ids}
        for block in one.blocks
    }
    return to_json({"label": one.name, **blocks})
