from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.diagnostics.properties.values import Property, is_ordered, properties_of

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
            "attribute.hour": pa.array([*(f"{hour}.0" for hour in range(98)), "(empty)", "99"]),
            "attribute.record_id": pa.array([f"{number}" for number in range(100)]),
            "attribute.price": pa.array([f"{number / 4}" for number in range(100)]),
            "attribute.code": pa.array([f"{number % 50}" for number in range(100)]),
        },
    )
    found = by_name(properties_of(rows, irrelevant=["hour"]))
    assert {name: one.reason for name, one in found.items()} == {
        "attribute place": None,
        "attribute hour": "declared",
        "attribute record_id": "artefact",
        "attribute price": None,
        "attribute code": None,
    }
    values = found["attribute place"].values(rows)
    assert values is not None
    assert values[:2].tolist() == ["land", "none"]
    hours = found["attribute hour"].values(rows)
    assert hours is not None
    assert hours[[0, 98, 99]].tolist() == ["at most 12", "none", "over 86"]
    codes = found["attribute code"].values(rows)
    assert codes is not None
    assert codes[:2].tolist() == ["0", "1"]  # of at most 50 different numbers
    elsewhere = make_examples(
        ["test"] * 2, [0, 1], features=np.zeros((2, 1)), **{"attribute.hour": pa.array(["unknown", "3"])}
    )
    there = found["attribute hour"].values(elsewhere)
    assert there is not None
    assert there.tolist() == ["none", "at most 12"]
    other = make_examples(["test"] * 2, [0, 1], features=np.zeros((2, 1)))
    assert found["attribute hour"].values(other) is None


@pytest.mark.parametrize("seed", range(5))
def test_few_numbers_are_ordered_if_neighbours_go_with_the_same_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 2_000)
    words = np.clip(rng.poisson(12 + 5 * labels), 0, 40).astype(float)
    words[:20] = np.nan
    of_class = rng.permutation(40)
    sites = np.where(
        rng.random(2_000) < 0.3, of_class[rng.integers(0, 20, 2_000) + 20 * labels], rng.integers(0, 40, 2_000)
    )
    assert is_ordered(words, labels)
    assert not is_ordered(sites.astype(float), labels)
    assert not is_ordered(rng.permutation(words), labels)
    assert not is_ordered(np.full(2_000, np.nan), labels)


def test_ordered_numbers_are_binned_however_few_they_are(make_examples: MakeExamples) -> None:
    labels = [0, 1] * 100
    words = [f"{place // 2 % 20 + 8 * label}" for place, label in enumerate(labels)]
    columns = {
        "attribute.words": pa.array(words),
        "attribute.code": pa.array([f"{place % 20}" for place in range(200)]),
    }
    rows = make_examples(["train"] * 200, labels, features=np.zeros((200, 1)), **columns)
    found = by_name(properties_of(rows))
    values, codes = found["attribute words"].values(rows), found["attribute code"].values(rows)
    assert values is not None
    assert codes is not None
    assert values[:2].tolist() == ["at most 4", "over 4 to 8"]
    assert codes[:2].tolist() == ["0", "1"]


def test_of_feature_columns_only_declared_ones_and_identifiers_are_properties(make_examples: MakeExamples) -> None:
    columns = np.stack([np.arange(100.0), np.random.default_rng(0).normal(size=100), np.arange(100.0)], axis=1)
    rows = make_examples(["train"] * 100, [0, 1] * 50, features=columns)
    named = properties_of(rows, irrelevant=["height"], feature_names=["row_no", "height", "amount"])
    assert [(one.kind, one.name, one.reason) for one in named] == [
        ("column", "row_no", "artefact"),
        ("column", "height", "declared"),
    ]
    assert [one.name for one in properties_of(rows, irrelevant=["column 1"])] == ["column 1"]


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


def test_bins_of_a_standardised_column_are_named_in_the_sources_units(make_examples: MakeExamples) -> None:
    columns = np.stack([np.arange(100.0) * 250, np.arange(100.0)], axis=1)
    rows = make_examples(["train"] * 100, [0, 1] * 50, features=columns)
    scale = Scale.of(rows)
    done, names = scale.applied(rows), ["income", "row_no"]
    found = by_name(properties_of(done, irrelevant=["income"], feature_names=names, scale=scale))
    assert {name: one.reason for name, one in found.items()} == {
        "column income": "declared",
        "column row_no": "artefact",
    }
    incomes = found["column income"].values(done)
    assert incomes is not None
    assert incomes[[0, 99]].tolist() == ["at most 3000", "over 21750"]
    before = by_name(properties_of(rows, irrelevant=["income"], feature_names=names))["column income"].values(rows)
    assert before is not None
    assert incomes.tolist() == before.tolist()
