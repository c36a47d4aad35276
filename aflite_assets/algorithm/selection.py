"""Choice of the rows that an iteration removes: threshold, slice, ties and Gumbel noise. The module `tally.py` computes
the scores.
"""

from dataclasses import dataclass

import numpy as np

from aflite_assets.algorithm.partitions import Purpose, fill_in_order, generator
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.tally import Tally, shares
from aflite_assets.algorithm.vocabulary import RowWords, Vocabulary, count_vocabulary, remove_lowest
from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True)
class Cut:
    """Rule for removing rows that are only scored, derived from the cut-off among the other rows.

    Keys are scores ("greedy") or log scores plus Gumbel noise. Units with keys above `above` are removed. Of the units
    with keys from `lowest` to `above`, the share `rate` is removed. `rate`, in [0, 1], is the removed share of the
    pool's rows with keys in this range. Without ties and skipped groups, `above` is less than `lowest`, and every unit
    with a key of at least `lowest` is removed.
    """

    lowest: float
    above: float
    rate: float


@dataclass(frozen=True)
class Slice:
    """The rows that one iteration removes.

    `rows`: ascending row numbers. `passing`: number of rows that pass the threshold. `cutoff`: lowest score among the
    removed rows, or None if nothing is removed. `tied_at_cutoff`: number of rows with exactly the cut-off score.
    `reaches_target`: True if the target size is reached or prevented the removal of further rows. `runs_out`: True if
    too few rows could be removed to fill the slice. `cut`: the rule for removing rows that are only scored, or None if
    all only-scored rows are kept. `own_words`: int64, one entry per row of `rows`, or None unless rows are ranked by
    vocabulary. Each entry of `own_words` is the number of words that no other unit contained when the row's unit was
    removed.
    """

    rows: np.ndarray
    passing: int
    cutoff: float | None
    tied_at_cutoff: int
    reaches_target: bool
    runs_out: bool
    cut: Cut | None
    own_words: np.ndarray | None = None


NOTHING = Slice(np.empty(0, dtype=np.int64), 0, None, 0, reaches_target=False, runs_out=False, cut=None)
"""The empty slice of a pass that removes nothing and does not end the run."""


@dataclass(frozen=True)
class Candidates:
    """The rows of a pool, grouped into units. Rows that are removed together form a unit and have one score.

    `rows`: ascending row numbers. `units`: the unit of each row, from 0. `sizes`: number of rows per unit. `counted`:
    number of rows per unit that count towards the target size. `scores`: the share of correct predictions per unit,
    float64, NaN for a unit that was never held out. `label_probability`: the mean held-out probability of the rows' own
    labels per unit, float64, NaN for a unit that was never held out. `label_probability` is None if the classifier
    gives no probabilities. `classes`: the label of the first row of each unit, int64, or None if labels are not needed.
    """

    rows: np.ndarray
    units: np.ndarray
    sizes: np.ndarray
    counted: np.ndarray
    scores: np.ndarray
    label_probability: np.ndarray | None = None
    classes: np.ndarray | None = None


def candidates(
    rows: np.ndarray,
    groups: np.ndarray | None,
    tally: Tally,
    *,
    counted: np.ndarray,
    labels: np.ndarray | None = None,
) -> Candidates:
    """Return the candidates for removal. Each unit is a single row or, with `groups`, all rows of a group. `groups` has
    one entry per row in `rows`.

    The score of a group is its number of correct predictions divided by its number of predictions. Because the rows of
    a group are held out together, the score equals the mean predictability of the rows. The score is exact, because it
    is computed from counts. The label probability of a group is the mean over the group's held-out predictions.
    `counted`: bool per row of `rows`; `labels`: int64 per row of `rows`.
    """
    units = np.arange(len(rows)) if groups is None else np.unique(groups, return_inverse=True)[1]
    first = np.unique(units, return_index=True)[1]
    totals = np.bincount(units, tally.predictions[rows])
    scores = shares(np.bincount(units, tally.correct[rows]), totals)
    return Candidates(
        rows,
        units,
        np.bincount(units),
        np.bincount(units, counted).astype(np.int64),
        scores,
        _unit_probability(rows, units, tally),
        None if labels is None else labels[first],
    )


def _unit_probability(rows: np.ndarray, units: np.ndarray, tally: Tally) -> np.ndarray | None:
    if tally.label_probability is None:
        return None
    held_out = tally.held_out[rows]
    sums = np.bincount(units, np.where(held_out > 0, tally.label_probability[rows].astype(np.float64) * held_out, 0.0))
    totals = np.bincount(units, held_out)
    return np.divide(sums, totals, out=np.full(len(totals), np.nan), where=totals > 0)


def leaving_together(copies: np.ndarray | None, rows: np.ndarray, *, most: int) -> np.ndarray | None:
    """Return a number per row of `rows`. Exact copies have the same number, unless there are more than `most` copies.

    Return None if no row has a copy. `copies`: int64 per row of the input.
    """
    if copies is None:
        return None
    _, codes, sizes = np.unique(copies[rows], return_inverse=True, return_counts=True)
    together = (sizes[codes] > 1) & (sizes[codes] <= most)
    return np.where(together, codes, len(sizes) + np.arange(len(rows))) if together.any() else None


def words_of(among: Candidates, words: RowWords) -> Vocabulary:
    """Return the vocabulary of a pool. A unit of removal counts as one row that contains the words of all its rows."""
    return count_vocabulary(words, among.rows, among.units, len(among.sizes))


def choose_slice(
    among: Candidates,
    *,
    settings: FilterSettings,
    allowed: int,
    room: int,
    seed: int,
    iteration: int,
    vocabulary: Vocabulary | None = None,
) -> Slice:
    """Return the first units in the order of removal, with at most `allowed` rows and at most `room` counted rows.

    The selection "greedy" orders the units that pass the threshold by score. The selection "gumbel_over_threshold"
    orders the units that pass the threshold by log score plus Gumbel noise. The selection "gumbel" orders all scored
    units by log score plus noise, and removes nothing if no score reaches the threshold. Units with equal keys are in
    random order, which depends on (seed, iteration). With `ties` "label_probability", units with equal keys are first
    ordered by label probability. With `ranking` "label_probability", the units that pass the threshold are ordered by
    label probability. With `balance` "classes", `allowed` is divided among the classes in proportion to their rows, and
    `room` in proportion to their counted rows. A unit that is too large for the rest of the slice is skipped. With a
    `vocabulary` of the pool (`words_of`), the units that pass the threshold are removed in the order of
    `remove_lowest`. The slice then has no rule for rows that are only scored (`Slice.cut` is None).
    """
    passing = int(among.sizes[settings.passes(among.scores)].sum())
    keys = _keys(among, settings, generator(seed, Purpose.GUMBEL, iteration))
    ties = generator(seed, Purpose.TIES, iteration).permutation(len(keys))
    eligible = _eligible(among, settings, any_passes=passing > 0)
    if vocabulary is None:
        ordered = _in_order(among, settings, eligible, keys=keys, ties=ties)
        take = _by_class if settings.balance == "classes" else _as_many_as_fit
        going = take(among, ordered, allowed=allowed, room=room)
    else:
        going = _by_vocabulary(among, vocabulary, eligible, ties=ties, allowed=allowed, room=room)
    taken = np.zeros(len(keys), dtype=bool)
    taken[going.units] = True
    holds_others = vocabulary is None and settings.holds_others and min(allowed, room) > 0
    cut = None
    if holds_others and (passing or settings.selection != "gumbel"):
        cut = _cut(keys, among.sizes, eligible, taken)
    leaving = taken[among.units]
    own = None if going.own_words is None else going.own_words[among.units[leaving]]
    cutoff, tied = None, 0
    if len(going.units):
        cutoff = float(among.scores[taken].min())
        tied = int(among.sizes[_at_cutoff(among, settings, taken, cutoff)].sum())
    return Slice(among.rows[leaving], passing, cutoff, tied, going.reaches_target, going.runs_out, cut, own)


def rows_cut(among: Candidates, cut: Cut | None, *, settings: FilterSettings, seed: int, iteration: int) -> np.ndarray:
    """Among the rows that are only scored, return the rows that the rule `cut` removes. With Gumbel noise, noise is
    drawn for each unit.

    A unit is removed if the unit ranks before the last row of the pool's slice. At the cut-off, only-scored units are
    removed at random, at the same rate as the pool's units at the cut-off. Units that are only scored must also pass
    the threshold to be removed. If the slice contains every unit of the pool that passes the threshold, then every
    only-scored unit that passes the threshold is removed too.
    """
    if cut is None:
        return among.rows[:0]
    eligible = _eligible(among, settings, any_passes=True)  # or there were no cut
    keys = _keys(among, settings, generator(seed, Purpose.SCORED_GUMBEL, iteration))[eligible]
    goes = (keys > cut.above) & (keys >= cut.lowest)
    partly = np.flatnonzero((keys >= cut.lowest) & (keys <= cut.above))
    stream = generator(seed, Purpose.SCORED_CUT, iteration)
    order = stream.permutation(partly)
    sizes = among.sizes[eligible[order]]
    ends = np.cumsum(sizes)
    # The unit in which the share ends goes with the probability that makes the expected number of rows exact.
    goes[order] = ends - sizes * stream.random() < cut.rate * sizes.sum()
    chosen = np.zeros(len(among.sizes), dtype=bool)
    chosen[eligible[goes]] = True
    return among.rows[chosen[among.units]]


@dataclass(frozen=True)
class RemovedRows:
    """Positions of removed rows, int64, ascending. `rows` are positions in the argument `scores` of `remove_highest`,
    and `others` are positions in the argument `others`.
    """

    rows: np.ndarray
    others: np.ndarray


def remove_highest(
    scores: np.ndarray,
    n_rows: int,
    *,
    others: np.ndarray,
    seed: int,
    groups: np.ndarray | None = None,
    other_groups: np.ndarray | None = None,
) -> RemovedRows:
    """Return the `n_rows` rows with the highest scores, and the rows of `others` that the same rule removes.

    Among equal scores, rows are chosen at random. At the cut-off score, `others` are removed at the same rate as the
    rows. Scores lie in [0, 1]. Rows without a score (NaN) are removed last. If `groups` and `other_groups` are given
    (int64, one entry per score), the rows of a group are removed together, by the mean of their scores. A group that is
    too large for the rest of `n_rows` is not removed.
    """
    settings = FilterSettings(target_size=1, train_size=1, slice_size=max(n_rows, 1), threshold=0.0)
    among = _scored_units(np.nan_to_num(scores, nan=0.0), groups)
    beside = _scored_units(np.nan_to_num(others, nan=0.0), other_groups)
    chosen = choose_slice(among, settings=settings, allowed=n_rows, room=n_rows, seed=seed, iteration=0)
    return RemovedRows(chosen.rows, rows_cut(beside, chosen.cut, settings=settings, seed=seed, iteration=0))


def _scored_units(scores: np.ndarray, groups: np.ndarray | None) -> Candidates:
    rows = np.arange(len(scores))
    units = rows if groups is None else np.unique(groups, return_inverse=True)[1]
    sizes = np.bincount(units)
    return Candidates(rows, units, sizes, sizes, np.bincount(units, scores.astype(np.float64)) / sizes)


def _probability(among: Candidates) -> np.ndarray:
    if among.label_probability is None:
        raise InvalidInputError(
            '`ranking` or `ties` is "label_probability", but the classifier returned no probabilities; use a '
            "classifier that returns probabilities"
        )
    return among.label_probability


def shared_out(places: int, rows: np.ndarray) -> np.ndarray:
    """Divide `places` among the classes in proportion to their `rows`, as int64. Remaining places are given to the
    classes with the largest remainders. Among equal remainders, lower classes come first.
    """
    exact = places * rows / max(rows.sum(), 1)
    whole = np.floor(exact).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: places - int(whole.sum())]] += 1
    return whole


@dataclass(frozen=True)
class _Going:
    """Units that a slice removes. `reaches_target` is True if the target is reached or limits the slice, and `runs_out`
    is True if too few units are eligible to fill the slice.

    `own_words`: int64 per unit, as in `Slice`, or None if rows are not ranked by vocabulary.
    """

    units: np.ndarray
    reaches_target: bool
    runs_out: bool
    own_words: np.ndarray | None = None


def _in_order(
    among: Candidates, settings: FilterSettings, eligible: np.ndarray, *, keys: np.ndarray, ties: np.ndarray
) -> np.ndarray:
    """Return the `eligible` units in descending order of their keys. Units with equal keys are ordered by the setting
    `ties`.
    """
    before = (ties,) if settings.ties == "random" else (ties, -_probability(among))
    return eligible[np.lexsort((*(key[eligible] for key in before), -keys[eligible]))]


def _as_many_as_fit(among: Candidates, ordered: np.ndarray, *, allowed: int, room: int) -> _Going:
    """Choose the removed units from `ordered` for a slice that all classes share."""
    chosen, reaches_target = _fitting(among, ordered, allowed=allowed, room=room)
    return _Going(ordered[chosen], reaches_target, _runs_out(among, ordered[chosen], ordered, allowed))


def _by_vocabulary(
    among: Candidates, vocabulary: Vocabulary, eligible: np.ndarray, *, ties: np.ndarray, allowed: int, room: int
) -> _Going:
    """Choose the removed units from `eligible`. Units with the fewest own words are removed first."""
    lowest = remove_lowest(
        vocabulary, eligible, ties=ties, sizes=among.sizes, counted=among.counted, allowed=allowed, room=room
    )
    return _Going(lowest.units, lowest.bound, _runs_out(among, lowest.units, eligible, allowed), lowest.own_words)


def _runs_out(among: Candidates, going: np.ndarray, eligible: np.ndarray, allowed: int) -> bool:
    return len(going) == len(eligible) and int(among.sizes[going].sum()) < allowed


def _by_class(among: Candidates, ordered: np.ndarray, *, allowed: int, room: int) -> _Going:
    """Choose the removed units from `ordered`. Each class has a separate part of the slice.

    If the target limits the slice, the number of rows above the target is also divided among the classes. If a class
    uses less than its part, the next units in the order are removed instead, regardless of their class.
    """
    if among.classes is None:
        raise InvalidInputError(
            '`balance` is "classes", but the classes of the rows are not known; give `labels` to `candidates`'
        )
    codes = np.unique(among.classes, return_inverse=True)[1]
    places = shared_out(allowed, np.bincount(codes, among.sizes))
    taken = np.zeros(len(codes), dtype=bool)
    for code, most in enumerate(places):
        of_class = ordered[codes[ordered] == code]
        taken[of_class[fill_in_order(among.sizes[of_class], int(most))]] = True
    whole = ordered[taken[ordered]]
    with_places = ordered[places[codes[ordered]] > 0]
    runs_out = not len(whole) or (bool(taken[with_places].all()) and int(among.sizes[whole].sum()) < allowed)
    counted = int(among.counted[whole].sum())
    if counted <= room:
        return _Going(whole, counted == room, runs_out)
    cut = _cut_by_class(among, whole, codes, room=room)
    return _Going(cut, True, runs_out=False)


def _cut_by_class(among: Candidates, whole: np.ndarray, codes: np.ndarray, *, room: int) -> np.ndarray:
    """Return the units of a slice that are removed if only `room` counted rows are left above the target."""
    taken = np.zeros(len(codes), dtype=bool)
    for code, most in enumerate(shared_out(room, np.bincount(codes, among.counted))):
        of_class = whole[codes[whole] == code]
        taken[of_class[_fitting(among, of_class, allowed=len(among.rows), room=int(most))[0]]] = True
    rest = whole[~taken[whole]]
    left = room - int(among.counted[taken].sum())
    taken[rest[_fitting(among, rest, allowed=len(among.rows), room=left)[0]]] = True
    return np.flatnonzero(taken)


def _at_cutoff(among: Candidates, settings: FilterSettings, taken: np.ndarray, cutoff: float) -> np.ndarray:
    """Return a bool mask of the units with the same rank as the last removed unit, before ties are broken at random."""
    if not settings.uses_label_probability:
        return np.asarray(among.scores == cutoff)
    probability = _probability(among)
    if settings.ranking == "label_probability":
        return np.asarray(probability == probability[taken].min())
    last = probability[taken & (among.scores == cutoff)].min()
    return np.asarray((among.scores == cutoff) & (probability == last))


def _keys(among: Candidates, settings: FilterSettings, stream: np.random.Generator) -> np.ndarray:
    if settings.ranking == "label_probability":
        return _probability(among)
    if settings.selection == "greedy":
        return among.scores
    with np.errstate(divide="ignore"):  # a score of 0 has weight 0: it comes after all others
        return np.asarray(np.log(among.scores) + stream.gumbel(size=len(among.scores)))


def _eligible(among: Candidates, settings: FilterSettings, *, any_passes: bool) -> np.ndarray:
    """Return the units that may be removed: the units that pass the threshold. With "gumbel", return all scored units
    if at least one score reaches the threshold.
    """
    if settings.selection == "gumbel":
        return np.flatnonzero(~np.isnan(among.scores)) if any_passes else np.empty(0, dtype=np.int64)
    return np.flatnonzero(settings.passes(among.scores))


def _fitting(among: Candidates, ordered: np.ndarray, *, allowed: int, room: int) -> tuple[np.ndarray, bool]:
    """Return the positions of the removed units in `ordered`, and True if the target is reached or prevented a
    removal.
    """
    sizes, counted = among.sizes[ordered], among.counted[ordered]
    # Once the target is reached, rows that it does not count stay, as those of their rank that it does count.
    reached = int(np.searchsorted(np.cumsum(counted), room))
    near = np.flatnonzero((counted > 0) | (np.arange(len(ordered)) < reached))
    taken = near[fill_in_order(np.column_stack([sizes[near], counted[near]]), (allowed, room))]
    unbound = np.flatnonzero(fill_in_order(sizes, allowed))
    return taken, int(counted[taken].sum()) == room or not np.array_equal(taken, unbound)


def _cut(keys: np.ndarray, sizes: np.ndarray, eligible: np.ndarray, taken: np.ndarray) -> Cut | None:
    missed = eligible[~taken[eligible]]
    if not len(missed):
        return Cut(lowest=-np.inf, above=-np.inf, rate=1.0)
    if not taken.any():
        return None
    lowest, above = float(keys[taken].min()), float(keys[missed].max())
    band = eligible[(keys[eligible] >= lowest) & (keys[eligible] <= above)]
    rows = sizes[band].sum()
    return Cut(lowest, above, float(sizes[band[taken[band]]].sum() / rows) if rows else 1.0)
