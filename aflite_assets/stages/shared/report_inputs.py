"""From published results to the records that reports are made of."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.algorithm import ChanceScores
from aflite_assets.algorithm.warnings import class_moves
from aflite_assets.analysis.inputs.cues import Cue, read_cues
from aflite_assets.analysis.inputs.planted import PlantedRemoval
from aflite_assets.analysis.inputs.records import Cell, EvidenceTable, FilteredSet, FineTuned, TestSet, fine_tuned_note
from aflite_assets.analysis.inputs.score_counts import ScoreCounts, count_scores
from aflite_assets.analysis.inputs.similarity import ClassSimilarity, class_similarities
from aflite_assets.analysis.scores.accuracy import with_ranks
from aflite_assets.analysis.scores.questions import question_predictions
from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import ChallengeSpec
from aflite_assets.stages.shared.label_mapping import class_map
from aflite_assets.stages.shared.published import (
    ChallengeFacts,
    ControlSet,
    category_columns,
    read_challenge_sets,
    test_examples,
)

_PREDICTED = ["test_set", "row_id", "predicted"]


def filtered_set(representation: str, part: PublishedResult, label_names: Sequence[str] = ()) -> FilteredSet:
    """One representation's filtered set, as published; `label_names` puts names into its warnings about classes."""
    outcome = json.loads(part.file("filter.json").read_text(encoding="utf-8"))
    iterations, rows = (pq.read_table(part.file(name)) for name in ("iterations.parquet", "rows.parquet"))
    warnings = outcome["warnings"]
    return FilteredSet(
        representation,
        iterations=iterations,
        stop_reason=outcome["stop_reason"],
        warnings=tuple(warnings if not label_names else _with_class_names(warnings, iterations, rows, label_names)),
        rows=rows,
        settings={**outcome["settings"], "seed": outcome["seed"]},
        runs=part.summary.get("filter_runs", 1),
        kept_jaccard=part.summary.get("kept_jaccard"),
        chance=None if (chance := outcome.get("chance")) is None else _chance(chance),
        first_scores=pq.read_table(scores) if (scores := part.path / "scores" / "000.parquet").is_file() else None,
    )


def _with_class_names(
    warnings: Sequence[str], iterations: pa.Table, rows: pa.Table, label_names: Sequence[str]
) -> tuple[str, ...]:
    """The filter numbers classes, and advises a control that a report always has: those sentences are said anew."""
    first, last = (iterations.slice(place, 1).to_pylist()[0] for place in (0, iterations.num_rows - 1))
    classes = np.unique(rows["label"].to_numpy())
    if len(first["rows_per_class"]) != len(classes):
        return tuple(warnings)  # a class has no row in the pool
    before, after = (np.array(one["rows_per_class"]) / one["rows_in"] for one in (first, last))
    moves = {move.sentence(): move for move in class_moves(before, after, classes)}
    return tuple(
        move.sentence(f"“{label_names[move.label]}”", "; random_matched has these shares, too.")
        if (move := moves.get(warning)) is not None
        else warning
        for warning in warnings
    )


def _chance(published: Mapping[str, Any]) -> ChanceScores:
    """None, for a class without a score, becomes NaN."""
    bias, class_bias = (np.array(published[name], dtype=np.float64) for name in ("bias", "class_bias"))
    return ChanceScores(bias, class_bias, published["rows"])


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


def annotations_note(raw: PublishedResult) -> tuple[str, ...]:
    """That single annotators' labels are missing, for which the spec names files; nothing otherwise."""
    if "annotations_left_out" not in raw.summary:
        return ()
    return ("Single annotators' labels were left out, as their files are missing: there is no human row.",)


def changed_rows_note(raw: PublishedResult) -> tuple[str, ...]:
    """What settings made of the source's rows: copies dropped, features standardised; nothing by default."""
    notes = []
    if dropped := raw.summary.get("duplicates", {}).get("dropped"):
        notes.append(
            f"Exact copies were dropped: {', '.join(f'{rows:,} of {split}' for split, rows in dropped.items())}."
        )
    if shared := sum(raw.summary.get("between_splits", {}).values()):
        notes.append(f"Train rows were dropped that share a group or their input with another split: {shared:,}.")
    if standardised := raw.summary.get("standardised"):
        notes.append(
            f"The {standardised['columns']:,} feature columns were standardised by the train rows"
            + (f"; {len(standardised['constant']):,} of them are constant there." if standardised["constant"] else ".")
        )
    return tuple(notes)


def earlier_sets_note(controls: PublishedResult) -> tuple[str, ...]:
    """Which earlier sets are all that the filter began with, or are missing, and why."""
    notes = []
    for representation, facts in controls.summary.items():
        for name, fact in facts["earlier_sets"].items():
            shown = f"filtered_{name} ({representation})"
            if "reason" in fact:
                notes.append(f"{shown} is missing: {fact['reason']}.")
            elif fact["iteration"] is None:
                notes.append(
                    f"{shown} has all {fact['rows']['train']:,} train rows that the filter began with, and is compared "
                    "with nothing."
                )
    return tuple(notes)


def whole_earlier_sets(controls: PublishedResult) -> frozenset[tuple[str, str]]:
    """(representation, train set) of earlier sets, and controls of their size, that are all that the filter began with.

    To compare them with each other, or with sampled, says nothing, and every such comparison makes Holm's others
    harder to tell.
    """
    return frozenset(
        (representation, f"{kind}_{name}")
        for representation, facts in controls.summary.items()
        for name, fact in facts["earlier_sets"].items()
        if "reason" not in fact and fact["iteration"] is None
        for kind in ("filtered", "random")
    )


def read_cells(
    result: PublishedResult,
    *,
    ranked: Sequence[TestSet] = (),
    asked: Sequence[TestSet] = (),
    right: int = 0,
) -> tuple[Cell, ...]:
    """Every cell of the grid, with its predictions where it is done.

    For the sets in `ranked` the probabilities are read too, one cell and set at a time, and kept as each row's rank of
    its own class (`RANK`): all cells' probabilities of many rows and classes are more than memory holds. The sets
    in `asked`, by answer, are read likewise and become predictions of questions; `right` is the class of right answers.
    """
    rows = pq.read_table(result.file("cells.parquet")).to_pylist()
    return tuple(_cell(result, row, ranked, asked, right) for row in rows)


def _cell(
    result: PublishedResult, row: Mapping[str, Any], ranked: Sequence[TestSet], asked: Sequence[TestSet], right: int
) -> Cell:
    cell = partial(Cell, **{name: value for name, value in row.items() if name != "name"})
    if row["status"] != "done":
        return cell(predictions=None)
    path = result.part(row["name"]).file("predictions.parquet")
    names = [test_set.name for test_set in (*ranked, *asked)]
    tables = [pq.read_table(path, columns=_PREDICTED, filters=[("test_set", "not in", names)] if names else None)]
    for test_set in (*ranked, *asked):
        said = pq.read_table(path, columns=[*_PREDICTED, "probabilities"], filters=[("test_set", "=", test_set.name)])
        if not said.num_rows:
            continue
        known = cell(predictions=said)
        tables.append(
            question_predictions(known, test_set, right) if test_set in asked else with_ranks(known, test_set)
        )
    return cell(predictions=pa.concat_tables(tables, promote_options="default"))


def test_sets(
    raw: Examples,
    challenges: PublishedResult,
    filtered: tuple[FilteredSet, ...],
    specs: Mapping[str, ChallengeSpec],
    unreported: Collection[str],
    fine_tuned: Mapping[str, FineTuned],
    controls: Sequence[ControlSet],
) -> tuple[TestSet, ...]:
    """Every set that is tested on: natural ones with what each filter kept, challenge sets with their class maps.

    Challenge sets that are missing are left out, and so are the splits `unreported`, which evaluators stop by. Sets
    that evaluators were fine-tuned on say so in their notes.

    Raises:
        DataError: the published challenge sets are not those of the spec, or no longer fit its maps.
    """
    published = read_challenge_sets(challenges)
    known = {*published.sets, *published.missing}
    if known != set(specs):
        raise DataError(
            f"challenge_sets holds {sorted(known)}, but the spec names {sorted(specs)}; materialise it again"
        )
    return tuple(
        _challenge_set(name, examples, raw, specs[name], published.sets[name], fine_tuned)
        if name in published.sets
        else _natural_set(name, examples, filtered, controls)
        for name, examples in test_examples(raw, challenges).items()
        if name not in unreported
    )


def _natural_set(
    name: str, examples: Examples, filtered: tuple[FilteredSet, ...], controls: Sequence[ControlSet]
) -> TestSet:
    """A split, with what was kept of it by the filters that did not leave such rows alone, and by other laws."""
    kept = {
        filter_result.representation: np.isin(
            examples.row_ids, filter_result.rows.filter(filter_result.rows["kept"])["row_id"].to_numpy()
        )
        for filter_result in filtered
        if filter_result.policy(name) != "kept"
    }
    return TestSet(
        name,
        False,
        examples.row_ids,
        examples.labels,
        examples.label_names,
        kept=kept,
        groups=examples.groups,
        pooled=any(filter_result.policy(name) == "pooled" for filter_result in filtered),
        own_kept={
            (control.representation, control.name): np.isin(examples.row_ids, control.row_ids)
            for control in controls
            if control.split == name and control.seed is None
        },
    )


def _challenge_set(
    name: str,
    examples: Examples,
    raw: Examples,
    spec: ChallengeSpec,
    facts: ChallengeFacts,
    fine_tuned: Mapping[str, FineTuned],
) -> TestSet:
    return TestSet(
        name,
        True,
        examples.row_ids,
        examples.labels,
        examples.label_names,
        kept={},
        categories=category_columns(examples),
        class_map=class_map(name, spec, examples, raw.label_names),
        collapse=spec.collapse,
        notes=(*_challenge_notes(facts), *fine_tuned_note(name, fine_tuned)),
        groups=examples.groups,
    )


def check_scatter_features(chosen: tuple[int, int], raw: Examples) -> None:
    """Refuse feature columns for the scatter plot that the dataset lacks.

    Raises:
        DataError: the rows are no features, or have fewer.
    """
    if raw.modality != "features":
        raise DataError(
            f"report.scatter_features is for datasets of features, and these rows are {raw.modality}; drop it"
        )
    width = raw.features.shape[1]
    if max(chosen) >= width:
        raise DataError(
            f"report.scatter_features is {list(chosen)}, but the rows have {width} features; choose two of 0 to "
            f"{width - 1}"
        )


def undecodable_note(raw: PublishedResult) -> tuple[str, ...]:
    """How many images were left out because they do not decode; nothing when none."""
    rows = sum(images["rows"] for images in raw.summary["undecodable_images"].values())
    return (f"Images that do not decode were left out: {rows:,}.",) if rows else ()


def _challenge_notes(facts: ChallengeFacts) -> tuple[str, ...]:
    unlabelled, broken = facts.unlabelled_rows, facts.undecodable_images
    labelled, limited = facts.source_rows - unlabelled, facts.rows + broken
    notes = {
        f"The spec limits it to {limited:,} of {labelled:,} rows.": limited < labelled,
        f"Rows without a label were dropped: {unlabelled:,}.": unlabelled > 0,
        f"Images that do not decode were dropped: {broken:,}.": broken > 0,
    }
    return tuple(note for note, holds in notes.items() if holds)


def score_counts(part: PublishedResult) -> ScoreCounts | None:
    """How many train rows had which predictability in each iteration, read one by one; None without their scores."""
    files = sorted((part.path / "scores").glob("*.parquet"))
    tables = ((int(file.stem), pq.read_table(file)) for file in files)
    return count_scores(tables, pq.read_table(part.file("rows.parquet"))) if files else None


def read_similarities(result: PublishedResult) -> dict[str, tuple[ClassSimilarity, ...]]:
    """The similarities of `bias_evidence` by representation; results of earlier versions have none."""
    index = json.loads(result.file("evidence.json").read_text(encoding="utf-8"))
    published = index.get("similarities", {})
    return {name: class_similarities(pq.read_table(result.file(file))) for name, file in published.items()}


def read_removal_cues(
    result: PublishedResult, named: Callable[[str], str] = str, challenges: Mapping[str, Examples] | None = None
) -> dict[str, tuple[Cue, ...]]:
    """What marks the removed rows, by representation; results of earlier versions have none.

    Args:
        result: of `bias_evidence`.
        named: what the source calls a column of the raw table; default: the same.
        challenges: sets in which the words that are shown are counted, by name.
    """
    index = json.loads(result.file("evidence.json").read_text(encoding="utf-8"))
    return {
        name: tuple(
            cue if cue.kind == "attribute" else replace(cue, name=_own_name(cue.kind, cue.name, named))
            for cue in _counted_elsewhere(read_cues(pq.read_table(result.file(file))), challenges or {})
        )
        for name, file in index.get("cues", {}).items()
    }


def _counted_elsewhere(cues: tuple[Cue, ...], challenges: Mapping[str, Examples]) -> tuple[Cue, ...]:
    """The marks, those words that are shown with the share of each challenge set's rows that have them."""
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
    return tuple(
        replace(
            cue,
            elsewhere=tuple(
                (name, shares[cue.name, name][cue.value])
                for name in challenges
                if cue.kind == "word" and cue.value in shares.get((cue.name, name), {})
            ),
        )
        for cue in cues
    )


def read_nearest_kept(result: PublishedResult) -> dict[str, pa.Table]:
    """The nearest kept row of another class of removed train rows by representation; earlier results have none.

    Columns row_id, nearest_kept, similarity (`diagnostics.evidence.nearest_kept`), of all removed rows or of a sample.
    """
    index = json.loads(result.file("evidence.json").read_text(encoding="utf-8"))
    return {name: pq.read_table(result.file(file)) for name, file in index.get("nearest_kept", {}).items()}


def read_planted(result: PublishedResult) -> tuple[PlantedRemoval, ...]:
    """What filtering removed of planted rows; none where nothing was, or in results of earlier versions."""
    index = json.loads(result.file("evidence.json").read_text(encoding="utf-8"))
    return tuple(
        PlantedRemoval(**{**removal, "values": tuple(removal["values"])}) for removal in index.get("planted", ())
    )


def read_evidence(result: PublishedResult, named: Callable[[str], str] = str) -> tuple[EvidenceTable, ...]:
    """The tables of `bias_evidence`, in their order, with columns as `named` says that the source calls them.

    Default: as the raw table calls them.
    """
    index = json.loads(result.file("evidence.json").read_text(encoding="utf-8"))
    return tuple(
        EvidenceTable(
            entry["title"],
            _own_words(entry["caption"], named),
            _own_columns(pq.read_table(result.file(entry["file"])), named),
        )
        for entry in index["tables"]
    )


_COLUMN = r"(text_pair|text|column \d+)"
_TEXT = re.compile(r"\b(?:text_pair|text)$|\b(?:text_pair|text)(?= less )|(?<= less )(?:text_pair|text)\b")
"""The columns in the name of a length: "number of words of text", "difference in words, text_pair less text"."""


def _own_name(kind: str, name: str, named: Callable[[str], str]) -> str:
    return _TEXT.sub(lambda found: named(found[0]), name) if kind == "length" else named(name)


_MARK = re.compile(
    rf"\b{_COLUMN}(?= alone\b)|(?<=” of ){_COLUMN}\b|(?<=rows\) of ){_COLUMN}\b"
    r"|(?<=s of )text\w*\b|(?<=length of )text\w*\b"
)


def _own_words(caption: str, named: Callable[[str], str]) -> str:
    """The caption with the marks' columns as the source calls them: "text_pair alone", "number of words of text"."""
    return _MARK.sub(lambda found: named(found[0]), caption)


def _own_columns(table: pa.Table, named: Callable[[str], str]) -> pa.Table:
    """A table of statistics whose `column` (or, of marks that are no attributes, `name`) holds the source's names."""
    names = table.column_names
    if "column" in names:
        values = [None if value is None else named(value) for value in table["column"].to_pylist()]
        return table.set_column(names.index("column"), "column", pa.array(values, pa.string()))
    if {"kind", "name", "value"} <= set(names):
        pairs = zip(table["kind"].to_pylist(), table["name"].to_pylist(), strict=True)
        values = [name if kind == "attribute" else _own_name(kind, name, named) for kind, name in pairs]
        return table.set_column(names.index("name"), "name", pa.array(values, pa.string()))
    if "text" in names:
        headings = [named(name) if name in ("text", "text_pair") else name for name in names]
        return table.rename_columns(headings) if len(set(headings)) == len(headings) else table
    return table
