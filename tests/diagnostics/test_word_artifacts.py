import re
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.diagnostics import word_artifacts
from aflite_assets.diagnostics.word_artifacts import z_statistics
from aflite_assets.errors import InvalidInputError
from aflite_assets.sources.examples import Examples


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


def test_planted_word_by_hand(planted: Examples) -> None:
    found = word_artifacts(planted, {"filtered": np.arange(24, 100)}, top=1)
    assert found.tests == 6
    # p = 30/36 against 1/2 over 36 rows: (1/3) / (1/12); then 6/12 against 26/76 over 12 rows.
    expected = 26 / 76
    z = (0.5 - expected) / np.sqrt(expected * (1 - expected) / 12)
    not_rows = [row for row in found.words.to_pylist() if row["label_name"] == "no"]
    assert not_rows == [
        {
            "set": "full",
            "column": "text",
            "word": "not",
            "label": 0,
            "label_name": "no",
            "rank": 1,
            "rows": 36,
            "label_share": pytest.approx(5 / 6),
            "expected_share": 0.5,
            "z": pytest.approx(4.0),
        },
        {
            "set": "filtered",
            "column": "text",
            "word": "not",
            "label": 0,
            "label_name": "no",
            "rank": 1,
            "rows": 12,
            "label_share": 0.5,
            "expected_share": pytest.approx(expected),
            "z": pytest.approx(z),
        },
    ]


def test_words_over_the_line_before_and_after(planted: Examples) -> None:
    found = word_artifacts(planted, {"filtered": np.arange(24, 100), "empty": np.empty(0, dtype=np.int64)})
    assert found.line == pytest.approx(2.9352, abs=1e-4)
    assert [(row["set"], row["label_name"], row["words"]) for row in found.over_line.to_pylist()] == [
        ("full", "no", 1),
        ("full", "yes", 0),
        ("filtered", "no", 0),
        ("filtered", "yes", 0),
        ("empty", "no", 0),
        ("empty", "yes", 0),
    ]
    empty = [row for row in found.words.to_pylist() if row["set"] == "empty"]
    assert {(row["rows"], row["label_share"], row["z"]) for row in empty} == {(0, None, None)}


def test_the_line_is_the_papers() -> None:
    # The authors' plot draws the line for 0.01 / 28000 at z = 4.9578; 140 words x 2 labels here.
    words = " ".join(f"w{number}" for number in range(140))
    found = word_artifacts(examples_of([0, 1], [words] * 2), {}, min_rows=1, significance=0.01 / 100)
    assert found.tests == 280
    assert found.line == pytest.approx(4.9578, abs=1e-3)


def test_the_same_word_in_premise_and_hypothesis_is_two_words() -> None:
    examples = examples_of([0, 0, 1, 1], ["cat"] * 4, text_pair=pa.array(["cat", "cat", None, "dog"]))
    found = word_artifacts(examples, {}, min_rows=2, top=5)
    assert found.tests == 4
    shares = {(row["column"], row["word"], row["label_name"]): row["label_share"] for row in found.words.to_pylist()}
    assert shares == {
        ("text", "cat", "no"): 0.5,
        ("text", "cat", "yes"): 0.5,
        ("text_pair", "cat", "no"): 1.0,
        ("text_pair", "cat", "yes"): 0.0,
    }


def test_rare_words_are_not_tested() -> None:
    examples = examples_of([0, 0, 1], ["a b", "a b", "a c"])
    words = {row["word"] for row in word_artifacts(examples, {}, min_rows=2).words.to_pylist()}
    assert words == {"a", "b"}


def test_a_label_without_rows_has_no_words() -> None:
    found = word_artifacts(examples_of([0, 0], ["a", "a"]), {}, min_rows=1)
    assert found.words.num_rows == 0
    assert found.over_line["words"].to_pylist() == [0, 0]


@pytest.mark.parametrize("texts", [[], ["", None, "...", "\x00\x1b"]])
def test_texts_without_words(texts: list[str | None]) -> None:
    found = word_artifacts(examples_of([0] * len(texts), texts), {"filtered": np.empty(0, dtype=np.int64)})
    assert found.tests == 0
    assert found.words.num_rows == 0
    assert found.over_line["words"].to_pylist() == [0, 0, 0, 0]


ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.text(st.characters(exclude_categories=["Cs"])) | st.text("aA b\x00<&")),
    min_size=1,
    max_size=12,
)


@given(ROWS, st.data())
def test_counts_are_those_found_one_by_one(rows: list[tuple[int, str]], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True))
    examples = examples_of([label for label, _ in rows], [text for _, text in rows])
    found = word_artifacts(examples, {"filtered": np.array(kept, dtype=np.int64)}, min_rows=1, top=10**6)
    for entry in found.words.to_pylist():
        inside = range(len(rows)) if entry["set"] == "full" else kept
        holding = [row for row in inside if entry["word"] in re.findall(r"\w+", rows[row][1].lower())]
        assert entry["rows"] == len(holding)
        with_label = sum(rows[row][0] == entry["label"] for row in holding)
        assert entry["label_share"] == (with_label / len(holding) if holding else None)


def test_z_is_standard_normal_when_words_mean_nothing() -> None:
    rng = np.random.default_rng(0)
    expected = np.array([0.2, 0.3, 0.5])
    z = z_statistics(rng.multinomial(400, expected, size=20_000), expected)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(z.std(axis=0), 1, atol=0.02)


def test_the_order_does_not_depend_on_the_process() -> None:
    script = """
import pyarrow as pa
from aflite_assets.diagnostics import word_artifacts
from aflite_assets.sources.examples import Examples
text = " ".join(f"w{n}" for n in range(50))
examples = Examples(pa.table({"row_id": [0, 1], "label": [0, 1], "text": [text, text]}), ("no", "yes"))
import sys
sys.stdout.write(" ".join(word_artifacts(examples, {}, min_rows=1).words["word"].to_pylist()))
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1] == " ".join([f"w{number}" for number in range(20)] * 2)


def test_inputs_are_checked(planted: Examples) -> None:
    with pytest.raises(InvalidInputError, match=r"subset 'other' holds 1 rows that are not .*first: 777"):
        word_artifacts(planted, {"other": np.array([1, 777])})
    with pytest.raises(InvalidInputError, match="named 'full'"):
        word_artifacts(planted, {"full": np.array([1])})
    features = pa.table({"row_id": [0], "label": [0], "features": [[1.0]]})
    with pytest.raises(InvalidInputError, match="rows of features have no words"):
        word_artifacts(Examples(features, ("no", "yes")), {})


@pytest.mark.parametrize("setting", [{"top": 0}, {"min_rows": 0}, {"significance": 0.0}, {"significance": 1.0}])
def test_settings_are_checked(planted: Examples, setting: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="must be at least 1, significance between 0 and 1"):
        word_artifacts(planted, {}, **setting)
