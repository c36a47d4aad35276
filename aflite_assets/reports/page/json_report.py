"""The numbers of the report as one JSON-serialisable dict, from the same tables as the page."""

from aflite_assets.analysis.analysis import TABLES, Analysis
from aflite_assets.analysis.scores.score_tables import TRAININGS
from aflite_assets.analysis.tidy import JsonValue, to_json
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.sentences.summary import plain_summary
from aflite_assets.reports.sentences.verdict import verdict_json, verdict_texts
from aflite_assets.reports.tables.challenge_tables import set_notes
from aflite_assets.reports.tables.published import paper_records

SCHEMA_VERSION = 3

_TESTS = "name challenge rows unit chance pooled filtered_rows label_names class_map collapse category_columns groups"


def report_json(analysis: Analysis, inputs: ReportInputs) -> JsonValue:
    """Return all numbers of the page.

    Shares are in [0, 1], differences are in percentage points, and missing numbers are None. Texts are unchanged.
    """
    facts, verdicts = analysis.facts, {one.representation: one for one in verdict_texts(analysis)}
    tables = {table.name: [table.as_row(one) for one in analysis.of(table)] for table, _ in TABLES}
    return to_json(
        {
            "schema_version": SCHEMA_VERSION,
            "dataset": {
                **_fields(facts, "name", "title", "description", "label_names", "split_rows", "warmup_rows"),
                "test_sets": [
                    {**_fields(one, *_TESTS.split()), "notes": set_notes(one, facts.label_names)}
                    for one in facts.test_sets
                ],
                "missing_sets": facts.missing_sets,
                "undecided": analysis.undecided,
                "smallest_effect": facts.smallest_effect,
            },
            "verdict": verdict_json(analysis),
            "notes": [*facts.notes, *facts.settings_done],
            "summary": list(plain_summary(analysis)),
            "representations": {
                name: {"verdict": verdicts[name], **_fields(one, "stop_reason", "warnings", "settings")}
                for name, one in facts.filtering.items()
            },
            "tables": {**tables, "published": list(paper_records(facts.published))},
            **_fields(facts, "families", "architectures", "held_back", "fine_tuned"),
            "cells": analysis.of(TRAININGS),
            "evidence": [
                {**_fields(one, "title", "caption"), "columns": one.table.column_names, "rows": one.table.to_pylist()}
                for one in inputs.evidence
            ],
            "provenance": facts.provenance,
        }
    )


def _fields(record: object, *names: str) -> dict[str, object]:
    return {name: getattr(record, name) for name in names}
