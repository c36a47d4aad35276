"""Surface properties as a representation: which are read, and that a filter on them removes what they give away."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from aflite_assets.algorithm import FilterSettings, filter_dataset, score_rows
from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.answers import DROPPED, RIGHT
from aflite_assets.data.loading import load_source
from aflite_assets.data.questions import less_other_answers
from aflite_assets.data.raw_table.table import build_raw_table, implied_columns
from aflite_assets.scan.surface_features import features_of_rows
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import PreferenceSource

PAIRS = 300


def _examples(texts: list[str], labels: np.ndarray, **others: Any) -> Examples:
    rows = len(texts)
    columns = {
        "row_id": pa.array(np.arange(rows)),
        "source_id": [f"{number:016x}" for number in range(rows)],
        "split": ["train"] * rows,
        "label": pa.array(labels),
        "text": texts,
        **others,
    }
    return Examples(pa.table(columns), ("right", "wrong"))


def _words(rng: np.random.Generator, count: int) -> str:
    return " ".join(f"w{number}" for number in rng.integers(0, 500, count))


def _pairs(longer: float, seed: int = 0) -> Examples:
    """Pairs of answers of random words, the longer one right in this share of them, the right one first or second."""
    rng = np.random.default_rng(seed)
    texts, labels, questions, asked = [], [], [], []
    for number in range(PAIRS):
        answers = [_words(rng, 6), _words(rng, 12)]
        right = int(rng.random() < longer)
        order = rng.permutation(2).tolist()
        texts += [answers[place] for place in order]
        labels += [int(place != right) for place in order]
        questions += [number, number]
        asked += [f"question {number} {_words(rng, 3)}"] * 2
    groups = pa.array(questions, pa.int64())
    return _examples(asked, np.array(labels), text_pair=texts, group=groups, question=groups)


def test_rows_have_lengths_signs_and_typography_and_no_words_or_places() -> None:
    rng = np.random.default_rng(0)
    dashed = np.arange(200) % 2 == 0
    texts = [f"{_words(rng, 8)}{' — so' if has else ' it is so'}" for has in dashed]
    features = features_of_rows(_examples(texts, np.zeros(200, np.int64)))
    apart = [abs(np.corrcoef(column, dashed)[0, 1]) for column in features.T]
    assert max(apart) == pytest.approx(1.0, abs=1e-5)
    assert features.mean(axis=0) == pytest.approx(np.zeros(features.shape[1]), abs=1e-4)
    assert features.std(axis=0) == pytest.approx(np.ones(features.shape[1]), abs=1e-3)
    place = np.arange(200)
    assert max(abs(np.corrcoef(column, place)[0, 1]) for column in features.T) < 0.4


def test_inputs_leave_out_the_properties_of_the_other_text() -> None:
    rng = np.random.default_rng(1)
    marked = np.arange(200) % 2 == 0
    first = [f"{_words(rng, 5)}{'!' if has else ''}" for has in marked]
    second = [_words(rng, 5) for _ in marked]
    examples = _examples(first, np.zeros(200, np.int64), text_pair=second)
    whole, part = features_of_rows(examples), features_of_rows(examples, inputs=["text_pair"])
    assert max(abs(np.corrcoef(column, marked)[0, 1]) for column in whole.T) > 0.99
    assert max(abs(np.corrcoef(column, marked)[0, 1]) for column in part.T) < 0.3


def test_answers_have_the_same_properties_whatever_their_labels() -> None:
    pairs = _pairs(0.9)
    others = Examples(pairs.table.set_column(3, "label", pa.array(1 - pairs.labels)), pairs.label_names)
    np.testing.assert_array_equal(features_of_rows(pairs), features_of_rows(others))


def test_of_a_pair_the_features_are_its_difference_in_both_orders() -> None:
    features = np.array([[5, 1], [2, 3], [1, 1], [4, 0], [7, 5], [9, 9]], np.float32)
    compared = less_other_answers(features, np.array([0, 0, 7, 7, 7, 9]))
    expected = [[3, -2], [-3, 2], [-4.5, -1.5], [0, -3], [4.5, 4.5], [0, 0]]
    assert compared == pytest.approx(np.array(expected))


def test_the_engine_fits_pairs_as_scikit_learn_does_without_an_intercept() -> None:
    """Both orders of a pair are in the same half, so the intercept of the engine's classifiers is zero by symmetry."""
    pairs = _pairs(0.8)
    assert pairs.questions is not None
    compared = less_other_answers(features_of_rows(pairs), pairs.questions)
    settings = FilterSettings(target_size=PAIRS, train_size=PAIRS, slice_size=10, n_partitions=4, remove="groups")
    rng = np.random.default_rng(0)
    halves = [np.flatnonzero(np.repeat(rng.permutation(PAIRS) < PAIRS // 2, 2)) for _ in range(4)]

    def without_intercept(features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Any:
        model = LogisticRegression(fit_intercept=False, C=1.0, tol=1e-8, max_iter=5_000)
        model.fit(np.asarray(features, np.float64), labels)
        return lambda rows: model.predict(np.asarray(rows, np.float64))

    given: dict[str, Any] = {"settings": settings, "seed": 0, "groups": pairs.groups, "partitions": halves}
    engine = score_rows(compared, pairs.labels, **given)
    reference = score_rows(compared, pairs.labels, **given, fit=without_intercept)
    np.testing.assert_array_equal(engine.predictability, reference.predictability)
    np.testing.assert_array_equal(engine.predictability[0::2], engine.predictability[1::2])


def test_best_of_four_is_fitted_as_the_three_pairs_of_its_answers(tmp_path: Path) -> None:
    """Probabilities are scikit-learn's without an intercept, on differences that are made and doubled by hand."""
    rng = np.random.default_rng(0)
    questions, width = 60, 5
    answers = rng.normal(size=(questions, 4, width)).astype(np.float32)  # the first of four is chosen
    answers[:, 0, 0] += 1
    rows = [{"chosen": f"{row} 0", "rejected": [f"{row} {place}" for place in (1, 2, 3)]} for row in range(questions)]
    (tmp_path / "four.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = {"format": "jsonl", "splits": {"train": str(tmp_path / "four.jsonl")}}
    source = PreferenceSource.model_validate({"format": "preference", "table": table, "several": "pairs"})
    tables = load_source(source)
    columns = implied_columns(source, ColumnsSpec(), tables)
    read = build_raw_table(tables, columns=columns, label_names=None, unlabelled=DROPPED, limit=None, seed=0).examples
    assert read.questions is not None
    own = np.array([answers[tuple(map(int, text.split()))] for text in read.texts("text_pair")])
    compared = less_other_answers(own, read.questions)
    right = read.label_names.index(RIGHT)
    by_hand = np.concatenate([answers[:, 0] - answers[:, place] for place in (1, 2, 3)])
    in_order = np.lexsort(compared[read.labels == right].T), np.lexsort(by_hand.T)
    np.testing.assert_allclose(compared[read.labels == right][in_order[0]], by_hand[in_order[1]], atol=1e-6)

    assert read.groups is not None
    assert np.bincount(read.groups).tolist() == [6] * questions
    half = np.flatnonzero(read.groups % 2 == 0)
    settings = FilterSettings(target_size=100, train_size=100, slice_size=10, n_partitions=1, remove="groups")
    engine = score_rows(compared, read.labels, settings=settings, seed=0, groups=read.groups, partitions=[half])
    doubled = np.concatenate([by_hand.reshape(3, questions, width)[:, 0::2].reshape(-1, width)] * 2)
    doubled[len(doubled) // 2 :] *= -1
    model = LogisticRegression(fit_intercept=False, C=1.0, tol=1e-10, max_iter=5_000)
    model.fit(doubled.astype(np.float64), np.repeat([1, 0], len(doubled) // 2))
    held_out = np.setdiff1d(np.arange(len(read)), half)
    expected = model.predict_proba(compared[held_out].astype(np.float64))
    expected = np.where(read.labels[held_out] == right, expected[:, 1], expected[:, 0])
    assert engine.label_probability is not None
    np.testing.assert_allclose(engine.label_probability[held_out], expected, atol=2e-4)


def test_the_filter_keeps_as_many_pairs_with_the_longer_answer_right_as_others() -> None:
    pairs = _pairs(0.75)
    assert pairs.questions is not None
    compared = less_other_answers(features_of_rows(pairs), pairs.questions)
    settings = FilterSettings(
        target_size=PAIRS, train_size=PAIRS // 2, slice_size=12, n_partitions=32, threshold=0.55, remove="groups"
    )
    result = filter_dataset(compared, pairs.labels, settings=settings, seed=0, groups=pairs.groups)
    lengths = np.array([len(text.split()) for text in pairs.texts("text_pair")])
    right = pairs.labels[result.kept_rows] == 0
    longer = float((lengths[result.kept_rows][right] == 12).mean())
    assert len(result.kept_rows) >= PAIRS
    assert longer == pytest.approx(0.5, abs=0.08)
