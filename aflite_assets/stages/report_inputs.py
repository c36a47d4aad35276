"""From published results to the records that reports are made of."""

import json
from collections.abc import Mapping

import numpy as np
import pyarrow.parquet as pq

from aflite_assets.errors import DataError
from aflite_assets.reports.records import Cell, EvidenceTable, FilteredSet, TestSet
from aflite_assets.results import PublishedResult
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.specs import ChallengeSpec
from aflite_assets.stages.published import CATEGORY, test_examples


def filtered_set(representation: str, part: PublishedResult) -> FilteredSet:
    """One representation's filtered set, as published."""
    outcome = json.loads(part.file("filter.json").read_text(encoding="utf-8"))
    return FilteredSet(
        representation,
        iterations=pq.read_table(part.file("iterations.parquet")),
        stop_reason=outcome["stop_reason"],
        warnings=tuple(outcome["warnings"]),
        rows=pq.read_table(part.file("rows.parquet")),
        settings={**outcome["settings"], "seed": outcome["seed"]},
    )


def trial_note(raw: PublishedResult) -> tuple[str, ...]:
    """The note that every page about a limited dataset carries."""
    if not raw.summary["trial_run"]:
        return ()
    rows = raw.summary["rows"]
    sizes = ", ".join(
        f"{rows[split]:,} of {labelled:,} {split} rows" for split, labelled in raw.summary["labelled_rows"].items()
    )
    return (f"Trial run: the spec limits the dataset to {sizes}.",)


def unlabelled_note(raw: PublishedResult) -> tuple[str, ...]:
    """How many rows had no label and were dropped, if any."""
    dropped = {split: rows for split, rows in raw.summary["unlabelled_rows"].items() if rows}
    if not dropped:
        return ()
    return (
        "Rows without a label were dropped: " + ", ".join(f"{n:,} of {split}" for split, n in dropped.items()) + ".",
    )


def read_cells(result: PublishedResult) -> tuple[Cell, ...]:
    """Every cell of the grid, with its predictions where it is done."""
    return tuple(
        Cell(
            evaluator=row["evaluator"],
            train_set=row["train_set"],
            representation=row["representation"],
            seed=row["seed"],
            train_rows=row["train_rows"],
            status=row["status"],
            reason=row["reason"],
            predictions=pq.read_table(
                result.part(row["name"]).file("predictions.parquet"), columns=["test_set", "row_id", "predicted"]
            )
            if row["status"] == "done"
            else None,
        )
        for row in pq.read_table(result.file("cells.parquet")).to_pylist()
    )


def test_sets(
    raw: Examples,
    challenges: PublishedResult,
    filtered: tuple[FilteredSet, ...],
    specs: Mapping[str, ChallengeSpec],
) -> tuple[TestSet, ...]:
    """Every set that is tested on: natural ones with what each filter kept, challenge sets with their collapse.

    Raises:
        DataError: the published challenge sets are not those of the spec.
    """
    known = set(challenges.summary["rows"])
    if known != set(specs):
        raise DataError(
            f"challenge_sets holds {sorted(known)}, but the spec names {sorted(specs)}; materialise it again"
        )
    return tuple(
        _challenge_set(name, examples, raw, specs[name]) if name in known else _natural_set(name, examples, filtered)
        for name, examples in test_examples(raw, challenges).items()
    )


def _natural_set(name: str, examples: Examples, filtered: tuple[FilteredSet, ...]) -> TestSet:
    kept = {
        one.representation: np.isin(examples.row_ids, one.rows.filter(one.rows["kept"])["row_id"].to_numpy())
        for one in filtered
    }
    return TestSet(name, False, examples.row_ids, examples.labels, examples.label_names, kept=kept)


def _challenge_set(name: str, examples: Examples, raw: Examples, spec: ChallengeSpec) -> TestSet:
    categories = None
    if CATEGORY in examples.table.column_names:
        categories = np.array(examples.table[CATEGORY].to_pylist(), dtype=object)
    collapse = None
    if spec.collapse is not None:
        collapse = np.array([examples.label_names.index(spec.collapse[label]) for label in raw.label_names], np.int64)
    return TestSet(
        name,
        True,
        examples.row_ids,
        examples.labels,
        examples.label_names,
        kept={},
        categories=categories,
        collapse=collapse,
    )


def read_evidence(result: PublishedResult) -> tuple[EvidenceTable, ...]:
    """The tables of `bias_evidence`, in their order."""
    index = json.loads(result.file("evidence.json").read_text(encoding="utf-8"))
    return tuple(
        EvidenceTable(entry["title"], entry["caption"], pq.read_table(result.file(entry["file"])))
        for entry in index["tables"]
    )
