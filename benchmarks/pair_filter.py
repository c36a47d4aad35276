"""Measure what the filter on surface properties leaves of a file of pairs, on pairs that took no part in choosing.

`python -m benchmarks.pair_filter FILE --target 0.55` reads a file of pairs as `aflite scan` does. Ten times it cuts the
pairs into five folds, with whole groups and near copies. For each fold the filter runs on the other four, by the
difference of each pair's surface properties. Pairs of the fold leave by the same law, and no classifier is trained on
them. Then two families are fitted afresh on train pairs, ridge regression on the surface properties and logistic
regression on words, and tested on the pairs of the fold. It prints one line of JSON per table row: area under the curve
of right against wrong answers and the share of pairs found, with 95 % intervals over resampled groups.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aflite_assets.algorithm import FilterSettings, filter_dataset
from aflite_assets.data.questions import credit_by_question, less_other_answers
from aflite_assets.scan.properties.extraction import extract
from aflite_assets.scan.surface_features import FEWEST_ROWS, answer_features
from benchmarks.blind_rates import pairs_of

FOLDS, DRAWS = 5, 200
SCORES = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Positions of train rows and of test rows -> a score of each test row."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two rows per pair: `right` bool, `questions` and `units` int64 from 0, surface `features`, and `texts`."""

    right: np.ndarray
    questions: np.ndarray
    units: np.ndarray
    features: np.ndarray
    texts: np.ndarray

    @classmethod
    def of_file(cls, path: Path) -> "Pairs":
        """Return the pairs of a file."""
        rows = pairs_of(path)
        extracted = extract(rows, fewest=FEWEST_ROWS, threads=1)
        codes = rows.question_codes
        assert codes is not None
        texts = np.array([text or "" for text in [*rows.texts.values()][1]], dtype=object)
        return cls(
            rows.labels == rows.label_names.index("right"),
            np.unique(codes, return_inverse=True)[1],
            np.unique(extracted.units, return_inverse=True)[1],
            answer_features(rows, extracted),
            texts,
        )

    def surface(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Score test rows by ridge regression on surface properties."""
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = make_pipeline(StandardScaler(), Ridge(alpha=0.02 * len(train)))
        scores: np.ndarray = model.fit(self.features[train], self.right[train]).predict(self.features[test])
        return scores

    def words(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Score test rows by logistic regression on TF-IDF weights of words and word pairs."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        weights = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
        model = make_pipeline(weights, LogisticRegression(max_iter=2_000))
        scores: np.ndarray = model.fit(self.texts[train], self.right[train]).predict_proba(self.texts[test])[:, 1]
        return scores

    def kept(self, held_out: np.ndarray, *, target: float, threshold: float, seed: int) -> np.ndarray:
        """Return which rows the filter keeps, bool; those `held_out`, bool, are scored and not trained on."""
        pool = int((~held_out).sum())
        settings = FilterSettings(
            target_size=round(target * pool),
            train_size=round(0.3 * pool),
            slice_size=round(0.04 * pool),
            n_partitions=64,
            threshold=threshold,
            ranking="label_probability",
            remove="groups",
        )
        result = filter_dataset(
            less_other_answers(self.features, self.questions),
            self.right.astype(np.int64),
            settings=settings,
            seed=seed,
            groups=self.units,
            score_only=held_out if held_out.any() else None,
        )
        kept = np.zeros(len(self.right), dtype=bool)
        kept[result.kept_rows] = True
        return kept

    def folds(self, repeat: int) -> np.ndarray:
        """Return the fold of each row, with whole units, int64."""
        return np.random.default_rng([repeat, 11]).permutation(np.arange(self.units.max() + 1) % FOLDS)[self.units]

    def random_like(self, kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return random whole units with at most as many rows as `kept` has, bool."""
        counts = np.bincount(self.units)
        order = rng.permutation(len(counts))
        taken = order[np.cumsum(counts[order]) <= kept.sum()]
        return np.asarray(np.isin(self.units, taken))


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of the rows of one repeat, NaN for rows that were not tested, and the fold of each row."""

    values: np.ndarray
    folds: np.ndarray


def _auc(scores: np.ndarray, right: np.ndarray, weights: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(right, scores, sample_weight=weights))


def measured(pairs: Pairs, repeats: list[Scored]) -> dict[str, list[float]]:
    """Return AUC and the share of pairs found, each as estimate and 95 % interval: means over repeats and folds."""
    tested = [~np.isnan(one.values) for one in repeats]
    found = [
        credit_by_question(one.values[own], pairs.right[own], pairs.questions[own])
        for one, own in zip(repeats, tested, strict=True)
    ]
    units = [pairs.units[own][np.unique(pairs.questions[own], return_index=True)[1]] for own in tested]

    def values(counts: np.ndarray) -> tuple[float, float]:
        areas = [
            _auc(one.values[rows], pairs.right[rows], counts[pairs.units[rows]])
            for one, own in zip(repeats, tested, strict=True)
            for fold in range(FOLDS)
            if (counts[pairs.units[rows := np.flatnonzero(own & (one.folds == fold))]] > 0).any()
        ]
        shares = [np.average(credit, weights=counts[unit]) for credit, unit in zip(found, units, strict=True)]
        return float(np.mean(areas)), float(np.mean(shares))

    count = int(pairs.units.max()) + 1
    rng = np.random.default_rng(0)
    drawn = np.array([values(np.bincount(rng.integers(0, count, count), minlength=count)) for _ in range(DRAWS)])
    estimate = values(np.ones(count))
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    return {
        name: [round(float(one), 3) for one in (estimate[place], low[place], high[place])]
        for place, name in enumerate(("auc", "found"))
    }


def table(pairs: Pairs, *, target: float, threshold: float, repeats: int) -> Iterator[dict[str, object]]:
    """Yield a row per train set, test set and family."""
    families: dict[str, SCORES] = {"surface": pairs.surface, "words": pairs.words}
    rows: dict[tuple[str, str, str], list[Scored]] = {}
    shares = []
    for repeat in range(repeats):
        folds = pairs.folds(repeat)
        values: dict[tuple[str, str, str], np.ndarray] = {}
        for fold in range(FOLDS):
            held_out = folds == fold
            kept = pairs.kept(held_out, target=target, threshold=threshold, seed=repeat)
            drawn = pairs.random_like(kept, np.random.default_rng([repeat, fold]))
            shares.append([kept[~held_out].mean(), kept[held_out].mean(), kept.mean()])
            sets = {
                ("all", "all"): (~held_out, held_out),
                ("random", "random"): (drawn & ~held_out, drawn & held_out),
                ("kept", "kept"): (kept & ~held_out, kept & held_out),
                ("all", "kept"): (~held_out, kept & held_out),
                ("kept", "all"): (kept & ~held_out, held_out),
            }
            for (train_name, test_name), (train, test) in sets.items():
                for family, scores in families.items():
                    key = train_name, test_name, family
                    own = values.setdefault(key, np.full(len(folds), np.nan))
                    own[test] = scores(np.flatnonzero(train), np.flatnonzero(test))
        for key, own in values.items():
            rows.setdefault(key, []).append(Scored(own, folds))
    kept_shares = np.mean(shares, axis=0).round(3).tolist()
    yield {
        "pairs": len(pairs.right) // 2,
        "target": target,
        "kept": dict(zip(("train", "held_out", "both"), kept_shares, strict=True)),
    }
    for (train_name, test_name, family), scored in rows.items():
        yield {"fitted_on": train_name, "tested_on": test_name, "family": family, **measured(pairs, scored)}


def chosen_on(pairs: Pairs, *, target: float, threshold: float, repeats: int) -> dict[str, object]:
    """Return the surface AUC of the pairs kept by one run on all pairs, on these pairs themselves, by grouped folds."""
    kept = pairs.kept(np.zeros(len(pairs.right), dtype=bool), target=target, threshold=threshold, seed=0)
    scored = []
    for repeat in range(repeats):
        folds = pairs.folds(repeat)
        own = np.full(len(folds), np.nan)
        for fold in range(FOLDS):
            train, test = (np.flatnonzero(kept & side) for side in (folds != fold, folds == fold))
            own[test] = pairs.surface(train, test)
        scored.append(Scored(own, folds))
    return {
        "fitted_on": "chosen",
        "tested_on": "chosen",
        "family": "surface",
        "pairs_kept": int(kept.sum()) // 2,
        **measured(pairs, scored),
    }


def main() -> None:
    """Print the table of one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", type=float, default=0.55, help="share of the train pairs to keep at least")
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    pairs = Pairs.of_file(options.file)
    given = {"target": options.target, "threshold": options.threshold, "repeats": options.repeats}
    for row in (*table(pairs, **given), chosen_on(pairs, **given)):
        sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
