import re
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.word_artifacts import (
    AmongDraws,
    WordArtifacts,
    occurrences,
    word_artifacts,
    word_scores,
    z_statistics,
)
from aflite_assets.errors import InvalidInputError

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


def examples_of(labels: list[int], texts: list[str | None], **columns: Any) -> Examples:
    table = {
        "row_id": pa.array(range(len(labels)), pa.int64()),
        "label": pa.array(labels, pa.int64()),
        "text": pa.array(texts, pa.string()),
        **columns,
    }
    return Examples(pa.table(table), ("no", "yes"))


@pytest.fixture
def planted() -> Examples:
    """100 rows, half of them "yes"; "not" stands in 36 rows, 30 of them "no"; "the" stands in all."""
    texts = ["The Not, not cat" if row < 30 or 50 <= row < 56 else "the cat" for row in range(100)]
    return examples_of([0] * 50 + [1] * 50, list(texts))


ALL = np.arange(100)


def found_in(examples: Examples, kept: np.ndarray, **given: Any) -> WordArtifacts:
    found = word_artifacts(examples, kept, **{"seed": 0, **given})
    assert found is not None
    return found


def means_in(examples: Examples, kept: np.ndarray, **given: Any) -> AmongDraws:
    """The mean z of the words over the line, which is that of "not" for "no" in planted rows."""
    means = found_in(examples, kept, **given).mean_z
    assert means is not None
    return means


def test_planted_word_by_hand(planted: Examples) -> None:
    means = means_in(planted, np.arange(24, 100), top=1)
    # p = 30/36 against 1/2 over 36 rows: (1/3) / (1/12); then 6/12 against 26/76 over 12 rows.
    expected = 26 / 76
    z = (0.5 - expected) / np.sqrt(expected * (1 - expected) / 12)
    assert (means.full, means.kept) == (pytest.approx(4.0), pytest.approx(z))
    assert means.drop == pytest.approx(means.mean - z)
    # Of 26 "no" rows drawn of 50, 60 % have the word, and of all 50 "yes" rows the 6 that have it: 21.6 in the mean.
    assert means.mean == pytest.approx((15.6 - 21.6 * expected) / np.sqrt(21.6 * expected * (1 - expected)), abs=0.2)
    assert 0 < means.deviation < 0.6


def test_random_sets_are_those_of_the_seed_and_of_the_kept_class_sizes(planted: Examples) -> None:
    kept = np.concatenate([np.arange(10), np.arange(50, 90)])
    alone = []
    for number in range(4):
        rng = np.random.default_rng([3, number])
        drawn = [rng.choice(np.arange(50), 10, replace=False), rng.choice(np.arange(50, 100), 40, replace=False)]
        alone.append(means_in(planted, np.concatenate(drawn), draws=2).kept)
    assert means_in(planted, kept, seed=3, draws=4).random == pytest.approx(alone)
    assert means_in(planted, kept, seed=4, draws=4).random != pytest.approx(alone)


def test_words_over_the_line_in_every_set(planted: Examples) -> None:
    found = found_in(planted, np.concatenate([np.arange(24, 50), np.arange(50, 76)]))
    assert found.line == pytest.approx(2.9352, abs=1e-4)
    counts = found.over_line.to_pylist()
    assert [(row["label"], row["label_name"], row["words_full"], row["words_kept"]) for row in counts] == [
        (0, "no", 1, 0),
        (1, "yes", 0, 0),
        (None, None, 1, 0),
    ]
    no, yes, together = counts
    assert together == {**no, "label": None, "label_name": None}
    assert 0 <= no["random_least"] <= no["words_random"] <= no["random_most"] <= 1
    assert no["drop_beyond_random"] == no["words_random"] > 0
    assert (yes["words_random"], yes["random_deviation"], yes["random_most"]) == (0, 0, 0)
    assert found.words_over_line.full == 1
    assert np.mean(found.words_over_line.random) == no["words_random"]


def test_rows_removed_with_the_word_drop_more_than_random_sets(planted: Examples) -> None:
    # All 30 "no" rows with the word went, and as many "yes" rows.
    means = means_in(planted, np.concatenate([np.arange(30, 50), np.arange(60, 80)]), draws=50)
    # A word that is gone gives nothing away: it counts as z = 0.
    assert (means.full, means.kept) == (pytest.approx(4.0), 0)
    assert means.drop == means.mean > 1.5
    assert (means.kept_is_lowest, means.kept_is_highest) == (True, False)


def test_rows_kept_with_the_word_are_tied_more_closely(planted: Examples) -> None:
    means = means_in(planted, np.concatenate([np.arange(30), np.arange(60, 90)]), draws=50)
    assert means.kept_is_highest
    assert means.drop < 0


def test_rows_kept_at_random_are_the_lowest_as_often_as_chance_has_it(planted: Examples) -> None:
    rng = np.random.default_rng(0)
    lowest, highest, drops = 0, 0, []
    for seed in range(200):
        kept = np.concatenate(
            [rng.choice(np.arange(50), 30, replace=False), rng.choice(np.arange(50, 100), 20, replace=False)]
        )
        means = means_in(planted, kept, seed=seed, draws=9, top=1)
        lowest += means.kept_is_lowest
        highest += means.kept_is_highest
        drops.append(means.drop)
    # One in ten each, less ties: 20 of 200 with a deviation of 4.2.
    assert 5 <= lowest <= 33
    assert 5 <= highest <= 33
    assert abs(np.mean(drops)) < 0.15


def test_nothing_removed_is_no_drop(planted: Examples) -> None:
    found = found_in(planted, ALL)
    assert found.mean_z is not None
    assert (found.mean_z.drop, found.mean_z.deviation) == (0.0, 0.0)
    assert found.words_over_line == AmongDraws(1, (1,) * 20, 1)
    assert not found.words_over_line.kept_is_lowest
    assert not found.words_over_line.kept_is_highest


@pytest.mark.parametrize("kept", [0, 50])
def test_nothing_kept_and_a_class_without_rows(planted: Examples, kept: int) -> None:
    found = found_in(planted, np.arange(kept))
    assert found.mean_z is None
    assert found.over_line["words_kept"].to_pylist() == [0, 0, 0]


def test_the_line_is_the_papers() -> None:
    # The authors' plot draws the line for 0.01 / 28000 at z = 4.9578; 140 words x 2 labels here.
    words = " ".join(f"w{number}" for number in range(140))
    found = found_in(examples_of([0, 1], [words] * 2), np.arange(2), min_rows=1, significance=0.01 / 100)
    assert found.line == pytest.approx(4.9578, abs=1e-3)


def test_what_hyphens_join_is_one_word() -> None:
    examples = examples_of([0, 1, 0, 1], ["Buy xz-17 now", "xz 17-", "well\u2010known--xz", "-17"])
    assert {word for _, word in occurrences(examples).vocabulary} == {
        "buy",
        "xz-17",
        "now",
        "xz",
        "17",
        "well\u2010known",
    }


@pytest.mark.parametrize("texts", [["a", "a"], [], ["", None, "...", "\x00\x1b"]])
def test_one_label_or_no_word_gives_nothing(texts: list[str | None]) -> None:
    kept = np.arange(len(texts))
    assert word_artifacts(examples_of([0] * len(texts), texts), kept, seed=0, min_rows=1) is None


ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.text(st.characters(exclude_categories=["Cs"])) | st.text("aA b\x00<&")),
    min_size=1,
    max_size=12,
)


def words_of(text: str) -> list[str]:
    """Character by character: a hyphen between two characters of words belongs to the word."""
    lower = text.lower()
    inside = [re.fullmatch(r"\w", character) is not None for character in lower]
    for place in range(1, len(lower) - 1):
        if lower[place] in "-\u2010\u2011" and inside[place - 1] and re.fullmatch(r"\w", lower[place + 1]):
            inside[place] = True
    return "".join(c if kept else " " for c, kept in zip(lower, inside, strict=True)).split(" ")


@given(ROWS, st.data())
def test_counts_are_those_found_one_by_one(rows: list[tuple[int, str]], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True))
    examples = examples_of([label for label, _ in rows], [text for _, text in rows])
    present = occurrences(examples)
    assert {word for _, word in present.vocabulary} == {word for _, text in rows for word in words_of(text)} - {""}
    counts = word_scores(present, examples, np.isin(np.arange(len(rows)), kept)).counts
    for (_, word), of_word in zip(present.vocabulary, counts.tolist(), strict=True):
        holding = [rows[row][0] for row in kept if word in words_of(rows[row][1])]
        assert of_word == [holding.count(0), holding.count(1)]


def test_the_order_does_not_depend_on_the_process() -> None:
    script = """
import sys
import pyarrow as pa
from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.word_artifacts import occurrences
text = " ".join(f"w{n}" for n in range(50))
examples = Examples(pa.table({"row_id": [0], "label": [0], "text": [text]}), ("no", "yes"))
sys.stdout.write(" ".join(word for _, word in occurrences(examples).vocabulary))
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1] == " ".join(f"w{number}" for number in range(50))


def test_inputs_are_checked(planted: Examples) -> None:
    with pytest.raises(InvalidInputError, match=r"1 kept rows are not among the examples \(the first is row 777\)"):
        word_artifacts(planted, np.array([1, 777]), seed=0)
    features = pa.table({"row_id": [0], "label": [0], "features": [[1.0]]})
    with pytest.raises(InvalidInputError, match="the rows are features and have no words"):
        word_artifacts(Examples(features, ("no", "yes")), np.array([0]), seed=0)


@pytest.mark.parametrize(
    "setting", [{"draws": 1}, {"top": 0}, {"min_rows": 0}, {"significance": 0.0}, {"significance": 1.0}]
)
def test_settings_are_checked(planted: Examples, setting: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="and `significance` to between 0 and 1"):
        word_artifacts(planted, ALL, seed=0, **setting)


def test_the_drop_is_from_the_mean_of_the_random_sets() -> None:
    one = AmongDraws(full=10.0, random=(4.0, 6.0, 8.0), kept=1.5)
    assert (one.mean, one.deviation, one.drop) == (6.0, 2.0, 4.5)


@pytest.mark.parametrize(
    ("kept", "lowest", "highest"), [(3.9, True, False), (4.0, False, False), (8.0, False, False), (8.1, False, True)]
)
def test_what_equals_a_random_set_is_neither_lowest_nor_highest(kept: float, lowest: bool, highest: bool) -> None:
    one = AmongDraws(10.0, (4.0, 6.0, 8.0), kept)
    assert (one.kept_is_lowest, one.kept_is_highest) == (lowest, highest)


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


def test_one_of_equally_drawn_numbers_is_the_lowest_one_time_in_draws_and_one() -> None:
    numbers = np.random.default_rng(0).normal(size=(4000, 20))
    lowest = [AmongDraws(0.0, tuple(row[1:]), row[0]).kept_is_lowest for row in numbers]
    assert np.mean(lowest) == pytest.approx(1 / 20, abs=0.012)
