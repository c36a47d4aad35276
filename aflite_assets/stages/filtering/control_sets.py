"""The stage `control_sets`: draws train sets of the filtered set's size that the filter did not choose."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.diagnostics.record_tables import class_shares_moved
from aflite_assets.results import Draft
from aflite_assets.specs.columns import subset_name
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.sources import CHOICE_FORMATS
from aflite_assets.stages.filtering.random_questions import question_kinds
from aflite_assets.stages.filtering.row_words import DatasetWords
from aflite_assets.stages.shared.published import (
    ControlSet,
    first_scores,
    full_rows,
    kept_rows,
    quarantined_rows,
    read_rows,
    read_selection,
    representation_of,
    selected_rows,
    without_rows,
)
from aflite_assets.stages.shared.row_weights import row_weights
from aflite_assets.stages.shared.source_places import source_of
from aflite_assets.stages.shared.train_sets import EarlierSet, FilterRun, earlier_set, filter_runs, why_not_earlier
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings, of_choices

NO_MODEL = "the representation has no warm-up model"


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Draw the control sets for the filtered set of each representation.

    For questions and preferences, whole questions are drawn: all answers of a question, or none.
    """
    selection = read_selection(inputs.selection)
    raw = selected_rows(load_examples(inputs.raw_dataset.path), selection)
    everything = full_rows(raw, inputs.warmup_split, include_warmup=settings.full_includes_warmup)
    by_words = any(FilterRun.of(part).by_vocabulary for part in inputs.filtered_sets.parts.values())
    all_words = DatasetWords.of(raw) if by_words and settings.train_sets else None
    source = source_of(inputs.raw_dataset)
    by_question = source.format in CHOICE_FORMATS
    controls: list[ControlSet] = []
    summary: dict[str, object] = {}
    for name, part in inputs.filtered_sets.parts.items():
        rows = pq.read_table(part.file("rows.parquet"))
        taken_out = quarantined_rows(part)  # controls with these rows would differ from filtered by label errors too
        full = without_rows(everything, taken_out) if len(taken_out) else everything
        embedded = inputs.embeddings.part(representation_of(inputs.filtered_sets, name))
        scores = single_pass_scores(rows, read_rows(embedded), first_scores(part))
        filter_run = FilterRun.of(part)
        kept = {seed: kept_rows(part, run) for seed, run in filter_runs(settings.seeds, settings.filter_seeds).items()}
        groups = rows["group"].to_numpy() if by_question and "group" in rows.column_names else None
        splits = filter_run.filtered_splits
        made, notes = _controls(name, rows, full, scores, kept, splits=splits, seed=settings.seed, groups=groups)
        if by_question:
            made = [_whole_questions(control, kept, full, subset_name(source)) for control in made]
        words = all_words.of_rows(rows["row_id"].to_numpy()) if all_words and filter_run.by_vocabulary else None
        earlier = {
            size_name: earlier_set(rows, size, run=filter_run, words=words)
            for size_name, size in settings.train_sets.items()
        }
        made += _earlier_controls(name, earlier, full.in_split("train"), settings.seeds, by_question=by_question)
        made += (
            []
            if selection is None
            else [ControlSet(name, "sampled", None, "train", everything.in_split("train").row_ids)]
        )
        made += [_weighted(name, rows, full.in_split("train").row_ids)] if settings.train_weighted else []
        notes["earlier_sets"] = {
            size_name: _described(earlier_rows, rows, settings.train_sets[size_name])
            for size_name, earlier_rows in earlier.items()
        }
        controls += made
        summary[name] = {"sets": len(made), **notes}
        context.progress.log(f"control sets of {name}: {sorted({control.name for control in made})}")
    tables = [_table(control, weighted=settings.train_weighted) for control in controls]
    pq.write_table(pa.concat_tables(tables), draft.path / "sets.parquet")
    return summary


def single_pass_scores(rows: pa.Table, embedded: pa.Table, first: pa.Table) -> dict[str, np.ndarray]:
    """Return single-pass scores of every row in `rows` by control set; floats in [0, 1], or NaN for missing scores.

    `single_pass_model`: the probability that the warm-up model's own output layer gives the row's label; left out if
    there is no model. `single_pass_linear`: the predictability in the first iteration, from the table `first`.
    """
    columns = {
        "single_pass_model": (embedded["row_id"], embedded["warmup_label_probability"]),
        "single_pass_linear": (first["row_id"], first["predictability"]),
    }
    row_ids = rows["row_id"].to_numpy()
    scores = {name: _in_order(row_ids, ids.to_numpy(), _floats(values)) for name, (ids, values) in columns.items()}
    return {name: each for name, each in scores.items() if name != "single_pass_model" or not np.isnan(each).all()}


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    values: np.ndarray = column.cast(pa.float32()).to_numpy()
    return values.astype(np.float64)


def _in_order(wanted: np.ndarray, row_ids: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the value of each row in `wanted`, or NaN if the row has no value."""
    order = np.argsort(row_ids, kind="stable")
    places = np.minimum(np.searchsorted(row_ids[order], wanted), len(order) - 1)
    nearest = order[places]
    return np.where(row_ids[nearest] == wanted, values[nearest], np.nan)


def _controls(
    name: str,
    rows: pa.Table,
    full: Examples,
    scores: Mapping[str, np.ndarray],
    kept: Mapping[int, Mapping[str, np.ndarray]],
    *,
    splits: Sequence[str],
    seed: int,
    groups: np.ndarray | None,
) -> tuple[list[ControlSet], dict[str, object]]:
    """Return the random and single-pass control sets, and entries for the result's summary.

    `kept`: for each evaluator seed and split, the row ids that the filter run for this seed kept. `groups`: the
    question of each row of `rows` (int64), for a single pass that removes whole questions. None for a single pass that
    removes rows one by one.
    """
    made = [
        ControlSet(name, "random", each, split, _draw(full.in_split(split).row_ids, len(left), [each, number]))
        for each, by_split in kept.items()
        for number, (split, left) in enumerate(by_split.items())
    ]
    train, classes = full.in_split("train"), len(full.label_names)
    labels = {each: train.labels[np.isin(train.row_ids, by_split["train"])] for each, by_split in kept.items()}
    made += [
        ControlSet(
            name,
            "random_matched",
            each,
            "train",
            _draw_matched(train, np.bincount(kept_labels, minlength=classes), each),
        )
        for each, kept_labels in labels.items()
    ]
    for single_pass, values in scores.items():
        made += _single_pass(name, single_pass, values, rows, splits=splits, seed=seed, groups=groups)
    points = class_shares_moved(train.labels, next(iter(labels.values())), classes=classes)
    reason = None if "single_pass_model" in scores else NO_MODEL
    return made, {"class_shares_moved": float(np.abs(points).max() / 100), "no_single_pass_model": reason}


def _whole_questions(
    control: ControlSet, kept: Mapping[int, Mapping[str, np.ndarray]], full: Examples, subset: str | None
) -> ControlSet:
    """Redraw a random control set as whole questions if the filter kept whole questions.

    In `random`, the number of questions with each number of answers is the same as in the filtered set. In
    `random_matched`, the numbers of questions per subset and of questions with a longer right answer are also the same.
    Control sets with other names are returned unchanged.
    """
    if control.name not in ("random", "random_matched") or control.seed is None:
        return control
    kinds = question_kinds(full.in_split(control.split), subset=subset)
    left = kept[control.seed][control.split]
    if kinds is None or not kinds.has_whole(left):
        return control
    matched = control.name == "random_matched"
    drawn = kinds.drawn(left, kinds.alike if matched else kinds.sizes, [control.seed, 4 + matched])
    return replace(control, row_ids=drawn)


def _earlier_controls(
    representation: str,
    earlier: Mapping[str, EarlierSet | None],
    train: Examples,
    seeds: Sequence[int],
    *,
    by_question: bool,
) -> list[ControlSet]:
    """Return the train sets of the earlier filter sizes in `train_sets`, and random sets of the same sizes.

    The train set of an earlier size has the rows that remained when the filter reached that size.
    """
    made = []
    kinds = question_kinds(train, subset=None) if by_question else None
    for number, (name, earlier_rows) in enumerate(earlier.items()):
        if earlier_rows is None:
            continue
        made += [
            ControlSet(representation, f"filtered_{name}", None, split, left)
            for split, left in earlier_rows.row_ids.items()
        ]
        left = earlier_rows.row_ids["train"]
        whole = kinds if kinds is not None and kinds.has_whole(left) else None
        for seed in seeds:
            draw = [seed, 3, number]
            drawn = _draw(train.row_ids, len(left), draw) if whole is None else whole.drawn(left, whole.sizes, draw)
            made.append(ControlSet(representation, f"random_{name}", seed, "train", drawn))
    return made


def _weighted(representation: str, rows: pa.Table, row_ids: np.ndarray) -> ControlSet:
    """Return the control set `weighted`, with published weights; rows without a score have the weight 1."""
    weights = row_weights(rows["label_probability"], rows["label"].to_numpy())
    known = _in_order(row_ids, rows["row_id"].to_numpy(), _floats(pa.chunked_array([weights])))
    return ControlSet(
        representation, "weighted", None, "train", row_ids, np.nan_to_num(known, nan=1.0).astype(np.float32)
    )


def _described(earlier: EarlierSet | None, rows: pa.Table, size: int) -> dict[str, object]:
    if earlier is None:
        return {"reason": why_not_earlier(rows, size)}
    return {
        "iteration": earlier.iteration,
        "rows": {split: len(left) for split, left in earlier.row_ids.items()},
        "cutoff": earlier.cutoff,
    }


def _draw(row_ids: np.ndarray, size: int, seed: list[int]) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(row_ids, size, replace=False))


def _draw_matched(train: Examples, wanted: np.ndarray, seed: int) -> np.ndarray:
    drawn = [
        _draw(train.row_ids[train.labels == label], size, [seed, 1, label])
        for label, size in enumerate(wanted.tolist())
    ]
    return np.sort(np.concatenate(drawn))


def _single_pass(
    representation: str,
    name: str,
    scores: np.ndarray,
    rows: pa.Table,
    *,
    splits: Sequence[str],
    seed: int,
    groups: np.ndarray | None,
) -> list[ControlSet]:
    """Remove the rows with the highest scores at once, and return the remaining rows as control sets (ICML 4.2).

    The number of remaining train rows equals the size of the filtered set. In every other split of `splits`, the rule
    that removes train rows is applied with the same cutoff. If `groups` is given, a group is removed as a whole, so
    slightly more train rows may remain.
    """
    split_of, row_ids = rows["split"].to_numpy(zero_copy_only=False), rows["row_id"].to_numpy()
    train = np.flatnonzero(split_of == "train")
    n_removed = int((~rows["kept"].to_numpy(zero_copy_only=False)[train]).sum())
    from aflite_assets.algorithm import remove_highest  # loads torch

    sets = []
    for split in splits:
        inside = np.flatnonzero(split_of == split)
        together = {} if groups is None else {"groups": groups[train], "other_groups": groups[inside]}
        gone = remove_highest(scores[train], n_removed, others=scores[inside], seed=seed, **together)
        left = np.delete(row_ids[inside], gone.rows if split == "train" else gone.others)
        sets.append(ControlSet(representation, name, None, split, np.sort(left)))
    return sets


def _table(control: ControlSet, *, weighted: bool) -> pa.Table:
    """Return the table of a control set; if `weighted` is True, the table has a column of weights."""
    rows = len(control.row_ids)
    columns = {
        "representation": pa.array([control.representation] * rows, pa.string()),
        "name": pa.array([control.name] * rows, pa.string()),
        "seed": pa.array([control.seed] * rows, pa.int64()),
        "split": pa.array([control.split] * rows, pa.string()),
        "row_id": control.row_ids,
    }
    if weighted:
        columns["weight"] = pa.nulls(rows, pa.float32()) if control.weights is None else pa.array(control.weights)
    return pa.table(columns)


_SETTINGS = StageSettings(
    "seed seeds filter_seeds full_includes_warmup train_sets train_weighted", of_choices(questions="2")
)
CONTROL_SETS = Stage("control_sets", "4", _SETTINGS, "raw_dataset selection warmup_split embeddings filtered_sets", run)
