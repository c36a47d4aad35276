"""What the numbers say, as plain sentences computed from the tables, with what they do not say."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from aflite_assets.reports.accuracy import DifferenceInterval, Score, newcombe_interval
from aflite_assets.reports.cautions import ONE_ANSWER, SMALL_TEST_SET, cautions
from aflite_assets.reports.meaning import headline_split, meaning
from aflite_assets.reports.paired import PairedDifference, paired_differences
from aflite_assets.reports.planted import planted_sentence
from aflite_assets.reports.records import BenchmarkData, FilteredSet
from aflite_assets.reports.tables import FilterRow, MainRow, TestColumns, filter_table, main_table, points
from aflite_assets.reports.text import count, listed, one_line, percent, signed_points, truncated
from aflite_assets.reports.wording import interval_points, paired_text, stop_text


@dataclass(frozen=True)
class Headline:
    """The comparison of one evaluator on one natural test set; drops are in points, None where undefined.

    `full`: trained and tested on full. `random`: trained on random, tested on full. `filtered`: trained and
    tested on filtered. `drop_random` and `drop_filtered` are both measured from `full`. `gap`: random minus filtered,
    with an interval as if the test rows of the two were different ones, though the filtered rows are among the full.
    """

    representation: str
    evaluator: str
    test_set: str
    full: Score
    random: Score
    filtered: Score
    drop_random: float | None
    drop_filtered: float | None
    gap: DifferenceInterval | None


def headlines(data: BenchmarkData, representation: str) -> tuple[Headline, ...]:
    """One comparison per evaluator, on the natural test set "test", else "validation", else the first.

    Empty when no natural test set was filtered.
    """
    table = main_table(data, representation)
    return tuple(
        headline
        for evaluator in data.plain_evaluators
        if (headline := _headline([row for row in table if row.evaluator == evaluator], representation))
    )


def plain_summary(data: BenchmarkData) -> tuple[str, ...]:
    """What the numbers say and then what to mind: `findings` and `cautions`."""
    return findings(data) + cautions(data)


def findings(data: BenchmarkData) -> tuple[str, ...]:
    """Sentences per representation: the filtering, planted rows, evaluators before and after, pairs, the meaning."""
    sentences: list[str] = []
    for filtered in data.filtered:
        sentences.append(filtering_sentence(filtered))
        sentences += [planted_sentence(one) for one in data.planted if one.representation == filtered.representation]
        sentences += [headline_sentence(headline) for headline in headlines(data, filtered.representation)]
        sentences += _paired_sentences(data, filtered.representation)
        paragraph = meaning(data, filtered.representation)
        sentences += [] if paragraph is None else [paragraph]
    return tuple(sentences)


def _paired_sentences(data: BenchmarkData, representation: str) -> list[str]:
    """A sentence per evaluator about the natural test set of the headlines and every challenge set."""
    natural = headline_split([one.name for one in data.test_sets if not one.challenge])
    found = [
        one
        for one in paired_differences(data, representation)
        if one.train_set == "filtered" and (one.test_set == natural or one.tested_on == "all")
    ]
    by_evaluator = ([one for one in found if one.evaluator == name] for name in data.plain_evaluators)
    return [text for pairs in by_evaluator if (text := paired_sentence(pairs))]


def filtering_sentence(filtered: FilteredSet) -> str:
    """How much was kept, why filtering stopped, and what became of representation bias."""
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    kept, rows = int(pc.sum(train["kept"]).as_py() or 0), train.num_rows
    share = f" ({percent(kept / rows)} %)" if rows else ""
    text = (
        f"Filtering with representation {filtered.representation} kept {count(kept)} of {count(rows)} train rows{share}"
    )
    table = filter_table(filtered)
    text += f" and stopped because {stop_text(filtered.stop_reason)}."
    return f"{text} {_bias_sentence(table, chance_by_iteration(filtered))}" if table else text


def _bias_sentence(table: Sequence[FilterRow], chance: Sequence[float]) -> str:
    first, last = table[0].representation_bias, table[-1].representation_bias
    verb = "fell" if last < first else "rose" if last > first else "stayed"
    return (
        f"Over {len(table)} passes representation bias {verb} from {percent(first)} % to {percent(last)} %; "
        f"the most frequent class makes up {percent(chance[-1])} % of the train rows left."
    )


def chance_by_iteration(filtered: FilteredSet) -> tuple[float, ...]:
    """Share in [0, 1] of the most frequent class among the train rows that entered each iteration."""
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    labels = train["label"].to_numpy()
    removed_in = pc.fill_null(train["removed_in_iteration"], np.iinfo(np.int64).max).to_numpy()
    pools = [labels[removed_in >= row.iteration] for row in filter_table(filtered)]
    return tuple(float(np.bincount(pool).max() / len(pool)) if len(pool) else 0.0 for pool in pools)


def headline_sentence(headline: Headline) -> str:
    """The comparison in words, with the share that fewer rows alone account for, or why there is none."""
    where = f"{headline.evaluator} on {headline.test_set}"
    full, random, filtered = headline.full.accuracy, headline.random.accuracy, headline.filtered.accuracy
    missing = [name for name in ("full", "random", "filtered") if getattr(headline, name).accuracy is None]
    if full is None or filtered is None or headline.drop_filtered is None:
        return f"{where}: nothing to compare yet, because there is no result for {listed(missing)}."
    text = (
        f"{where}: trained and tested on full it is right on {percent(full.mean)} % of the rows; trained and "
        f"tested on filtered it {_change(headline.drop_filtered)}, to {percent(filtered.mean)} %."
    )
    if random is None or headline.drop_random is None:
        return f"{text} Without a result for random it is open how much of this comes from having fewer train rows."
    text += f" Trained on as many rows drawn at random and tested on full it {_change(headline.drop_random)}"
    if headline.gap is not None and headline.gap.holds_zero:
        low, high = signed_points(headline.gap.low), signed_points(headline.gap.high)
        return (
            f"{text}; random less filtered is {signed_points(headline.gap.difference)} points, 95 % about "
            f"[{low}, {high}], which holds zero, so these numbers cannot tell filtering from losing rows at random."
        )
    return f"{text}, so {_verdict(headline.drop_filtered, headline.drop_random)}."


def _verdict(drop_filtered: float, drop_random: float) -> str:
    if drop_filtered <= drop_random:
        return "filtering did not make the dataset harder for it than losing rows at random did"
    rest = signed_points(drop_filtered - drop_random)
    if drop_random <= 0:
        return f"having fewer train rows explains none of the fall; the gap to random is {rest} points"
    return (
        f"having fewer train rows accounts for about {signed_points(drop_random)} points; the other {rest} "
        "come with which rows were kept, in training and in testing"
    )


def _change(drop: float) -> str:
    if round(drop, 1) == 0:
        return "does not change"
    return f"{'falls' if drop > 0 else 'rises'} by {signed_points(abs(drop))} points"


def _headline(rows: Sequence[MainRow], representation: str) -> Headline | None:
    tests = {row.train_set: {test.test_set: test for test in row.tests} for row in rows}
    names = [name for name, test in tests["full"].items() if test.filtered is not None]
    name = headline_split(names)
    if name is None:
        return None
    full, random, filtered = (tests[train_set][name] for train_set in ("full", "random", "filtered"))
    return _compared(rows[0].evaluator, representation, full, random, filtered)


def _compared(
    evaluator: str, representation: str, full: TestColumns, random: TestColumns, filtered: TestColumns
) -> Headline | None:
    after = filtered.filtered
    if after is None:
        return None
    gap = None
    if random.full.accuracy is not None and after.accuracy is not None:
        gap = newcombe_interval(random.full.accuracy, after.accuracy)
    drops = points(full.full, random.full), points(full.full, after)
    return Headline(representation, evaluator, full.test_set, full.full, random.full, after, *drops, gap)


def paired_sentence(differences: Sequence[PairedDifference]) -> str | None:
    """One evaluator's differences between filtered and random in words; None where no pair has a result.

    Of the parts of challenge sets only gold labels are spoken of, where they go in opposite directions.
    """
    said = [text for one in differences if one.whole and (text := _paired_text(one, differences))]
    if not said:
        return None
    return (
        f"{differences[0].evaluator}, trained on filtered against as many random rows, both tested on the same rows: "
        f"{'; '.join(said)}."
    )


def _paired_text(one: PairedDifference, differences: Sequence[PairedDifference]) -> str | None:
    if one.interval is None:
        return None
    labels = [part for part in differences if part.test_set == one.test_set and part.is_label]
    sides = [part for part in labels if part.verdict in ("above", "below")]
    if len({part.verdict for part in sides}) == 2:
        apart = [f"{paired_text(part.interval)} on {_label(part)}" for part in sides if part.interval is not None]
        return (
            f"in opposite directions on the gold labels of {one.test_set}, {listed(apart)} (all its rows: "
            f"{interval_points(one.interval)})"
        )
    rows = f"the filtered rows of {one.test_set}" if one.tested_on == "filtered" else one.test_set
    return f"{paired_text(one.interval)} on {rows}"


def _label(part: PairedDifference) -> str:
    return truncated(one_line(part.label or ""), 60)


__all__ = [
    "ONE_ANSWER",
    "SMALL_TEST_SET",
    "Headline",
    "cautions",
    "chance_by_iteration",
    "filtering_sentence",
    "findings",
    "headline_sentence",
    "headlines",
    "paired_sentence",
    "plain_summary",
]
