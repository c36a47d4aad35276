"""Columns of the published tables, as Dagster shows them: types, meanings, and source columns."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.raw_table.storage import examples_schema
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.published import FINE_TUNE, open_features, read_challenge_sets
from aflite_assets.studies import parts

Types = dict[str, str]
"""Types of a table's columns by column name, in order."""

_INPUTS = ("text", "text_pair", "image", "features")
_ATTRIBUTE = "attribute."

_MEANINGS = {
    "row_id": "the row's position in the source, before any row is dropped",
    "source_id": "the source's own id, or a hash of the row's content",
    "split": "train, or another of the dataset's splits",
    "label": "class number, from 0 in the order of the dataset's labels",
    "text": "input: the text, or the first one of a pair",
    "text_pair": "input: the second text of a pair",
    "image": "input: an encoded image, or the path of its file",
    "features": "input: one number per feature",
    "group": "rows of one group are never split between the training and the held-out part of a partition",
    "annotator_labels": "class numbers that single annotators chose",
    "warmup_label_probability": "probability of the row's label under the warm-up model, 0 to 1",
    "kept": "whether the row is in the filtered set",
    "removed_in_iteration": "iteration in which the row was removed, from 0; empty if it was kept",
    "predictability": "share of the row's held-out predictions that were right, 0 to 1, in the last iteration with any",
    "held_out_count": "number of the row's held-out predictions in its last iteration",
    "label_probability": "mean held-out probability of the row's label in the first iteration, 0 to 1",
    "last_label_probability": "mean held-out probability of the row's label in its last iteration, if it ranks rows",
    "representation": "the representation that the filtered set belongs to",
    "name": "sampled, random, random_matched, single_pass_model, single_pass_linear, weighted, or an earlier size",
    "seed": "seed of the draw; empty if nothing was drawn",
    "status": "kept or removed; warm-up, not sampled or not filtered if the row never entered the filter",
    "id": "the source's own id, or the row's split in the source and its number there",
    "source_row": "the row's number in its split of the source, from 0, before any row is dropped",
    "content_hash": "hash of the row's input",
    "weight": "share of the row's class divided by label_probability, 0.25 to 4",
    "test_set": "the split or challenge set predicted on",
    "predicted": "number of the predicted class",
    "probabilities": "predicted probability per class; empty for evaluators without probabilities",
}
_MEANINGS_HERE = {
    ("embeddings", "features"): "features.npy: the encoder's features of the row, one number per feature",
    ("published_dataset", "predictability"): "predictability of the row, 0 to 1; configuration full_tagged",
    ("published_dataset", "removed_in_iteration"): "iteration in which the row was removed; configuration full_tagged",
    ("published_dataset", "status"): "kept, removed, warm-up, not sampled or not filtered; configuration full_tagged",
    ("published_dataset", "source_id"): "the source's own id",
    ("published_dataset", "row_id"): "the row's position in the source",
    (
        "published_dataset",
        "weight",
    ): "share of the class divided by label probability, 0.25 to 4; configuration full_tagged",
}

Sources = tuple[tuple[str, str], ...]
"""Source columns, each as (asset, column)."""


@dataclass(frozen=True)
class StudyColumns:
    """Columns of the table in the file `file` of a study's asset, which may be missing.

    `sources`: the source columns of each column. `meanings`: the meaning of columns that only this asset has.
    """

    asset: str
    file: str
    sources: Mapping[str, Sources]
    meanings: Mapping[str, str] = field(default_factory=dict)

    def schemas(self, result: PublishedResult) -> Iterable[pa.Schema]:
        """Return the schema of the table, or nothing if the result has no such file."""
        return [pq.read_schema(path) for path in result.path.glob(self.file)]


_RAW_INPUTS: Sources = tuple(("raw_dataset", name) for name in _INPUTS)
_TESTED: Sources = (*_RAW_INPUTS, *(("challenge_sets", name) for name in _INPUTS))
_TRAINED: Sources = (("raw_dataset", "label"), ("filtered_sets", "kept"), ("control_sets", "row_id"))
_FILTERED: Sources = (("embeddings", "features"), ("embeddings", "label"), ("embeddings", "group"))

_COMES_FROM: Mapping[str, Mapping[str, Sources]] = {
    "warmup_split": {"row_id": (("raw_dataset", "row_id"),), "label": (("raw_dataset", "label"),)},
    "embeddings": {
        **{name: (("raw_dataset", name),) for name in ("row_id", "split", "label", "group")},
        "warmup_label_probability": (*_RAW_INPUTS, ("raw_dataset", "label")),
        "features": _RAW_INPUTS,
    },
    "filtered_sets": {
        **{name: (("embeddings", name),) for name in ("row_id", "split", "label", "group")},
        **dict.fromkeys(
            ("kept", "removed_in_iteration", "predictability", "held_out_count", "label_probability"), _FILTERED
        ),
    },
    "control_sets": {
        "split": (("raw_dataset", "split"),),
        "row_id": (
            ("raw_dataset", "row_id"),
            ("raw_dataset", "label"),
            ("filtered_sets", "kept"),
            ("filtered_sets", "predictability"),
            ("embeddings", "warmup_label_probability"),
        ),
    },
    "published_dataset": {
        "status": (("filtered_sets", "kept"),),
        "predictability": (("filtered_sets", "predictability"),),
        "removed_in_iteration": (("filtered_sets", "removed_in_iteration"),),
        "weight": (("filtered_sets", "label_probability"), ("filtered_sets", "label")),
    },
    "evaluator_models": {
        "test_set": (("raw_dataset", "split"),),
        "row_id": (("raw_dataset", "row_id"), ("challenge_sets", "row_id")),
        "predicted": (*_TESTED, *_TRAINED),
        "probabilities": (*_TESTED, *_TRAINED),
    },
    **{one.asset: one.sources for one in parts("assets.columns", StudyColumns)},
}
"""The source columns of each column, by asset and column; columns that a dataset lacks are not shown."""


def column_metadata(result: PublishedResult, store: ResultStore) -> dict[str, Any]:
    """Return the column schema of a result's table and, if there are source columns, the column lineage.

    Return an empty dict for a result without a table. Only the headers of Parquet and npy files are read.
    """
    types = column_types(result)
    if not types:
        return {}
    parents = column_parents(result, store)
    columns = [
        dg.TableColumn(name, kind, _described(result, name, parents.get(name, ()))) for name, kind in types.items()
    ]
    schema = {"dagster/column_schema": dg.TableSchema(columns)}
    if not parents:
        return schema
    lineage = {name: [dg.TableColumnDep(asset, column) for asset, column in each] for name, each in parents.items()}
    return {**schema, "dagster/column_lineage": dg.TableColumnLineage(lineage)}


def column_types(result: PublishedResult) -> Types:
    """Return the type of every column in a result's tables; a column that occurs in several tables is listed once."""
    types: Types = {}
    for schema in _TABLES.get(result.asset, lambda _: ())(result):
        types |= {field.name: str(field.type) for field in schema if field.name not in types}
    if result.asset == "embeddings":
        widths = {np.shape(open_features(part))[1]: None for part in result.parts.values()}
        types["features"] = f"float32[{', '.join(map(str, widths))}]"
    return types


def column_parents(result: PublishedResult, store: ResultStore) -> dict[str, Sources]:
    """Return, for each column, its source columns in the current results of other assets.

    Raises:
        StoreError: an input of the asset was never materialised.
    """
    rules = _COMES_FROM.get(result.asset, {})
    inputs = STAGES[result.asset].input_names
    there = {name: column_types(store.current(name, result.partition)) for name in inputs if rules}
    if result.asset == "published_dataset":
        rules = _published_rules(result)
    parents: dict[str, Sources] = {}
    for column in column_types(result):
        wanted = rules.get(column, ())
        sources = tuple((asset, name) for asset, name in wanted if name in there[asset])
        if sources:
            parents[column] = sources
    return parents


def _published_rules(result: PublishedResult) -> Mapping[str, Sources]:
    """Return the source columns of the published dataset's columns, by published name."""
    from_raw = {name: (("raw_dataset", column),) for name, column in result.summary.get("columns", {}).items()}
    fate = result.summary.get("fate_columns", {})
    return from_raw | {name: _COMES_FROM["published_dataset"][column] for name, column in fate.items()}


def _plain_name(result: PublishedResult, column: str) -> str:
    """Return the name under which a column is documented; in the published dataset, columns have the source's names."""
    summary = result.summary if result.asset == "published_dataset" else {}
    if column in ("id", "source_row", "content_hash"):
        return column
    names = {**summary.get("columns", {}), **summary.get("fate_columns", {})}
    return str(names.get(column, column))


def _meaning(asset: str, column: str) -> str | None:
    if column.startswith(_ATTRIBUTE):
        return "copied from the source's column of this name"
    studied = {one.asset: one.meanings for one in parts("assets.columns", StudyColumns)}.get(asset, {})
    return _MEANINGS_HERE.get((asset, column), studied.get(column, _MEANINGS.get(column)))


def _described(result: PublishedResult, column: str, parents: Sources) -> str | None:
    """Return the meaning and the source columns of a column as text.

    The open-source version of Dagster does not show column lineage, so the text contains the source columns.
    """
    meaning = _meaning(result.asset, _plain_name(result, column))
    if not parents:
        return meaning
    return "; ".join(filter(None, (meaning, f"from {', '.join(f'{name}.{parent}' for name, parent in parents)}")))


def _challenge_schemas(result: PublishedResult) -> Iterable[pa.Schema]:
    for name, facts in read_challenge_sets(result).sets.items():
        yield examples_schema(result.path / name)
        if facts.fine_tune is not None:
            yield examples_schema(result.path / name / FINE_TUNE)


def _of_parts(file: str) -> Callable[[PublishedResult], Iterable[pa.Schema]]:
    """Return a function that reads the schema of a file from each part of a result; parts without the file are left
    out.
    """
    return lambda result: [
        pq.read_schema(part.path / file) for part in result.parts.values() if file in part.manifest["files"]
    ]


_TABLES: Mapping[str, Callable[[PublishedResult], Iterable[pa.Schema]]] = {
    "raw_dataset": lambda result: [examples_schema(result.path)],
    "challenge_sets": _challenge_schemas,
    "warmup_split": lambda result: [pq.read_schema(result.file("rows.parquet"))],
    "embeddings": _of_parts("rows.parquet"),
    "filtered_sets": _of_parts("rows.parquet"),
    "control_sets": lambda result: [pq.read_schema(result.file("sets.parquet"))],
    "published_dataset": lambda result: map(pq.read_schema, sorted(result.path.glob("data/full_tagged*/*.parquet"))),
    "evaluator_models": _of_parts("predictions.parquet"),
    **{one.asset: one.schemas for one in parts("assets.columns", StudyColumns)},
}
"""Functions that return the schemas of the tables in a result, by asset."""
