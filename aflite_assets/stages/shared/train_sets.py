"""The train sets that evaluators are compared on: full, filtered, the filter at earlier sizes, and controls."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.algorithm import FilterSettings
from aflite_assets.analysis.train_sets import leaning_set
from aflite_assets.errors import InvalidInputError
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import ControlSet, ForgettableSet, by_keys, kept_rows

if TYPE_CHECKING:
    from aflite_assets.algorithm.tally import Tally
    from aflite_assets.algorithm.vocabulary import RowWords

_NEVER = np.iinfo(np.int64).max
"""Stands for the iteration in which kept rows left."""


@dataclass(frozen=True)
class TrainSet:
    """One train set: full (representation None), filtered, or a control; `row_ids` int64 ascending.

    `weights`: what the loss of each row is multiplied by, float32; None for 1.
    """

    name: str
    representation: str | None
    row_ids: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class EarlierSet:
    """Record of what was left when the filter was down to some number of train rows.

    `row_ids`: int64 ascending, by split: train, and the splits that the filter took part in. `iteration`: the one that
    passed the number, None where the filter began with no more rows. `cutoff`: lowest score of its rows that went.
    """

    iteration: int | None
    row_ids: Mapping[str, np.ndarray]
    cutoff: float | None = None


@dataclass(frozen=True)
class FilterRun:
    """How a filtered set was made: `policies` is what was done with each split other than train."""

    settings: FilterSettings
    policies: Mapping[str, str]
    seed: int

    @classmethod
    def of(cls, part: PublishedResult) -> "FilterRun":
        """As published."""
        outcome = json.loads(part.file("filter.json").read_text(encoding="utf-8"))
        policies = outcome["settings"].pop("evaluation_rows")
        return cls(FilterSettings(**outcome["settings"]), policies, outcome["seed"])

    @property
    def by_vocabulary(self) -> bool:
        """Whether its rows were ranked by vocabulary."""
        return self.settings.ranking == "vocabulary"

    @property
    def filtered_splits(self) -> list[str]:
        """Train, and the splits that the filter took part in."""
        return ["train", *(split for split, policy in self.policies.items() if policy != "kept")]

    def splits_treated(self, policy: str) -> list[str]:
        """Return the splits other than train that were treated so."""
        return [split for split, treated in self.policies.items() if treated == policy]


def earlier_set(rows: pa.Table, size: int, *, run: FilterRun, words: "RowWords | None" = None) -> EarlierSet | None:
    """Return what the filter would have kept with `size` train rows as its target: exactly as many.

    The slice of the iteration that passed `size` is cut to it as the filter cuts its last slice, with the same draws.
    Where whole groups are removed, one that would go below `size` stays. None where the filter never had so few rows
    left; all rows where it began with no more.

    `rows`: of a filtered set, in published order, with row_id, split, removed_in_iteration, predictability,
    held_out_count and, where whole groups are removed, group; where classes share a slice, label; where label
    probabilities put rows in order, last_label_probability. `words`: of these rows, where the filter ranked them by
    vocabulary.

    Raises:
        InvalidInputError: it did, and they are not given, or it did not.
    """
    if run.by_vocabulary != (words is not None):
        raise InvalidInputError(
            f"the filter ranked rows by {run.settings.ranking}, and words are "
            f"{'missing' if words is None else 'given'}: give the words of the rows if it ranked by vocabulary, "
            "otherwise None."
        )
    split_of = rows["split"].to_numpy(zero_copy_only=False)
    left_in = pc.fill_null(rows["removed_in_iteration"], _NEVER).to_numpy()
    train = split_of == "train"
    if train.sum() <= size:
        return _left(rows, split_of, np.ones(len(train), dtype=bool), run, iteration=None)
    left = train.sum() - np.cumsum(np.bincount(left_in[train & (left_in < _NEVER)], minlength=1))
    if not (left <= size).any():
        return None
    iteration = int(np.argmax(left <= size))
    room = int((train & (left_in >= iteration)).sum()) - size
    gone, cutoff = _sliced_again(rows, split_of, left_in, iteration, room, run, words)
    return _left(rows, split_of, (left_in >= iteration) & ~gone, run, iteration=iteration, cutoff=cutoff)


def _left(
    rows: pa.Table,
    split_of: np.ndarray,
    staying: np.ndarray,
    run: FilterRun,
    *,
    iteration: int | None,
    cutoff: float | None = None,
) -> EarlierSet:
    row_ids = rows["row_id"].to_numpy()
    left = {split: np.sort(row_ids[staying & (split_of == split)]) for split in run.filtered_splits}
    return EarlierSet(iteration, left, cutoff)


def _sliced_again(
    rows: pa.Table,
    split_of: np.ndarray,
    left_in: np.ndarray,
    iteration: int,
    room: int,
    run: FilterRun,
    words: "RowWords | None",
) -> tuple[np.ndarray, float | None]:
    """Which rows an iteration removes when only `room` train rows may go, bool, and its cut-off.

    Rows that it left in are given no score, so that the slice is a part of the one it removed.
    """
    from aflite_assets.algorithm import selection as select  # loads torch

    entered = left_in >= iteration
    pool = np.flatnonzero(entered & np.isin(split_of, ["train", *run.splits_treated("pooled")]))
    scored = np.flatnonzero(entered & np.isin(split_of, run.splits_treated("scored")))
    tally, settings = _tally(rows, left_in == iteration, run), run.settings
    groups = rows["group"].to_numpy() if settings.remove == "groups" else None
    copies = rows["copy"].to_numpy() if "copy" in rows.column_names else None
    among, beside = (
        select.candidates(
            part,
            select.leaving_together(copies, part, most=settings.slice_size) if groups is None else groups[part],
            tally,
            counted=split_of[part] == "train",
            labels=rows["label"].to_numpy()[part] if settings.balance == "classes" else None,
        )
        for part in (pool, scored)
    )
    chosen = select.choose_slice(
        among,
        settings=settings,
        allowed=settings.slice_size,
        room=room,
        seed=run.seed,
        iteration=iteration,
        vocabulary=None if words is None else select.words_of(among, words),
    )
    gone = np.zeros(len(split_of), dtype=bool)
    gone[chosen.rows] = True
    gone[select.rows_cut(beside, chosen.cut, settings=settings, seed=run.seed, iteration=iteration)] = True
    return gone, chosen.cutoff


def _tally(rows: pa.Table, removed: np.ndarray, run: FilterRun) -> "Tally":
    """Return the counts with which the `removed` rows left, nothing of the others."""
    from aflite_assets.algorithm.tally import Tally

    held_out = np.where(removed, rows["held_out_count"].to_numpy(), 0)
    predictions = held_out * (2 if run.settings.classifier == "both" else 1)
    # Rounding takes back what float32 lost, so that ties are ties.
    correct = np.rint(predictions * pc.fill_null(rows["predictability"], 0.0).to_numpy()).astype(np.int64)
    probability = None
    if run.settings.uses_label_probability:
        probability = pc.fill_null(rows["last_label_probability"], np.nan).to_numpy()
    return Tally(correct, predictions, held_out, probability, None)


def filter_runs(seeds: Sequence[int], n_runs: int) -> dict[int, int]:
    """Which run of the filter each of the evaluators' seeds trains on: they take them in turn."""
    return {seed: position % n_runs for position, seed in enumerate(seeds)}


def why_not_earlier(rows: pa.Table, size: int) -> str:
    """Why a filtered set has no earlier set of `size` rows."""
    kept = pc.sum(pc.and_(pc.equal(rows["split"], "train"), pc.is_null(rows["removed_in_iteration"]))).as_py()
    return (
        f"the filter ended with {kept:,} train rows, so it never had {size:,} left; name a larger number, or "
        "lower filter.target_size or filter.threshold"
    )


def forgettable_train_sets(sets: Sequence[ForgettableSet], seed: int) -> list[TrainSet]:
    """Return what weak models forget as train sets of their own, each with as many random rows, for one evaluators'
    seed.
    """
    names = {"forgettable": "forgettable", "random": "random_forgettable"}
    return [
        TrainSet(f"{names[each.name]}_{each.weak_model}", None, each.row_ids)
        for each in sets
        if each.name in names and each.seed in (seed, None)
    ]


def leaning_train_sets(result: PublishedResult) -> dict[int, list[TrainSet]]:
    """Train sets that ask whether models lean on a property, by training, from 0."""
    table = pq.read_table(result.file("train_sets.parquet"))
    found: dict[int, list[TrainSet]] = {}
    for key, rows in by_keys(table, "candidate", "name", "training"):
        name = leaning_set(key["name"].as_py(), key["candidate"].as_py())
        found.setdefault(key["training"].as_py(), []).append(TrainSet(name, None, rows["row_id"].to_numpy()))
    return found


def train_sets(
    full: np.ndarray, filtered: PublishedResult, controls: Sequence[ControlSet], seed: int, *, filter_run: int = 0
) -> list[TrainSet]:
    """Every train set of one seed: full, then each representation's filtered set and its controls.

    A filter that removed no train row has none of its own but sampled and weighted: its filtered set is the whole, and
    so are its controls.

    `full`: the ids of the train rows (`published.full_rows`), int64 ascending, of which all others are subsets; where
    a sample is filtered they are subsets of sampled.
    """
    sets = [TrainSet("full", None, full)]
    for name, part in filtered.parts.items():
        kept = kept_rows(part, filter_run)["train"]
        whole = len(kept) == part.summary["rows"]["train"]
        sets += [] if whole else [TrainSet("filtered", name, kept)]
        sets += [
            TrainSet(control.name, name, control.row_ids, control.weights)
            for control in controls
            if control.representation == name and control.split == "train" and control.seed in (seed, None)
            if not whole or control.name in ("sampled", "weighted")
        ]
    return sets
