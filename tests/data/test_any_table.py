"""Whatever a source holds, the raw table keeps its contract or a named error says what is wrong.

AFLITE_ANY_TABLE_EXAMPLES sets how many sources are made up.
"""

import os
import re
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.raw_table import annotators
from aflite_assets.data.raw_table.storage import load_examples, save_examples
from aflite_assets.data.raw_table.table import RawTable, build_raw_table
from aflite_assets.errors import DataError, InvalidInputError, SpecError
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.core import AnnotationsSpec

NAMES = ("label", "text", "x", "y", "", "<b>'\"\n\x00", "naïve\u202e")
VALUES = (
    "yes",
    "no",
    "-",
    "0",
    "1",
    "",
    "<script>alert(1)</script>",
    "\x00\x1b[2J",
    "\ufeff=1+1",
    "1e5",
    "0.5",
    "True",
)

whole = st.sampled_from([0, 1, 2, -1, 2**62]) | st.integers(-(2**63), 2**63 - 1)
floating = st.sampled_from([0.0, 1.0, -0.0, 0.5, np.nan, np.inf, 1e300, 1e22]) | st.floats()
texts = st.sampled_from(VALUES) | st.text(max_size=6)
binary = st.binary(max_size=4)
moment = st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(0, 2**31)
decimals = st.decimals(-1000, 1000, places=2)


def _typed(values: st.SearchStrategy[Any], *kinds: pa.DataType) -> st.SearchStrategy[tuple[Any, pa.DataType]]:
    return st.tuples(st.just(values), st.sampled_from(kinds))


def _lists(values: st.SearchStrategy[Any], kind: pa.DataType) -> st.SearchStrategy[tuple[Any, pa.DataType]]:
    ragged = st.lists(values | st.none(), max_size=3)
    pairs = st.lists(values, min_size=2, max_size=2)
    of_two = _typed(pairs, pa.list_(kind, 2), pa.list_(kind), pa.large_list(kind), pa.list_view(kind))
    return of_two | _typed(ragged, pa.list_(kind), pa.large_list(kind), pa.large_list_view(kind))


image = st.fixed_dictionaries({"bytes": binary | st.none(), "path": texts | st.none()})
image_type = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
stored_image = st.fixed_dictionaries(
    {"bytes": binary | st.none(), "path": texts | st.none(), "sha256": texts | st.none()}
)
KINDS = st.one_of(
    _typed(st.sampled_from(VALUES[:5]), pa.string()),
    _typed(texts, pa.string(), pa.large_string(), pa.string_view(), pa.json_()),
    _typed(st.integers(0, 2), pa.int8(), pa.uint64(), pa.float32()),
    _typed(whole, pa.int64()),
    _typed(floating, pa.float64()),
    _typed(st.floats(width=16), pa.float16()),
    _typed(st.booleans(), pa.bool_()),
    _typed(binary, pa.binary(), pa.large_binary(), pa.binary_view()),
    _typed(st.binary(min_size=16, max_size=16), pa.uuid(), pa.binary(16)),
    _typed(moment, *(pa.timestamp(unit, zone) for unit in ("s", "us", "ns") for zone in (None, "UTC", "Nowhere/X"))),
    _typed(moment, pa.duration("s"), pa.duration("ns"), pa.time64("us"), pa.date64()),
    _typed(st.integers(-(2**31), 2**31 - 1), pa.date32(), pa.time32("ms")),
    _typed(st.tuples(*[st.integers(0, 5)] * 3), pa.month_day_nano_interval()),
    _typed(decimals, pa.decimal128(10, 2), pa.decimal256(60, 2)),
    _typed(st.none(), pa.null()),
    _lists(floating, pa.float64()),
    _lists(whole, pa.int64()),
    _lists(texts, pa.string()),
    _lists(st.booleans(), pa.bool_()),
    _lists(st.lists(whole, max_size=2), pa.list_(pa.int64())),
    _lists(moment, pa.timestamp("s")),
    _typed(image, image_type),
    _typed(stored_image, IMAGE_TYPE),
    _typed(st.lists(st.tuples(texts, whole), max_size=2), pa.map_(pa.string(), pa.int64())),
)


ENCODINGS = ("as it is",) * 10 + ("dictionary", "run end", "struct", "same name twice", "no UTF-8")


@st.composite
def _arrays(draw: st.DrawFn, kind: tuple[st.SearchStrategy[Any], pa.DataType], encoding: str, rows: int) -> Any:
    """A column of `rows` values of one kind, now and then with nulls, in one chunk or two."""
    values, of_type = kind
    empty = draw(st.sampled_from([st.nothing()] * 4 + [st.none()]))
    array = _encoded(pa.array(draw(st.lists(values | empty, min_size=rows, max_size=rows)), of_type), encoding)
    cut = draw(st.integers(0, rows))
    parts = draw(st.sampled_from([[array], [array.slice(0, cut), array.slice(cut)]]))
    return pa.chunked_array(parts if rows else [], array.type)


def _encoded(array: pa.Array, encoding: str) -> pa.Array:
    """The same values in another of Arrow's encodings, inside of structs, or as text that is no UTF-8."""
    match encoding:
        case "dictionary" if pa.types.is_string(array.type) or pa.types.is_integer(array.type):
            return array.dictionary_encode()
        case "run end" if pa.types.is_string(array.type) or pa.types.is_floating(array.type):
            return pc.run_end_encode(array)
        case "struct":
            return pa.StructArray.from_arrays([array, array], ["bytes", "\x1b[2J"])
        case "same name twice":
            return pa.StructArray.from_arrays([array, array], ["bytes", "bytes"])
        case "no UTF-8" if pa.types.is_binary(array.type):
            return pa.Array.from_buffers(pa.string(), len(array), array.buffers())
    return array


PAIRS = st.lists(st.floats(-9, 9, width=16), min_size=2, max_size=2)
INPUTS = {
    "text": _typed(texts, pa.string(), pa.large_string(), pa.string_view()) | _typed(st.integers(0, 2), pa.int8()),
    "image": _typed(binary, pa.binary(), pa.large_binary(), pa.binary_view()) | _typed(image, image_type),
    "features": _typed(PAIRS, pa.list_(pa.float64(), 2), pa.list_(pa.float16()), pa.large_list_view(pa.float32())),
    "columns": _typed(st.floats(-9, 9), pa.float64()) | _typed(st.sampled_from(["1", " 2.5 "]), pa.string()),
}
"""Kinds of column that may be each kind of input."""


@dataclass(frozen=True)
class Dataset:
    """Splits, a spec of their columns, and perhaps a file of annotators' labels."""

    tables: dict[str, pa.Table]
    columns: ColumnsSpec
    annotations: AnnotationsSpec | None
    file: pa.Table


@st.composite
def _datasets(draw: st.DrawFn) -> Dataset:
    """One or two splits, mostly with the same columns, and a spec that mostly names columns there are."""
    modality = draw(st.sampled_from(sorted(INPUTS)))
    plan = draw(st.lists(st.tuples(st.sampled_from(NAMES), KINDS, st.sampled_from(ENCODINGS)), max_size=3))
    if draw(st.integers(0, 9)):
        plan = list({name: (name, kind, encoding) for name, kind, encoding in plan}.values())
    plan.append(("input", draw(INPUTS[modality]), draw(st.sampled_from(ENCODINGS))))
    plan.append(("gold", (st.sampled_from(["yes", "no"]), pa.string()), "as it is"))
    tables = {}
    for split in draw(st.sampled_from([["train"], ["dev"], ["train", "dev"]])):
        rows = draw(st.sampled_from([1, 2, 3, 4, 4, 4, 6, 0]))
        there = plan if draw(st.integers(0, 9)) else plan[1:]
        arrays = [draw(_arrays(kind, encoding, rows)) for _, kind, encoding in there]
        tables[split] = pa.Table.from_arrays(arrays, [name for name, _, _ in there])
    names = [name for name, _, _ in plan]
    columns = draw(_columns(modality, names))
    file = pa.Table.from_arrays([draw(_arrays(kind, encoding, 4)) for _, kind, encoding in plan], names)
    annotations = None
    if columns.annotators is None and draw(st.booleans()):
        match = draw(st.dictionaries(st.sampled_from(names), st.sampled_from(names), min_size=1, max_size=2))
        given_by = draw(st.sampled_from(["gold"] * 5 + names))
        annotations = AnnotationsSpec(format="parquet", files="annotations", match=match, annotators=given_by)
    return Dataset(tables, columns, annotations, file)


@st.composite
def _columns(draw: st.DrawFn, modality: str, names: list[str]) -> ColumnsSpec:
    any_name = st.sampled_from(names * 5 + ["missing"])
    input_name = st.sampled_from(["input"] * 20 + names)
    chosen: dict[str, Any] = {"label": draw(st.sampled_from(["gold"] * 20 + names))}
    if modality == "columns":
        chosen["features"] = (draw(input_name), *draw(st.lists(any_name, max_size=1)))
    else:
        chosen[modality] = draw(input_name)
    if modality == "text" and draw(st.booleans()):
        chosen["text_pair"] = draw(any_name)
    several = st.lists(any_name, min_size=1, max_size=3).map(tuple)
    others = {"id": any_name, "group": any_name, "annotators": any_name | several, "attributes": several}
    optional = draw(st.sets(st.sampled_from(sorted(others)), max_size=2))
    chosen |= {field: draw(others[field]) for field in sorted(optional)}
    try:
        return ColumnsSpec(**chosen)
    except ValidationError:  # a column named twice: the spec's own tests have that
        reject()


OPTIONS = st.fixed_dictionaries(
    {
        "label_names": st.sampled_from(
            [
                None,
                None,
                ("yes", "no"),
                ("0", "1"),
                {"a": "yes", "b": ("no", "-", 1)},
                {"a": None, "b": "yes"},
                {"a": 0, "b": 1},
            ]
        ),
        "unlabelled": st.lists(st.sampled_from(["-", -1, 2, None, "", "no"]), max_size=2).map(tuple),
        "limit": st.sampled_from([None, None, {"train": 3}, {"train": 2, "dev": 1}]),
        "seed": st.integers(0, 3),
        "complete": st.booleans(),
    }
)


@settings(
    max_examples=int(os.environ.get("AFLITE_ANY_TABLE_EXAMPLES", "150")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(dataset=_datasets(), options=OPTIONS)
def test_any_table_is_built_or_refused_by_name(
    tmp_path_factory: pytest.TempPathFactory, dataset: Dataset, options: dict[str, Any]
) -> None:
    columns, annotations = dataset.columns, dataset.annotations
    try:
        with mock.patch.object(annotators, "read_table_file", return_value=dataset.file):
            raw = build_raw_table(dataset.tables, columns=columns, annotations=annotations, **options)
    except (DataError, SpecError, InvalidInputError) as error:
        refused = str(error)
    else:
        refused = ""
    event(
        re.sub(r"'[^']*'|\d+", "_", refused)[:40] or f"built: {raw.examples.modality}, {raw.examples.table.num_columns}"
    )
    if refused:
        assert refused.isprintable()  # a terminal would obey control characters
        assert len(refused) < 3000
        return
    _check_contract(raw, dataset, complete=options["complete"])
    folder = tmp_path_factory.mktemp("shards")
    save_examples(raw.examples, folder)
    loaded = load_examples(folder)
    assert loaded.label_names == raw.examples.label_names
    assert loaded.table.replace_schema_metadata(None).equals(raw.examples.table)


def _check_contract(raw: RawTable, dataset: Dataset, *, complete: bool) -> None:
    tables, columns = dataset.tables, dataset.columns
    table, names = raw.examples.table, raw.examples.label_names
    table.validate(full=True)
    assert table.schema == pa.schema(
        _contract(columns, annotated=dataset.annotations is not None or columns.annotators is not None)
    )
    for name in table.column_names:
        assert table[name].null_count == 0
    starts = dict(zip(tables, np.cumsum([0, *(len(t) for t in tables.values())]), strict=False))
    assert (np.diff(raw.examples.row_ids) > 0).all()
    assert set(table["split"].to_pylist()) <= set(tables)
    assert ((raw.examples.labels >= 0) & (raw.examples.labels < len(names))).all()
    assert len(set(names)) == len(names)
    for split, source in tables.items():
        part = raw.examples.in_split(split)
        assert raw.source_rows[split] == len(source)
        assert len(part) <= len(source) - raw.unlabelled_rows[split]
        assert ((part.row_ids >= starts[split]) & (part.row_ids < starts[split] + len(source))).all()
        assert columns.id is None or len(set(part.table["source_id"].to_pylist())) == len(part)
        assert not complete or len(np.unique(part.labels)) >= (2 if split == "train" else 1)
    if "annotator_labels" in table.column_names:
        assert set(pc.list_flatten(table["annotator_labels"]).to_pylist()) <= set(range(len(names)))
    _check_inputs(raw)


def _check_inputs(raw: RawTable) -> None:
    match raw.examples.modality:
        case "features":
            assert np.isfinite(raw.examples.features).all()
            assert raw.examples.features.shape[0] == len(raw.examples)
        case "image":
            for image in raw.examples.table["image"].to_pylist():
                assert image["bytes"] is not None or (image["path"] is not None and image["sha256"] is not None)
        case "text":
            assert all(isinstance(text, str) for text in raw.examples.texts())


def _contract(columns: ColumnsSpec, *, annotated: bool) -> list[tuple[str, pa.DataType]]:
    """The raw table's columns, from the words of `Examples`."""
    fields = [("row_id", pa.int64()), ("source_id", pa.string()), ("split", pa.string()), ("label", pa.int64())]
    if columns.features is not None:
        fields.append(("features", pa.list_(pa.float32())))
    if columns.image is not None:
        fields.append(("image", IMAGE_TYPE))
    fields += [(name, pa.string()) for name in ("text", "text_pair") if getattr(columns, name) is not None]
    if columns.group is not None:
        fields.append(("group", pa.int64()))
    if annotated:
        fields.append(("annotator_labels", pa.list_(pa.int64())))
    return fields + [(f"attribute.{name}", pa.string()) for name in dict.fromkeys(columns.attributes)]
