"""Counts of words by class, by hand, and the z-statistic where words mean nothing."""

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.word_counts import occurrences, word_scores, z_statistics

EXAMPLES = Examples(
    pa.table(
        {
            "row_id": pa.array(range(4), pa.int64()),
            "label": pa.array([0, 0, 1, 1], pa.int64()),
            "text": ["A cat, a CAT", "a dog", None, "a"],
            "text_pair": ["cat", "", "cat", "dog"],
        }
    ),
    ("no", "yes"),
)


def test_every_word_counts_once_per_row_and_column() -> None:
    found = occurrences(EXAMPLES)
    assert found.vocabulary == [
        ("text", "a"), ("text", "cat"), ("text", "dog"), ("text_pair", "cat"), ("text_pair", "dog"),
    ]  # fmt: skip
    scores = word_scores(found, EXAMPLES, np.ones(4, bool))
    assert scores.counts.tolist() == [[2, 1], [1, 0], [1, 0], [1, 1], [0, 1]]
    assert scores.expected.tolist() == [0.5, 0.5]
    # "a": 2 of 3 rows against a half, (1/6) / sqrt(1/12).
    assert scores.z[0] == pytest.approx([1 / np.sqrt(12) * 2, -1 / np.sqrt(12) * 2])


def test_rare_words_leave_the_others_in_their_order() -> None:
    found = occurrences(EXAMPLES).in_rows(2)
    assert found.vocabulary == [("text", "a"), ("text_pair", "cat")]
    assert word_scores(found, EXAMPLES, np.ones(4, bool)).counts.tolist() == [[2, 1], [1, 1]]
    assert occurrences(EXAMPLES).in_rows(5).vocabulary == []


def test_only_the_rows_asked_for_count() -> None:
    scores = word_scores(occurrences(EXAMPLES), EXAMPLES, np.array([False, True, True, True]))
    assert scores.counts[0].tolist() == [1, 1]
    assert scores.expected.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert np.isnan(scores.z[1]).all()


def test_z_is_standard_normal_when_words_mean_nothing() -> None:
    rng = np.random.default_rng(0)
    expected = np.array([0.2, 0.3, 0.5])
    z = z_statistics(rng.multinomial(400, expected, size=20_000), expected)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(z.std(axis=0), 1, atol=0.02)
