"""What the numbers say, as plain sentences computed from the tables, with what they do not say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from aflite_assets.reports.accuracy import Score
from aflite_assets.reports.records import BenchmarkData, FilteredSet
from aflite_assets.reports.tables import (
    ChallengeRow,
    FilterRow,
    MainRow,
    TestColumns,
    challenge_table,
    filter_table,
    main_table,
    points,
)
from aflite_assets.reports.text import count, listed, percent, signed_points
from aflite_assets.reports.wording import interval_text, stop_text

ONE_ANSWER = 0.95
"""A model that gives one class to this share of a test set is named in the cautions."""

SMALL_TEST_SET = 300
"""Test sets with fewer rows are named in the summary: their 95 % interval is over 5 points to either side."""

_HEADLINE_SPLITS = ("test", "validation")


@dataclass(frozen=True)
class Headline:
    """The comparison of one evaluator on one natural test set; drops are in points, None where undefined.

    `full`: trained and tested on full. `random`: trained on random, tested on full. `filtered`: trained and
    tested on filtered. `drop_random` and `drop_filtered` are both measured from `full`.
    """

    representation: str
    evaluator: str
    test_set: str
    full: Score
    random: Score
    filtered: Score
    drop_random: float | None
    drop_filtered: float | None
    intervals_overlap: bool | None


def headlines(data: BenchmarkData, representation: str) -> tuple[Headline, ...]:
    """One comparison per evaluator, on the natural test set "test", else "validation", else the first.

    Empty when no natural test set was filtered.
    """
    table = main_table(data, representation)
    return tuple(
        headline
        for evaluator in data.evaluators
        if (headline := _headline([row for row in table if row.evaluator == evaluator], representation))
    )


def plain_summary(data: BenchmarkData) -> tuple[str, ...]:
    """What the numbers say and then what to mind: `findings` and `cautions`."""
    return findings(data) + cautions(data)


def findings(data: BenchmarkData) -> tuple[str, ...]:
    """Sentences per representation: the filtering, each evaluator before and after, the challenge sets."""
    sentences: list[str] = []
    for filtered in data.filtered:
        sentences.append(filtering_sentence(filtered))
        sentences += [headline_sentence(headline) for headline in headlines(data, filtered.representation)]
        challenge = challenge_table(data, filtered.representation)
        sentences += [s for name in data.evaluators if (s := _challenge_sentence(name, challenge))]
    return tuple(sentences)


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
    if headline.intervals_overlap:
        return (
            f"{text}; the two 95 % intervals ({interval_text(filtered.interval)} and "
            f"{interval_text(random.interval)}) overlap, "
            "so these numbers cannot tell filtering from losing rows at random."
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
    if not names:
        return None
    name = next((name for name in _HEADLINE_SPLITS if name in names), names[0])
    full, random, filtered = (tests[train_set][name] for train_set in ("full", "random", "filtered"))
    return _compared(rows[0].evaluator, representation, full, random, filtered)


def _compared(
    evaluator: str, representation: str, full: TestColumns, random: TestColumns, filtered: TestColumns
) -> Headline | None:
    after = filtered.filtered
    if after is None:
        return None
    overlap = None
    if random.full.accuracy is not None and after.accuracy is not None:
        overlap = random.full.accuracy.interval.overlaps(after.accuracy.interval)
    drops = points(full.full, random.full), points(full.full, after)
    return Headline(representation, evaluator, full.test_set, full.full, random.full, after, *drops, overlap)


def _challenge_sentence(evaluator: str, rows: Sequence[ChallengeRow]) -> str | None:
    scores = {(row.test_set, row.train_set): row.overall for row in rows if row.evaluator == evaluator}
    gains = [
        text
        for name in dict.fromkeys(row.test_set for row in rows)
        if (text := _gain(name, scores[name, "random"], scores[name, "filtered"]))
    ]
    if not gains:
        return None
    return f"{evaluator} on challenge sets, trained on filtered against as many random rows: {'; '.join(gains)}."


def _gain(test_set: str, random: Score, filtered: Score) -> str | None:
    difference = points(filtered, random)
    if difference is None or random.accuracy is None or filtered.accuracy is None:
        return None
    unsure = ", intervals overlap" if random.accuracy.interval.overlaps(filtered.accuracy.interval) else ""
    sign = "+" if round(difference, 1) > 0 else ""
    return (
        f"{test_set} {sign}{signed_points(difference)} points "
        f"({percent(random.accuracy.mean)} to {percent(filtered.accuracy.mean)} %{unsure})"
    )


def cautions(data: BenchmarkData) -> tuple[str, ...]:
    """What these numbers do not say: effects built in, single seeds, small or missing sets, unfinished cells."""
    compared = [headline for name in data.representations for headline in headlines(data, name)]
    said = []
    if compared:
        said.append(
            "Filtered test rows were kept because a linear classifier could not predict them, so part of a fall on "
            "them is built in; what filtering does to training shows within one column, where the test rows stay."
        )
    collapsed = _one_answer_cells(data)
    if collapsed:
        said.append(
            f"These models give one class to at least {round(100 * ONE_ANSWER)} % of a test set, so their accuracy is "
            f"that class's share and says that they learnt little: {listed(collapsed)}."
        )
    single = _single_seed_evaluators(data)
    if single:
        said.append(f"One seed only, so how much the numbers move with the seed is unknown: {listed(single)}.")
    small = _small_test_sets(data)
    if small:
        said.append(f"Under {SMALL_TEST_SET} test rows, so wide intervals: {listed(small)}.")
    if data.missing_sets:
        said.append(f"Challenge sets not available and so not tested on: {listed(list(data.missing_sets))}.")
    unfinished = sum(cell.status != "done" for cell in data.cells)
    if unfinished:
        said.append(f"{unfinished} of {len(data.cells)} cells have no result; the tables say which and why.")
    return tuple(said)


def _one_answer_cells(data: BenchmarkData) -> list[str]:
    """Evaluators and train sets with a seed that answers a natural test set of several classes with one class."""
    mixed = {one.name for one in data.test_sets if not one.challenge and len(np.unique(one.labels)) > 1}
    found = []
    for cell in data.cells:
        if (table := cell.predictions) is None:
            continue
        for name in sorted(mixed):
            answers = table.filter(pc.equal(table["test_set"], name))["predicted"].to_numpy()
            if len(answers) and np.bincount(answers).max() >= ONE_ANSWER * len(answers):
                found.append(" ".join([cell.evaluator, "trained on", cell.train_set, *_of(cell.representation)]))
    return list(dict.fromkeys(found))


def _of(representation: str | None) -> list[str]:
    return [] if representation is None else [f"({representation})"]


def _single_seed_evaluators(data: BenchmarkData) -> list[str]:
    seeds = Counter(
        (cell.evaluator, cell.train_set, cell.representation) for cell in data.cells if cell.status == "done"
    )
    return [name for name in data.evaluators if any(n == 1 for key, n in seeds.items() if key[0] == name)]


def _small_test_sets(data: BenchmarkData) -> list[str]:
    sizes = [(test_set.name, len(test_set.row_ids)) for test_set in data.test_sets]
    for test_set in data.test_sets:
        for representation, kept in test_set.kept.items():
            sizes.append((f"{test_set.name} filtered with {representation}", int(kept.sum())))
    return [f"{name} ({count(rows)})" for name, rows in sizes if rows < SMALL_TEST_SET]
