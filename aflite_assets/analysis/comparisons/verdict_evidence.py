"""The verdict on one filtering, from a report's records: gathers what the rules of `scores.dataset_verdict` need."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.comparisons.paired import PairedDifference, paired_differences
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet, TestSet, Unit
from aflite_assets.analysis.intervals import contrast_interval, holm
from aflite_assets.analysis.rules.bias_excess import BiasExcess, bias_excess
from aflite_assets.analysis.rules.dataset_verdict import Comparison, DatasetVerdict, VerdictEvidence, dataset_verdict
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.groups import control, headline_split
from aflite_assets.analysis.scores.judges import judging


def dataset_verdict_on(data: BenchmarkData, filtered: FilteredSet) -> DatasetVerdict:
    """Return the verdict on the dataset as filtered once.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    comparisons, primary = _comparisons(data, filtered.representation)
    cues = tuple(cue for cue in data.cues.get(filtered.representation, ()) if cue.counts and cue.shown)
    return dataset_verdict(VerdictEvidence(starting_excess(filtered), cues, comparisons, primary))


def starting_excess(filtered: FilteredSet) -> BiasExcess | None:
    """How far the pool's first bias lay over that of shuffled labels; None where the result does not say."""
    if filtered.chance is None or filtered.first_scores is None:
        return None
    pool = filtered.rows.filter(pa.array(filtered.pool))
    places = pc.index_in(pool["row_id"], value_set=filtered.first_scores["row_id"].combine_chunks())
    scored = pc.is_valid(places)
    pool = pool.filter(scored)
    if not pool.num_rows:
        return None
    scores = filtered.first_scores["predictability"].take(places.filter(scored)).to_numpy()
    groups = pool["group"].to_numpy() if "group" in pool.column_names else None
    return bias_excess(scores, pool["label"].to_numpy(), filtered.chance, groups)


def _comparisons(data: BenchmarkData, representation: str) -> tuple[tuple[Comparison, ...], Comparison | None]:
    """Filtered against its control on the whole sets outside the pool, of models trained on a train set alone."""
    against = control(data, representation)
    pooled = {one.name for one in data.test_sets if one.pooled}
    units = {one.name: one.unit for one in data.test_sets}
    differences = [
        one
        for one in paired_differences(data, representation)
        if (one.train_set, one.against) == ("filtered", against)
        and one.whole
        and one.tested_on in ("full", "all")
        and one.evaluator in data.plain_evaluators
        and one.test_set not in pooled
    ]
    able = judging(data).judges
    contrasts = {
        place: contrast
        for place, one in enumerate(differences)
        if one.tested_on == "all"
        and one.evaluator in able
        and (contrast := _beyond_natural(data, representation, one)) is not None
    }
    adjusted = dict(zip(contrasts, holm([p_value for _, p_value in contrasts.values()]), strict=True))
    comparisons = [
        replace(
            _comparison(one, units[one.test_set]),
            beyond_natural=(contrasts[place][0], adjusted[place]) if place in contrasts else None,
            may_judge=one.evaluator in able,
        )
        for place, one in enumerate(differences)
    ]
    primary = next((one for one, of in zip(comparisons, differences, strict=True) if of.primary), None)
    return tuple(comparisons), primary


def _comparison(one: PairedDifference, unit: Unit) -> Comparison:
    interval, by_label = one.interval, one.label_mean
    return Comparison(
        one.evaluator,
        one.test_set,
        one.tested_on == "all",
        None if interval is None else interval.difference,
        one.verdict,
        one.test_rows,
        0.0 if interval is None else interval.effective_groups,
        min(one.filtered_seeds, one.random_seeds),
        unit=unit,
        label_mean=None if by_label is None else (by_label.difference, by_label.low, by_label.high),
    )


def _beyond_natural(data: BenchmarkData, representation: str, one: PairedDifference) -> tuple[float, float] | None:
    """How many points more filtered is over its control on a challenge set than on the dataset's own test rows.

    Those are rows outside the pool where there are any, since a challenge set is outside it too.
    """
    natural = [test for test in data.test_sets if not test.challenge]
    name = headline_split([test.name for test in natural if not test.pooled] or [test.name for test in natural])
    if name is None:
        return None
    here, there = (next(test for test in data.test_sets if test.name == each) for each in (one.test_set, name))
    sides = []
    for train_set in (one.train_set, one.against):
        each = [trained_right(data, one.evaluator, train_set, representation, test) for test in (here, there)]
        if not each[0] or len(each[0]) != len(each[1]):
            return None
        sides.append([np.concatenate(pair) for pair in zip(*each, strict=True)])
    codes = [_codes(here), _codes(there)]
    if min(len(np.unique(some)) for some in codes) < 2:
        return None
    groups = np.concatenate([codes[0], codes[1] + 1 + codes[0].max()])
    interval = contrast_interval(sides[0], sides[1], groups, here_rows=len(here.row_ids))
    return interval.difference, interval.p_value


def _codes(test_set: TestSet) -> np.ndarray:
    rows = len(test_set.row_ids)
    return np.arange(rows) if test_set.groups is None else np.unique(test_set.groups, return_inverse=True)[1]
