"""Values of attributes on test rows: texts, bins of numbers, and categories of challenge sets."""

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.records import TestSet
from aflite_assets.data.examples import Examples
from aflite_assets.stages.evaluation.analysis.special_sets import attribute_values

NAMES = ("yes", "no")


def _rows(**attributes: list[object]) -> Examples:
    count = len(next(iter(attributes.values())))
    table = pa.table({"row_id": np.arange(count), "label": np.arange(count) % 2, "text": ["a"] * count})
    for name, values in attributes.items():
        table = table.append_column(f"attribute.{name}", pa.array(values))
    return Examples(table, NAMES)


def _set(name: str, count: int, *, challenge: bool = False, **categories: list[object]) -> TestSet:
    given = {column: np.array(values, dtype=object) for column, values in categories.items()}
    return TestSet(name, challenge, np.arange(count), np.arange(count) % 2, NAMES, {}, given)


def test_texts_are_kept_numbers_are_binned_by_train_rows_and_categories_stand_for_attributes() -> None:
    train = _rows(mic=["air", "contact"] * 32, year=[str(year) for year in range(1960, 2024)])
    examples = {"test": _rows(mic=["air", None], year=["1959", "2023"]), "new": _rows(other=["x", "y"])}
    sets = (_set("test", 2), _set("new", 2, challenge=True, mic=["contact", None], year=["2001", "2002"]))
    mic, year = attribute_values(train, sets, examples)
    assert (mic.name, mic.few, year.name, year.few) == ("mic", True, "year", False)
    assert {name: values.tolist() for name, values in mic.values.items()} == {
        "test": ["air", "none"], "new": ["contact", "none"],
    }  # fmt: skip
    # a category of texts is not compared with bins of numbers
    assert {name: values.tolist() for name, values in year.values.items()} == {"test": ["at most 1967", "over 2015"]}


def test_a_dataset_without_attributes_has_none() -> None:
    train = Examples(_rows(mic=["a", "b"]).table.drop_columns(["attribute.mic"]), NAMES)
    assert attribute_values(train, (_set("test", 2),), {"test": train}) == ()
