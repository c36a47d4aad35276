from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.properties.values import Property, properties_of

MakeExamples = Callable[..., Examples]


def by_name(properties: tuple[Property, ...]) -> dict[str, Property]:
    return {f"{one.kind} {one.name}": one for one in properties}


def test_attributes_are_names_or_bins_of_numbers(make_examples: MakeExamples) -> None:
    rows = make_examples(
        ["train"] * 100,
        [0, 1] * 50,
        features=np.zeros((100, 1)),
        **{
            "attribute.place": pa.array(["land", None] * 50),
            "attribute.hour": pa.array(np.arange(100.0)),
            "attribute.record_id": pa.array(np.arange(100)),
            "attribute.price": pa.array(np.arange(100)),
        },
    )
    found = by_name(properties_of(rows, irrelevant=["hour"]))
    assert {name: one.reason for name, one in found.items()} == {
        "attribute place": None,
        "attribute hour": "declared",
        "attribute record_id": "artefact",
        "attribute price": None,
    }
    values = found["attribute place"].values(rows)
    assert values is not None
    assert values[:2].tolist() == ["land", "none"]
    hours = found["attribute hour"].values(rows)
    assert hours is not None
    assert hours[[0, 99]].tolist() == ["at most 12", "over 87"]
    other = make_examples(["test"] * 2, [0, 1], features=np.zeros((2, 1)))
    assert found["attribute hour"].values(other) is None


def test_of_feature_columns_only_declared_ones_and_identifiers_are_properties(make_examples: MakeExamples) -> None:
    columns = np.stack([np.arange(100.0), np.random.default_rng(0).normal(size=100), np.arange(100.0)], axis=1)
    rows = make_examples(["train"] * 100, [0, 1] * 50, features=columns)
    named = properties_of(rows, irrelevant=["height"], feature_names=["row_no", "height", "amount"])
    assert [(one.kind, one.name, one.reason) for one in named] == [
        ("column", "row_no", "artefact"),
        ("column", "height", "declared"),
    ]
    assert [one.name for one in properties_of(rows, irrelevant=["column 1"])] == ["column 1"]


@pytest.mark.parametrize(
    ("name", "text", "other"),
    [
        ("ends without a full stop", "no stop", "A stop. "),
        ("two blanks in a row", "a  b", "a b"),
        ("blank at the beginning or end", " a", "a"),
        ("begins with a small letter", "(a b", "A b"),
        ("begins with a small letter", "über uns", "Über uns"),
        ("no small letter", "OH NO!", "Oh NO"),
        ("no small letter", "ÄRGER", "ÄRGER ä"),
        ("line break", "a\nb", "a b\n"),
        ("markup", "a <br/> b", "a < b > c"),
        ("exclamation mark", "Oh!", "Oh"),
    ],
)
def test_typography_is_an_artefact(make_examples: MakeExamples, name: str, text: str, other: str) -> None:
    rows = make_examples(["train"] * 2, [0, 1], text=[text, other])
    one = by_name(properties_of(rows))[f"typography {name} (text)"]
    values = one.values(rows)
    assert values is not None
    assert (one.reason, values.tolist()) == ("artefact", ["yes", "no"])


@pytest.mark.parametrize("text", ["", " ", "1 . ,", "\t\n"])
def test_a_text_without_letters_or_words_has_no_typography_of_either(make_examples: MakeExamples, text: str) -> None:
    rows = make_examples(["train"] * 2, [0, 1], text=[text, "a"])
    found = by_name(properties_of(rows))
    names = ("begins with a small letter", "no small letter", "line break", "two blanks in a row")
    values = [found[f"typography {name} (text)"].values(rows) for name in names]
    assert [None if each is None else each[0] for each in values] == ["no"] * 4


def test_the_time_for_typography_grows_with_the_text(make_examples: MakeExamples) -> None:
    """Patterns that backtrack cost the square of the length: three minutes for the line breaks, as long for the A's."""
    texts = [" a" + "\n" * 200_000, "A" * 200_000 + "a", "<a" * 200_000]
    rows = make_examples(["train"] * 3, [0, 1, 1], text=texts)
    found = by_name(properties_of(rows))
    values = {name: one.values(rows) for name, one in found.items() if one.kind == "typography"}
    leading = values["typography blank at the beginning or end (text)"]
    assert leading is not None
    assert leading.tolist() == ["yes", "no", "no"]


def test_the_word_that_goes_with_a_class_most_is_a_property_of_its_text(make_examples: MakeExamples) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 200)
    words = [rng.choice(["a", "b", "c"], 3).tolist() for _ in labels]
    for number, label in enumerate(labels):
        words[number] += ["Not"] * bool(rng.random() < 0.1 + 0.5 * label) + ["never"] * bool(
            rng.random() < 0.1 + 0.3 * label
        )
    rows = make_examples(
        ["train"] * 400, labels.tolist(), text=["why"] * 400, text_pair=[" ".join(one) for one in words]
    )
    found = [one for one in properties_of(rows) if one.kind == "word"]
    assert [(one.name, one.word) for one in found] == [("text_pair", "not")]
    values = found[0].values(rows)
    assert values is not None
    assert values.tolist() == ["yes" if "Not" in one else "no" for one in words]
    assert {one.name for one in properties_of(rows) if one.kind == "length"} >= {"number of words of text_pair"}
