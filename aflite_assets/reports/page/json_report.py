"""The numbers of the report as one JSON-serialisable dict, from the same tables that the page shows."""

from collections.abc import Sequence

import numpy as np

from aflite_assets.analysis.analysis import TABLES, Analysis, analyse
from aflite_assets.analysis.filtering import ITERATIONS, PREDICTABILITY
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet, TestSet
from aflite_assets.analysis.inputs.similarity import ClassSimilarity
from aflite_assets.analysis.json_values import JsonValue, to_json
from aflite_assets.analysis.trainings import TRAININGS
from aflite_assets.reports.class_maps import set_notes
from aflite_assets.reports.sentences.summary import plain_summary
from aflite_assets.reports.sentences.verdict import verdict_json, verdict_texts
from aflite_assets.reports.tables.all_tables import long_forms

SCHEMA_VERSION = 3


def report_json(data: BenchmarkData) -> dict[str, JsonValue]:
    """All numbers of the page: accuracies, predictabilities and shares in [0, 1], differences in points.

    `tables` has the rows that the files below `tables/` have.

    Missing numbers are None; NaN never appears. Dataset text is as it came, not escaped.
    """
    analysis = analyse(data)
    return {
        "schema_version": SCHEMA_VERSION,
        "dataset": _dataset(data, analysis),
        "verdict": verdict_json(analysis),
        "notes": [*data.notes, *data.settings_done],
        "summary": list(plain_summary(analysis)),
        "representations": {
            filtered.representation: _representation(data, analysis, filtered) for filtered in data.filtered
        },
        "tables": {
            **{table.name: [to_json(table.as_row(one)) for one in analysis.of(table)] for table, _ in TABLES},
            **{form.name: to_json(form.records(data)) for form in long_forms(data)},
        },
        "families": dict(data.families),
        "architectures": dict(data.architectures),
        "held_back": dict(data.held_back),
        "fine_tuned": to_json(data.fine_tuned),
        "cells": to_json(analysis.of(TRAININGS)),
        "evidence": [
            {
                "title": evidence.title,
                "caption": evidence.caption,
                "columns": list(evidence.table.column_names),
                "rows": to_json(evidence.table.to_pylist()),
            }
            for evidence in data.evidence
        ],
        "provenance": dict(data.provenance),
    }


def _dataset(data: BenchmarkData, analysis: Analysis) -> dict[str, JsonValue]:
    facts = analysis.facts
    return {
        "name": data.name,
        "title": data.title,
        "description": data.description,
        "label_names": list(data.label_names),
        "split_rows": to_json(data.split_rows),
        "warmup_rows": data.warmup_rows,
        "test_sets": [
            {
                "name": test_set.name,
                "challenge": test_set.challenge,
                "rows": len(test_set.row_ids),
                "unit": test_set.unit,
                "chance": test_set.chance,
                "filtered_rows": {name: int(kept.sum()) for name, kept in test_set.kept.items()},
                "label_names": list(test_set.label_names),
                "class_map": _class_map(test_set, data.label_names),
                "collapse": test_set.collapse,
                "category_columns": list(test_set.categories),
                "notes": list(set_notes(facts.test_set[test_set.name], data.label_names)),
                "groups": None if test_set.groups is None else len(np.unique(test_set.groups)),
                "took_part_in_the_filter": test_set.pooled,
            }
            for test_set in data.test_sets
        ],
        "missing_sets": dict(data.missing_sets),
        "primary_comparison": to_json(analysis.primary.chosen),
        "smallest_effect": data.smallest_effect,
    }


def _class_map(test_set: TestSet, label_names: Sequence[str]) -> JsonValue:
    """The set's label that each label of the dataset counts as, None for none; None where both have the same."""
    if test_set.class_map is None:
        return None
    targets = [None if target < 0 else test_set.label_names[target] for target in test_set.class_map.tolist()]
    return dict(zip(label_names, targets, strict=True))


def _representation(data: BenchmarkData, analysis: Analysis, filtered: FilteredSet) -> dict[str, JsonValue]:
    name = filtered.representation
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
        "similarity": [_similarity(one) for one in data.similarities.get(filtered.representation, ())],
        "predictability_histogram": {
            "edges": [0.0, *(one.high for one in bins)],
            "kept": [one.kept for one in bins],
            "removed": [one.removed for one in bins],
        },
        "stop_reason": filtered.stop_reason,
        "warnings": list(filtered.warnings),
        "settings": to_json(filtered.settings),
    }


def _similarity(one: ClassSimilarity) -> JsonValue:
    blocks = {
        block.side: {"rows": block.rows, "used_rows": block.used_rows, "mean": block.mean, "row_ids": block.row_ids}
        for block in one.blocks
    }
    return to_json({"label": one.name, **blocks})
