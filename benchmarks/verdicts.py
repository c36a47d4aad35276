"""How often the dataset's verdict says a shortcut where none is, and finds one that was planted.

    python benchmarks/verdicts.py [--draws 1000] [--seed 0] [--processes 1] [--output verdicts.json]

Every draw makes a dataset of 2,000 train rows, filters it (AFLite with logistic regression, down to one half, or to the
rows without a cue), scores permuted labels, trains logistic regression on the filtered rows and on three
random sets of the same class sizes, tests them on 1,000 rows outside the pool and on a challenge set of 1,000, tests 40
marks of the rows, and asks for the verdict, all by the code that a report runs. Cases (the parameter grid):

without a shortcut      random labels, also with classes of 70, 20 and 10 % and with groups of four rows that share
                        their noise; a clean task, also with 15 % wrong labels, such classes, and such groups; a
                        clean task whose challenge set is of another kind (weaker, shifted)
with one                a cue on 30, 50 or 70 % of the rows that names the label (94 % rightly), its mark seen as a word
                        among noise; the same with 50 and 70 % and no mark seen, so that only the challenge set can tell
lengths of texts        of 5 to 29 words: of any length, where longer texts are easier (no shortcut); and on 40 or 60 %
                        of the rows long for one class and short for the other, so that the length is the cue: of the
                        second of two texts, and of the only one, where it is a hint and only the challenge set can tell

On the challenge set the cue misleads. Printed: the share of each code per case. Goals: a shortcut is said in at most
7 % of the draws without one, and in at least 88 % of those with a mark that is seen.
"""

import argparse
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
from scipy.sparse import csc_array
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from aflite_assets.algorithm import FilterSettings, filter_dataset, score_permuted
from aflite_assets.analysis.inputs.cues import Cue, read_cues
from aflite_assets.analysis.intervals import contrast_interval, crossed_interval, holm, label_mean_interval
from aflite_assets.analysis.rules.bias_excess import bias_excess
from aflite_assets.analysis.rules.dataset_verdict import Comparison, VerdictEvidence, dataset_verdict
from aflite_assets.analysis.rules.verdicts import Claim, judge
from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.cues import enrichment, label_ties, removal_cues

TRAIN, TEST, WIDTH, MARKS, SEEDS = 2_000, 1_000, 12, 40, 3
PARTITIONS, PASSES = 16, 20
MOST_FALSE, LEAST_FOUND = 0.07, 0.88


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one split: features, labels, marks (bool, rows x marks), groups or None, words per text or None."""

    features: np.ndarray
    labels: np.ndarray
    marks: np.ndarray
    groups: np.ndarray | None
    words: np.ndarray | None = None


@dataclass(frozen=True)
class Case:
    """How rows are drawn: how far classes lie apart, their shares, wrong labels, groups, and the cue."""

    name: str
    apart: float = 1.2
    shares: tuple[float, ...] = (0.5, 0.5)
    wrong: float = 0.0
    group_size: int = 1
    cue: float = 0.0
    marked: bool = True
    shifted: bool = False
    texts: bool = False
    pair: bool = False
    long: float = 0.0

    @property
    def planted(self) -> bool:
        """Whether there is a shortcut to find."""
        return self.cue > 0 or self.long > 0


CASES = (
    Case("random labels", apart=0.0),
    Case("random labels, classes of 70, 20 and 10 %", apart=0.0, shares=(0.7, 0.2, 0.1)),
    Case("random labels, groups of four", apart=0.0, group_size=4),
    Case("clean task"),
    Case("clean task, 15 % wrong labels", wrong=0.15),
    Case("clean task, classes of 70, 20 and 10 %", shares=(0.7, 0.2, 0.1)),
    Case("clean task, groups of four", group_size=4),
    Case("clean task, another kind of challenge set", shifted=True),
    Case("cue on 30 %, seen", apart=0.6, cue=0.3),
    Case("cue on 50 %, seen", apart=0.6, cue=0.5),
    Case("cue on 70 %, seen", apart=0.6, cue=0.7),
    Case("cue on 50 %, not seen", apart=0.6, cue=0.5, marked=False),
    Case("cue on 70 %, not seen", apart=0.6, cue=0.7, marked=False),
    Case("clean task, texts of any length", texts=True),
    Case("length of the second text follows the class on 40 %", apart=0.6, texts=True, pair=True, long=0.4),
    Case("length of the second text follows the class on 60 %", apart=0.6, texts=True, pair=True, long=0.6),
    Case("length of the only text follows the class on 40 %", apart=0.6, texts=True, long=0.4, marked=False),
    Case("length of the only text follows the class on 60 %", apart=0.6, texts=True, long=0.6, marked=False),
)


def draw_rows(case: Case, rows: int, rng: np.random.Generator, *, misleading: bool = False) -> Rows:
    """Gaussian classes, and a column that names the class where a cue is present."""
    classes = len(case.shares)
    labels = rng.choice(classes, rows, p=case.shares)
    groups = np.arange(rows) // case.group_size if case.group_size > 1 else None
    centres = np.zeros((classes, WIDTH))
    centres[np.arange(classes), np.arange(classes)] = case.apart
    if case.shifted and misleading:
        centres = 0.6 * centres + 0.5
    noise = rng.normal(size=(rows, WIDTH))
    if groups is not None:
        noise = 0.7 * noise + 0.7 * rng.normal(size=(int(groups.max()) + 1, WIDTH))[groups]
    features = centres[labels] + noise
    marks = rng.random((rows, MARKS)) < 0.1
    words = None
    if case.texts:
        words = draw_words(case, labels, rng, misleading=misleading)
        features = (centres[labels] if case.long else centres[labels] * words[:, None] / 17) + noise
        features = np.column_stack([features, (words - 17) / 4])
    if case.cue > 0:
        present = rng.random(rows) < case.cue
        right = rng.random(rows) < (0.0 if misleading else 0.94)
        named = np.where(right, labels, (labels + rng.integers(1, classes, rows)) % classes)
        features = np.column_stack([features, *(4.0 * (present & (named == one)) for one in range(classes))])
        if case.marked:
            marks[:, :classes] = present[:, None] & (named[:, None] == np.arange(classes))
    given = labels.copy()
    wrong = rng.random(rows) < case.wrong
    given[wrong] = (labels[wrong] + rng.integers(1, classes, int(wrong.sum()))) % classes
    return Rows(features.astype(np.float32), given, marks, groups, words)


def draw_words(case: Case, labels: np.ndarray, rng: np.random.Generator, *, misleading: bool) -> np.ndarray:
    """From 5 to 29; where the length is told, 18 or more of one class and fewer of the other."""
    words = rng.integers(5, 30, len(labels))
    told = rng.random(len(labels)) < case.long
    long = (labels == 1) != misleading
    words[told] = np.where(long[told], rng.integers(18, 30, int(told.sum())), rng.integers(5, 18, int(told.sum())))
    return words


def verdict_code(case: Case, seed: int) -> str:
    """One draw from rows to the verdict's code."""
    rng = np.random.default_rng(seed)
    train, holdout = draw_rows(case, TRAIN, rng), draw_rows(case, TEST, rng)
    challenge = draw_rows(case, TEST, rng, misleading=True)
    target = round(TRAIN * max(0.25, 1 - max(case.cue, case.long))) if case.planted else TRAIN // 2
    settings = FilterSettings(
        target_size=target, train_size=TRAIN // 10, slice_size=TRAIN // 10, n_partitions=PARTITIONS
    )
    first: list[np.ndarray] = []
    result = filter_dataset(
        train.features,
        train.labels,
        settings=settings,
        seed=seed,
        groups=train.groups,
        on_iteration=lambda _, state: first.append(state.predictability) if not first else None,
    )
    chance = score_permuted(
        train.features, train.labels, settings=settings, seed=seed, groups=train.groups, passes=PASSES
    )
    excess = bias_excess(first[0], train.labels, chance, train.groups)
    kept = np.zeros(TRAIN, dtype=bool)
    kept[result.kept_rows] = True
    compared = _comparison(train, kept, {"holdout": holdout, "challenge": challenge}, rng)
    return dataset_verdict(VerdictEvidence(excess, _cues(train, ~kept, pair=case.pair), (compared,))).code


def _comparison(train: Rows, kept: np.ndarray, tests: dict[str, Rows], rng: np.random.Generator) -> Comparison:
    """The challenge set, which was constructed, by the evaluator that may judge."""
    sizes = np.bincount(train.labels[kept], minlength=int(train.labels.max()) + 1)
    filtered = _fit(train, kept)
    matched = [_fit(train, _matched(train.labels, sizes, rng)) for _ in range(SEEDS)]
    sets = [tests["challenge"], tests["holdout"]]
    first, second = ([_right(models, rows) for rows in sets] for models in ([filtered] * SEEDS, matched))
    here, groups = tests["challenge"], [rows.groups for rows in sets]
    interval = crossed_interval(first[0], second[0], here.groups)
    by_label = label_mean_interval(first[0], second[0], here.labels, here.groups)
    beyond = contrast_interval(first, second, groups)
    (verdict,) = judge([Claim(interval, TEST, "deciding", label_mean=by_label, contrast=beyond)], smallest_effect=1.0)
    numbers = by_label.difference, by_label.low, by_label.high
    contrast = (beyond.difference, beyond.p_value)
    return Comparison("linear", "challenge", *numbers, verdict, TEST, interval.effective_groups, SEEDS, contrast)


def _right(models: list[LogisticRegression], rows: Rows) -> list[np.ndarray]:
    return [model.predict(rows.features) == rows.labels for model in models]


def _fit(train: Rows, chosen: np.ndarray) -> LogisticRegression:
    return LogisticRegression(max_iter=300).fit(train.features[chosen], train.labels[chosen])


def _matched(labels: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many random rows of each class, bool."""
    chosen = np.zeros(len(labels), dtype=bool)
    for label, size in enumerate(sizes):
        chosen[rng.choice(np.flatnonzero(labels == label), size, replace=False)] = True
    return chosen


def _cues(train: Rows, removed: np.ndarray, *, pair: bool) -> tuple[Cue, ...]:
    if not removed.any():
        return ()
    if train.words is not None:
        return _length_cues(train.words, train.labels, removed, pair=pair)
    present = csc_array(train.marks.astype(np.float64))
    enriched = enrichment(present, removed, train.labels, train.groups)
    ties = label_ties(present, train.labels, train.groups)
    p_values = np.maximum(enriched.p_values, ties.p_values).tolist()
    gone = float(removed.sum())
    cues = (
        Cue("word", "text", str(number), None, None, int(enriched.rows[number]), int(enriched.removed[number]),
            float(enriched.removed[number]) / gone, float(enriched.expected[number]) / gone, p_values[number], adjusted,
            True)
        for number, adjusted in enumerate(holm(p_values))
    )  # fmt: skip
    return tuple(cue for cue in cues if cue.shown)


def _length_cues(words: np.ndarray, labels: np.ndarray, removed: np.ndarray, *, pair: bool) -> tuple[Cue, ...]:
    rows = np.arange(len(labels))
    columns: dict[str, object] = {"row_id": rows, "label": labels, "text": ["w " * count for count in words.tolist()]}
    if pair:
        columns |= {"text": ["w"] * len(rows), "text_pair": columns["text"]}
    train = pa.table({"row_id": rows, "kept": ~removed})
    marks = removal_cues(train, Examples(pa.table(columns), ("one", "other")), planted={}, seed=0)
    return tuple(cue for cue in read_cues(marks) if cue.counts and cue.shown)


def _codes(work: tuple[Case, int, int]) -> Counter[str]:
    case, seed, draws = work
    with threadpool_limits(limits=1):
        return Counter(verdict_code(case, seed + draw) for draw in range(draws))


def measure(case: Case, pool: ProcessPoolExecutor, *, draws: int, seed: int) -> dict[str, float]:
    """The share of draws that got each code, most frequent first."""
    parts = [(case, seed + start, min(50, draws - start)) for start in range(0, draws, 50)]
    codes: Counter[str] = Counter()
    for some in pool.map(_codes, parts):
        codes += some
    return {code: number / draws for code, number in codes.most_common()}


def main() -> int:
    """Print the table; exit with 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--case", help="only the cases whose name begins so")
    given = parser.parse_args()
    results, missed = {}, False
    with ProcessPoolExecutor(given.processes) as pool:
        for case in CASES:
            if given.case and not case.name.startswith(given.case):
                continue
            started = perf_counter()
            shares = measure(case, pool, draws=given.draws, seed=given.seed)
            said = sum(share for code, share in shares.items() if code.startswith("shortcut_found"))
            goal = LEAST_FOUND if case.planted and case.marked else None if case.planted else MOST_FALSE
            bad = goal is not None and (said < goal if case.planted else said > goal)
            missed |= bad
            results[case.name] = shares
            listed = ", ".join(f"{code} {share:.1%}" for code, share in shares.items())
            mark = "  MISSED" if bad else ""
            line = f"{case.name:45s} shortcut {said:6.1%}{mark}  ({listed}; {perf_counter() - started:.0f} s)"
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    if given.output is not None:
        given.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
