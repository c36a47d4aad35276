"""The numbers of the report as one JSON-serialisable dict, from the same tables that the page shows."""

from collections.abc import Sequence

import numpy as np

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.falls import falls
from aflite_assets.analysis.comparisons.headlines import headlines
from aflite_assets.analysis.comparisons.paired import primary_comparison
from aflite_assets.analysis.filtering import ITERATIONS, PREDICTABILITY
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, FilteredSet, TestSet
from aflite_assets.analysis.inputs.similarity import ClassSimilarity
from aflite_assets.analysis.json_values import JsonValue, to_json
from aflite_assets.reports.class_maps import set_notes
from aflite_assets.reports.sentences.summary import plain_summary
from aflite_assets.reports.sentences.verdict import verdict_json, verdict_text
from aflite_assets.reports.tables.all_tables import long_forms

SCHEMA_VERSION = 3


def report_json(data: BenchmarkData) -> dict[str, JsonValue]:
    """All numbers of the page: accuracies, predictabilities and shares in [0, 1], differences in points.

    `tables` has the rows that the files below `tables/` have.

    Missing numbers are None; NaN never appears. Dataset text is as it came, not escaped.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "dataset": _dataset(data),
        "verdict": verdict_json(data),
        "notes": [*data.notes, *data.settings_done],
        "summary": list(plain_summary(data)),
        "representations": {filtered.representation: _representation(data, filtered) for filtered in data.filtered},
        "tables": {form.name: to_json(form.records(data)) for form in long_forms(data)},
        "families": dict(data.families),
        "architectures": dict(data.architectures),
        "held_back": dict(data.held_back),
        "fine_tuned": to_json(data.fine_tuned),
        "cells": [_cell(cell) for cell in data.cells],
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


def _dataset(data: BenchmarkData) -> dict[str, JsonValue]:
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
                "notes": list(set_notes(test_set, data.label_names)),
                "groups": None if test_set.groups is None else len(np.unique(test_set.groups)),
                "took_part_in_the_filter": test_set.pooled,
            }
            for test_set in data.test_sets
        ],
        "missing_sets": dict(data.missing_sets),
        "primary_comparison": to_json(primary_comparison(data)),
        "smallest_effect": data.smallest_effect,
    }


def _class_map(test_set: TestSet, label_names: Sequence[str]) -> JsonValue:
    """The set's label that each label of the dataset counts as, None for none; None where both have the same."""
    if test_set.class_map is None:
        return None
    targets = [None if target < 0 else test_set.label_names[target] for target in test_set.class_map.tolist()]
    return dict(zip(label_names, targets, strict=True))


def _representation(data: BenchmarkData, filtered: FilteredSet) -> dict[str, JsonValue]:
    name = filtered.representation
    iterations, bins = analyse(data).of(ITERATIONS, name), analyse(data).of(PREDICTABILITY, name)
    beside = {"representation", "largest_class", "guessing_deviation"}
    columns = [column for column in ITERATIONS.schema.names if column not in beside]
    return {
        "headlines": to_json(headlines(data, filtered.representation)),
        "verdict": to_json(verdict_text(data, filtered.representation)),
        "falls": to_json(falls(data, filtered.representation)),
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


def _cell(cell: Cell) -> JsonValue:
    names = ("evaluator", "train_set", "representation", "seed", "train_rows", "status", "reason")
    return {name: to_json(getattr(cell, name)) for name in names}
