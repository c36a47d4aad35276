"""The train sets on which evaluators are compared: full, filtered, the filter's earlier sets, and controls."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.algorithm import FilterSettings
from aflite_assets.analysis.train_sets import leaning_set
from aflite_assets.data.words import DistinctWords
from aflite_assets.errors import InvalidInputError
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import ControlSet, by_keys, kept_rows

if TYPE_CHECKING:
    from aflite_assets.algorithm.tally import Tally

_NEVER = np.iinfo(np.int64).max
"""Number used as the iteration of removal for rows that were kept."""


@dataclass(frozen=True)
class TrainSet:
    """A train set: `full` (with `representation` None), `filtered`, or a control.

    `row_ids`: int64, ascending. `weights`: a factor for each row's loss (float32), or None if every factor is 1.
    """

    name: str
    representation: str | None
    row_ids: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class EarlierSet:
    """The rows that were left when the filter reached a certain number of train rows.

    `row_ids`: ids of the remaining rows (int64, ascending) by split, for train and every other filtered split.
    `iteration`: the iteration in which the filter reached this number, or None if the filter began with at most this
    number. `cutoff`: lowest score of the rows that the iteration removed.
    """

    iteration: int | None
    row_ids: Mapping[str, np.ndarray]
    cutoff: float | None = None


@dataclass(frozen=True)
class FilterRun:
    """The settings of one filter run; `policies` contains the treatment of each split other than train."""

    settings: FilterSettings
    policies: Mapping[str, str]
    seed: int

    @classmethod
    def of(cls, part: PublishedResult) -> "FilterRun":
        """Read the settings of a filter run from its published result."""
        outcome = json.loads(part.file("filter.json").read_text(encoding="utf-8"))
        policies = outcome["settings"].pop("evaluation_rows")
        return cls(FilterSettings(**outcome["settings"]), policies, outcome["seed"])

    @property
    def by_vocabulary(self) -> bool:
        """True if the run ranked rows by vocabulary."""
        return self.settings.ranking == "vocabulary"

    @property
    def filtered_splits(self) -> list[str]:
        """Names of the splits that were filtered: train, and every split with a policy other than `kept`."""
        return ["train", *(split for split, policy in self.policies.items() if policy != "kept")]

    def splits_treated(self, policy: str) -> list[str]:
        """Return the splits other than train whose policy is `policy`."""
        return [split for split, treated in self.policies.items() if treated == policy]


def earlier_set(rows: pa.Table, size: int, *, run: FilterRun, words: DistinctWords | None = None) -> EarlierSet | None:
    """Return the rows that the filter would have kept with a target of exactly `size` train rows.

    The iteration that reached `size` is repeated so that it removes fewer rows. The random draws are the same as in a
    run with the target `size`. If whole groups are removed, a group stays if its removal would leave fewer than `size`
    rows. Return None if the filter kept more than `size` rows. Return all rows if the filter began with at most `size`
    rows.

    `rows`: the published rows of the filtered set, with the columns row_id, split, removed_in_iteration, predictability
    and held_out_count. Filters that remove whole groups also need the column `group`. Filters that balance removal by
    class need `label`, and filters that rank rows by label probability need `last_label_probability`. `words`: the
    words of the rows in `rows`, needed if the filter ranked rows by vocabulary.

    Raises:
        InvalidInputError: the ranking is by vocabulary and `words` is None, or `words` is given for another ranking.
    """
    if run.by_vocabulary != (words is not None):
        raise InvalidInputError(
            f"`words` is {'None' if words is None else 'given'}, but the filter ranked rows by {run.settings.ranking}; "
            "give `words` if, and only if, the ranking is by vocabulary"
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
    words: DistinctWords | None,
) -> tuple[np.ndarray, float | None]:
    """Repeat an iteration's removal, limited to `room` train rows; return a mask of removed rows, and the cutoff.

    Only rows that the original iteration removed have a score, so the repeated iteration can remove no other row.
    """
    from aflite_assets.algorithm import RowWords  # loads numba
    from aflite_assets.algorithm import selection as select  # loads torch

    entered = left_in >= iteration
    pool = np.flatnonzero(entered & np.isin(split_of, ["train", *run.splits_treated("pooled")]))
    scored = np.flatnonzero(entered & np.isin(split_of, run.splits_treated("scored")))
    # All rows with a score were removed. With "gumbel", possibly none of them reached the threshold.
    settings = replace(run.settings, threshold=0.0, comparison="at_least")
    tally = _tally(rows, left_in == iteration, run)
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
        vocabulary=None if words is None else select.words_of(among, RowWords(words.offsets, words.numbers)),
    )
    gone = np.zeros(len(split_of), dtype=bool)
    gone[chosen.rows] = True
    gone[select.rows_cut(beside, chosen.cut, settings=settings, seed=run.seed, iteration=iteration)] = True
    return gone, chosen.cutoff


def _tally(rows: pa.Table, removed: np.ndarray, run: FilterRun) -> "Tally":
    """Return the last iteration's prediction counts for the rows in `removed`, and zeros for every other row."""
    from aflite_assets.algorithm.tally import Tally

    held_out = np.where(removed, rows["held_out_count"].to_numpy(), 0)
    predictions = held_out * (2 if run.settings.classifier == "both" else 1)
    # Rounding removes the error of float32, so that equal scores are equal again.
    correct = np.rint(predictions * pc.fill_null(rows["predictability"], 0.0).to_numpy()).astype(np.int64)
    probability = None
    if run.settings.uses_label_probability:
        probability = pc.fill_null(rows["last_label_probability"], np.nan).to_numpy()
    return Tally(correct, predictions, held_out, probability, None)


def filter_runs(seeds: Sequence[int], n_runs: int) -> dict[int, int]:
    """Return, for each of the evaluators' seeds, the number of the filter run whose filtered set is used.

    The runs are assigned to the seeds in rotation.
    """
    return {seed: position % n_runs for position, seed in enumerate(seeds)}


def why_not_earlier(rows: pa.Table, size: int) -> str:
    """Return the reason why a filtered set has no earlier set with `size` rows, as text for a message."""
    kept = pc.sum(pc.and_(pc.equal(rows["split"], "train"), pc.is_null(rows["removed_in_iteration"]))).as_py()
    return (
        f"the filter ended with {kept:,} train rows, so it never had {size:,} left; choose a larger number, or "
        "lower `filter.target_size` or `filter.threshold`"
    )


def leaning_train_sets(result: PublishedResult) -> dict[int, list[TrainSet]]:
    """Return the train sets that test whether models rely on a property, by number of the training run (from 0)."""
    table = pq.read_table(result.file("train_sets.parquet"))
    found: dict[int, list[TrainSet]] = {}
    for key, rows in by_keys(table, "candidate", "name", "training"):
        name = leaning_set(key["name"].as_py(), key["candidate"].as_py())
        found.setdefault(key["training"].as_py(), []).append(TrainSet(name, None, rows["row_id"].to_numpy()))
    return found


def train_sets(
    full: np.ndarray, filtered: PublishedResult, controls: Sequence[ControlSet], seed: int, *, filter_run: int = 0
) -> list[TrainSet]:
    """Return every train set for one seed: `full`, then each representation's filtered set and its controls.

    If a filter removed no train row, its filtered set and most of its controls equal `full` and are left out. If a
    filter removed no train row, only its controls `sampled` and `weighted` are returned.

    `full`: ids of the train rows (`published.full_rows`), int64 ascending. Every other train set is a subset of `full`
    or, if a sample is filtered, of `sampled`.
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
