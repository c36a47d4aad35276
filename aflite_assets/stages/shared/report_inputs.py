"""Conversion of published results to the records from which reports are written."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.algorithm import ChanceScores
from aflite_assets.algorithm.warnings import class_moves
from aflite_assets.analysis.filtering import count_scores
from aflite_assets.analysis.inputs.cues import ClassBlocks, PlantedRemoval, RemovedCue, class_similarities, read_cues
from aflite_assets.analysis.inputs.records import EvidenceTable, FilteredSet, ScoreBin
from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.results import PublishedResult


def filtered_set(representation: str, part: PublishedResult, label_names: Sequence[str] = ()) -> FilteredSet:
    """Return the filtered set of one representation; warnings name classes by the names in `label_names`."""
    outcome = json.loads(part.file("filter.json").read_text(encoding="utf-8"))
    iterations, rows = (pq.read_table(part.file(name)) for name in ("iterations.parquet", "rows.parquet"))
    warnings, chance = outcome["warnings"], outcome["chance"]
    # null, for a class without a score, becomes NaN
    passes = {name: np.array(each, dtype=np.float64) for name, each in chance.items() if isinstance(each, list)}
    return FilteredSet(
        representation,
        iterations=iterations,
        stop_reason=outcome["stop_reason"],
        warnings=_with_class_names(warnings, iterations, rows, label_names) if label_names else tuple(warnings),
        rows=rows,
        settings={**outcome["settings"], "seed": outcome["seed"]},
        runs=part.summary.get("filter_runs", 1),
        kept_jaccard=part.summary.get("kept_jaccard"),
        chance=ChanceScores(**chance | passes),
        first_scores=next((table for iteration, table in score_files(part) if iteration == 0), None),
    )


def score_files(part: PublishedResult) -> Iterator[tuple[int, pa.Table]]:
    """Yield the number of each iteration and its scores (columns row_id and predictability), one table at a time.

    Yields nothing if no scores are stored.
    """
    for file in sorted((part.path / "scores").glob("*.parquet")):
        yield int(file.stem), pq.read_table(file)


def score_bins(representation: str, part: PublishedResult) -> Iterator[ScoreBin]:
    """Return the number of train rows per iteration and bin of predictability, or nothing if no scores are stored."""
    return count_scores(representation, score_files(part), pq.read_table(part.file("rows.parquet")))


def _with_class_names(
    warnings: Sequence[str], iterations: pa.Table, rows: pa.Table, label_names: Sequence[str]
) -> tuple[str, ...]:
    """Rewrite the filter's warnings about class shares with class names in place of class numbers.

    The advice to compare with `random_matched` is also replaced, because every report contains this comparison.
    """
    first, last = (iterations.slice(place, 1).to_pylist()[0] for place in (0, iterations.num_rows - 1))
    classes = np.unique(rows["label"].to_numpy())
    if len(first["rows_per_class"]) != len(classes):
        return tuple(warnings)  # one of the classes has no row in the pool
    before, after = (np.array(one["rows_per_class"]) / one["rows_in"] for one in (first, last))
    named = {
        move.sentence(): move.sentence(f"“{label_names[move.label]}”", "; random_matched has these shares, too.")
        for move in class_moves(before, after, classes)
    }
    return tuple(named.get(warning, warning) for warning in warnings)


def trial_note(raw: PublishedResult) -> tuple[str, ...]:
    """Return the note that every report page about a dataset with a row limit shows; return () if there is no limit."""
    if not raw.summary["trial_run"]:
        return ()
    rows, labelled = raw.summary["rows"], raw.summary["labelled_rows"]
    sizes = ", ".join(f"{rows[split]:,} of {all_rows:,} {split} rows" for split, all_rows in labelled.items())
    return (f"Trial run: the spec limits the dataset to {sizes}.",)


def row_notes(raw: PublishedResult) -> tuple[str, ...]:
    """Return the notes about the dataset's rows that are shown first: a trial run, and rows that were left out."""
    summary, notes = raw.summary, list(trial_note(raw))
    if unlabelled := [f"{rows:,} of {split}" for split, rows in summary["unlabelled_rows"].items() if rows]:
        notes.append(f"Rows without a label were dropped: {', '.join(unlabelled)}.")
    if broken := sum(images["rows"] for images in summary["undecodable_images"].values()):
        notes.append(f"Images that do not decode were left out: {broken:,}.")
    if "annotations_left_out" in summary:
        notes.append("Human accuracy is not reported, because the files with labels by single annotators are missing.")
    return tuple(notes)


def changed_rows_note(raw: PublishedResult) -> tuple[str, ...]:
    """Return notes on the changes that settings made to the source's rows: dropped copies, standardised features.

    The tuple is empty with default settings.
    """
    notes = []
    if dropped := raw.summary.get("duplicates", {}).get("dropped"):
        splits = ", ".join(f"{rows:,} of {split}" for split, rows in dropped.items())
        notes.append(f"Exact copies were dropped: {splits}.")
    if shared := sum(raw.summary.get("between_splits", {}).values()):
        notes.append(f"Train rows were dropped that share a group or their input with another split: {shared:,}.")
    if standardised := raw.summary.get("standardised"):
        constant = len(standardised["constant"])
        ending = f"; {constant:,} of them are constant there." if constant else "."
        notes.append(f"The {standardised['columns']:,} feature columns were standardised by the train rows{ending}")
    return tuple(notes)


def earlier_sets_note(controls: PublishedResult) -> Iterator[str]:
    """Yield a note for each earlier set that is missing (with the reason) or equals the filter's input."""
    for representation, facts in controls.summary.items():
        for name, fact in facts["earlier_sets"].items():
            shown = f"filtered_{name} ({representation})"
            if "reason" in fact:
                yield f"{shown} is missing: {fact['reason']}."
            elif fact["iteration"] is None:
                rows = f"the {fact['rows']['train']:,} train rows with which the filter began"
                yield f"{shown} is equal to {rows}, so it has no comparison set."


def whole_earlier_sets(controls: PublishedResult) -> frozenset[tuple[str, str]]:
    """Return the train sets of earlier sizes that equal the filter's whole input, as pairs (representation, train set).

    A comparison of two train sets that both equal the filter's input would be meaningless. Each additional comparison
    also makes significant results less likely, because of Holm's correction.
    """
    return frozenset(
        (representation, f"{kind}_{name}")
        for representation, facts in controls.summary.items()
        for name, fact in facts["earlier_sets"].items()
        if "reason" not in fact and fact["iteration"] is None
        for kind in ("filtered", "random")
    )


def check_scatter_features(chosen: tuple[int, int], raw: Examples) -> None:
    """Raise a DataError if the dataset lacks one of the feature columns `chosen` for the scatter plot."""
    if raw.modality != "features":
        raise DataError(
            f"`report.scatter_features` requires feature vectors, but the rows of this dataset are of type "
            f"`{raw.modality}`; leave out this setting"
        )
    width = raw.features.shape[1]
    if max(chosen) >= width:
        raise DataError(
            f"`report.scatter_features` is {list(chosen)}, but the rows have {width} features; choose two "
            f"numbers from 0 to {width - 1}"
        )


def _evidence_index(result: PublishedResult) -> Mapping[str, Any]:
    return dict(json.loads(result.file("evidence.json").read_text(encoding="utf-8")))


def read_by_representation(result: PublishedResult, kind: str) -> dict[str, pa.Table]:
    """Return the tables of one `kind` in `bias_evidence`, by representation.

    `kind` is `similarities`, `cues` or `nearest_kept`.
    """
    return {name: pq.read_table(result.file(file)) for name, file in _evidence_index(result)[kind].items()}


def read_similarities(result: PublishedResult) -> dict[str, tuple[ClassBlocks, ...]]:
    """Return the class similarities in `bias_evidence`, by representation."""
    tables = read_by_representation(result, "similarities")
    return {name: class_similarities(name, table) for name, table in tables.items()}


def read_planted(result: PublishedResult) -> tuple[PlantedRemoval, ...]:
    """Return counts of the planted rows that each filter removed; return an empty tuple if no rows were planted."""
    planted = _evidence_index(result).get("planted", ())
    return tuple(PlantedRemoval(**{**removal, "values": tuple(removal["values"])}) for removal in planted)


def read_removal_cues(
    result: PublishedResult, named: Callable[[str], str] = str, challenges: Mapping[str, Examples] | None = None
) -> dict[str, tuple[RemovedCue, ...]]:
    """Return the cues of the removed rows in `bias_evidence`, by representation.

    `named`: a function that converts the name of a raw table column to its name in the source. `challenges`: challenge
    sets in which the displayed words are counted.
    """
    found = {}
    for name, table in read_by_representation(result, "cues").items():
        counted = _counted_elsewhere(read_cues(table), challenges or {})
        found[name] = tuple(replace(cue, name=own_name(cue.kind, cue.name, named)) for cue in counted)
    return found


def _counted_elsewhere(cues: tuple[RemovedCue, ...], challenges: Mapping[str, Examples]) -> Iterator[RemovedCue]:
    """Yield the cues; for each displayed word, add the share of each challenge set's rows that contain the word."""
    from aflite_assets.diagnostics.evidence.cues import rows_with

    words: dict[str, list[str]] = {}
    for cue in cues:
        if cue.kind == "word" and cue.shown:
            words.setdefault(cue.name, []).append(cue.value)
    shares = {
        (column, name): rows_with(examples, column, of_column)
        for column, of_column in words.items()
        for name, examples in challenges.items()
        if column in examples.table.column_names
    }
    for cue in cues:
        found = {name: shares.get((cue.name, name), {}) for name in challenges if cue.kind == "word"}
        elsewhere = tuple((name, share[cue.value]) for name, share in found.items() if cue.value in share)
        yield replace(cue, elsewhere=elsewhere)


def read_evidence(result: PublishedResult, named: Callable[[str], str] = str) -> tuple[EvidenceTable, ...]:
    """Return the tables of `bias_evidence` in published order; `named` converts column names to the source's names."""
    tables = []
    for entry in _evidence_index(result)["tables"]:
        caption = _CUE_COLUMNS.sub(lambda found: named(found[0]), entry["caption"])
        table = _own_columns(pq.read_table(result.file(entry["file"])), named)
        tables.append(EvidenceTable(entry["title"], caption, table))
    return tuple(tables)


_COLUMN = r"(text_pair|text|column \d+)"
_CUE_COLUMNS = re.compile(
    rf"\b{_COLUMN}(?= alone\b)|(?<=” of ){_COLUMN}\b|(?<=rows\) of ){_COLUMN}\b"
    r"|(?<=s of )text\w*\b|(?<=length of )text\w*\b"
)
"""Pattern for column names in the caption of a table of cues.

Examples are "text_pair alone" and "number of words of text".
"""

_TEXT = re.compile(r"\b(?:text_pair|text)$|\b(?:text_pair|text)(?= less )|(?<= less )(?:text_pair|text)\b")
"""Pattern for column names in the name of a length.

Examples are "number of words of text" and "difference in words, text_pair less text".
"""


def own_name(kind: str, name: str, named: Callable[[str], str]) -> str:
    """Return the name of a cue or property with the source's column names.

    `kind` and `name`: fields of a `RemovedCue` of `bias_evidence`, or of a `Candidate` of `leaning_sets`. Names of
    attributes are already names in the source and are returned unchanged.
    """
    if kind == "attribute":
        return name
    return _TEXT.sub(lambda found: named(found[0]), name) if kind == "length" else named(name)


def _own_columns(table: pa.Table, named: Callable[[str], str]) -> pa.Table:
    """Return a table of statistics with the source's column names.

    Column names are replaced in the column `column` or, for cues other than attributes, in the column `name`.
    """
    names = table.column_names
    if "column" in names:
        values = [None if value is None else named(value) for value in table["column"].to_pylist()]
        return table.set_column(names.index("column"), "column", pa.array(values, pa.string()))
    if {"kind", "name", "value"} <= set(names):
        pairs = zip(table["kind"].to_pylist(), table["name"].to_pylist(), strict=True)
        values = [own_name(kind, name, named) for kind, name in pairs]
        return table.set_column(names.index("name"), "name", pa.array(values, pa.string()))
    headings = [named(name) if name in ("text", "text_pair") else name for name in names]
    return table.rename_columns(headings) if "text" in names and len(set(headings)) == len(headings) else table
