"""How columns are called in the published folder, and what the project adds to them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.stages.filtering.published_columns import PublishedColumns, published_table


def raw(**columns: Any) -> Examples:
    """Rows 2, 5 and 9 of a source of six train rows and six test rows, of which the second was drawn for dev."""
    given = {"row_id": [2, 5, 9], "source_id": ["a", "b", "c"], "split": ["train", "dev", "test"], "label": [0, 1, 0]}
    return Examples(pa.table({**given, **columns}), ("no", "yes"))


SOURCE_ROWS = {"train": 6, "test": 6}


def published(examples: Examples, **columns: Any) -> dict[str, list[Any]]:
    names = PublishedColumns.of(examples, ColumnsSpec(**columns))
    table = published_table(examples, names, SOURCE_ROWS)
    assert set(names.raw_columns) == set(table.column_names)
    found: dict[str, list[Any]] = table.to_pydict()
    return found


def test_texts_have_the_names_of_the_users_columns_and_rows_their_place_in_the_source() -> None:
    examples = raw(text=["x", "y", "z"], text_pair=["u", "v", "w"], group=[0, 0, 1])
    assert published(examples, text="premise", text_pair="hypothesis", label="gold") == {
        "id": ["train-2", "train-5", "test-3"],
        "premise": ["x", "y", "z"],
        "hypothesis": ["u", "v", "w"],
        "gold": [0, 1, 0],
        "group": [0, 0, 1],
        "source_row": [2, 5, 3],
        "content_hash": ["a", "b", "c"],
    }


def test_the_sources_ids_are_kept() -> None:
    found = published(raw(text=["x", "y", "z"]), text="review", id="number")
    assert found["id"] == ["a", "b", "c"]
    assert "content_hash" not in found
    assert found["source_row"] == [2, 5, 3]


def test_sources_that_make_images_give_ids_and_features_have_none() -> None:
    image = [{"bytes": b"x", "path": None, "sha256": None}] * 3
    assert published(raw(image=image))["id"] == ["a", "b", "c"]
    assert published(raw(features=[[1.0], [2.0], [3.0]]))["id"] == ["train-2", "train-5", "test-3"]


def test_a_column_per_feature_stays_one() -> None:
    features = pa.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], pa.list_(pa.float32()))
    found = published(raw(features=features), features=("width", "height"))
    assert (found["width"], found["height"]) == ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert "features" not in found
    one = pa.array([[1.0], [2.0], [3.0]], pa.list_(pa.float32()))
    assert published(raw(features=one), features=("width",))["width"] == [1.0, 2.0, 3.0]
    assert published(raw(features=one), features="vector")["vector"] == [[1.0], [2.0], [3.0]]


def test_attributes_have_their_own_names_once() -> None:
    columns = {"attribute.kind": ["a", "b", "c"], "attribute.review": ["x", "y", "z"]}
    found = published(raw(text=["x", "y", "z"], **columns), text="review", attributes=("kind", "review"))
    assert found["kind"] == ["a", "b", "c"]
    assert found["review"] == ["x", "y", "z"]
    assert list(found) == ["id", "review", "label", "kind", "source_row", "content_hash"]


def test_a_users_column_keeps_its_name_where_the_project_has_the_same() -> None:
    columns = {"attribute.weight": ["1", "2", "3"], "attribute.group": ["g", "g", "h"], "group": [0, 0, 1]}
    examples = raw(text=["x", "y", "z"], **columns)
    spec = {"text": "status", "group": "group", "attributes": ("weight", "group")}
    found = published(examples, **spec)
    assert (found["group"], found["aflite_group"]) == (["g", "g", "h"], [0, 0, 1])
    own = PublishedColumns.of(examples, ColumnsSpec.model_validate(spec)).own
    assert (own["weight"], own["status"]) == ("aflite_weight", "aflite_status")
    assert own["predictability"] == "predictability"


@pytest.mark.parametrize(("text", "name"), [("id", "aflite_id"), ("other", "id")])
def test_the_ids_column_is_called_id_unless_a_text_is(text: str, name: str) -> None:
    examples = raw(text=["x", "y", "z"], **{"attribute.id": ["a", "b", "c"]})
    columns = ColumnsSpec(text=text, id="number") if text == "id" else ColumnsSpec(text=text, id="id")
    names = PublishedColumns.of(examples, columns)
    assert names.own["id"] == name
    assert published_table(examples, names, SOURCE_ROWS)[name].to_pylist() == ["a", "b", "c"]


def test_feature_columns_are_float32() -> None:
    features = pa.array(np.eye(3, 2).tolist(), pa.list_(pa.float32()))
    examples = raw(features=features)
    names = PublishedColumns.of(examples, ColumnsSpec(features=("a", "b")))
    assert published_table(examples, names, SOURCE_ROWS).schema.field("b").type == pa.float32()
