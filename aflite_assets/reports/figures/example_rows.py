"""The rows that a report shows as examples, each as a truncated text, a thumbnail or a short vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows, brief_place
from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.reports.figures.thumbnails import thumbnail_uri
from aflite_assets.text import MAX_SHOWN_CHARACTERS, one_line, printable
from aflite_assets.wording import truncate

DEFAULT_SHOWN = {"text": 8, "features": 8, "image": 24}
"""Rows shown per side (kept, removed), by kind of input."""

_MAX_VALUES = 8


@dataclass(frozen=True)
class ExampleRow:
    """One row as a report shows it: exactly one of `texts`, `image` (a data URI) and `vector` is set.

    `problem` says why an image cannot be shown. `predictability` in [0, 1]; `removed_in_iteration` is None
    for kept rows. `place`: file and line ("train.csv, line 9"); empty where no file is known.
    """

    row_id: int
    label: str
    predictability: float | None
    removed_in_iteration: int | None
    texts: tuple[str, ...] | None = None
    image: str | None = None
    vector: str | None = None
    problem: str | None = None
    place: str = ""


def shown_examples(
    examples: Examples,
    rows: pa.Table,
    *,
    kept: bool,
    seed: int,
    most: int | None = None,
    source: SourceRows = NO_SOURCE,
) -> tuple[ExampleRow, ...]:
    """Train rows of one side, drawn at random, classes in turn, so that small classes appear too.

    `rows`: of one filtering, with row_id, split, label, kept, removed_in_iteration and predictability. `most`: so many
    are shown, by default by kind of input. `source` says where rows stand, and gives features their names and units.

    Raises:
        DataError: a drawn row is not in `examples`.
    """
    wanted = DEFAULT_SHOWN[examples.modality] if most is None else most
    side = rows.filter(pc.and_(pc.equal(rows["split"], "train"), pc.equal(rows["kept"], kept)))
    drawn = side.take(_classes_in_turn(side["label"].to_numpy(), wanted, seed))
    inputs = examples.select(drawn["row_id"].to_pylist())
    return tuple(_example_row(inputs, position, record, source) for position, record in enumerate(_records(drawn)))


def shown_rows(
    examples: Examples, rows: pa.Table, row_ids: Sequence[int], source: SourceRows = NO_SOURCE
) -> tuple[ExampleRow, ...]:
    """These of the `rows` of one filtering, in the order given; `source` says where they stand.

    Raises:
        DataError: a row is not in `examples` or not in the filtered set.
    """
    wanted = pa.array(row_ids, pa.int64())
    places = pc.index_in(wanted, value_set=rows["row_id"])
    if places.null_count:
        absent = wanted.filter(pc.is_null(places))[0]
        raise DataError(f"row {absent} is not among the rows of the filtering; materialise bias_evidence again")
    records = _records(rows.take(places))
    inputs = examples.select(row_ids)
    return tuple(_example_row(inputs, position, record, source) for position, record in enumerate(records))


def example_images(examples: Examples, shown: tuple[ExampleRow, ...]) -> list[bytes]:
    """The encoded images of shown rows, for a grid; empty bytes where one cannot be read."""
    inputs = examples.select([example.row_id for example in shown])
    return [_image(inputs, position)[0] or b"" for position in range(len(shown))]


def _records(table: pa.Table) -> list[dict[str, Any]]:
    return table.select(["row_id", "label", "predictability", "removed_in_iteration"]).to_pylist()


def _classes_in_turn(labels: np.ndarray, wanted: int, seed: int) -> np.ndarray:
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    turn = np.empty(len(labels), dtype=np.int64)
    for c in np.unique(labels):
        members = shuffled[labels[shuffled] == c]
        turn[members] = np.arange(len(members))
    chosen = np.lexsort((shuffled.argsort(), labels, turn))[:wanted]
    return chosen[np.argsort(labels[chosen], kind="stable")]


def _example_row(inputs: Examples, position: int, record: dict[str, Any], source: SourceRows) -> ExampleRow:
    score, iteration = record["predictability"], record["removed_in_iteration"]
    common: dict[str, Any] = {
        "row_id": int(inputs.row_ids[position]),
        "label": inputs.label_names[int(inputs.labels[position])],
        "predictability": float(score) if isinstance(score, float) and score == score else None,
        "removed_in_iteration": iteration,
        "place": _place(source, inputs.row_ids[position]),
    }
    if inputs.modality == "text":
        return ExampleRow(**common, texts=_texts(inputs, position))
    if inputs.modality == "features":
        return ExampleRow(
            **common, vector=short_vector(source.original(inputs.features[position]), names=source.features)
        )
    encoded, problem = _image(inputs, position)
    uri = None if encoded is None else thumbnail_uri(encoded)
    if uri is None and problem is None:
        problem = "the image cannot be decoded"
    return ExampleRow(**common, image=uri, problem=problem)


def _place(source: SourceRows, row_id: int) -> str:
    (place,) = source.of(np.array([row_id])).to_pylist()
    return "" if place["source_file"] is None else one_line(brief_place(place))


def _texts(inputs: Examples, position: int) -> tuple[str, ...]:
    columns = [name for name in ("text", "text_pair") if name in inputs.table.column_names]
    values = [inputs.table[name][position].as_py() for name in columns]
    return tuple(truncate(printable(value), MAX_SHOWN_CHARACTERS) for value in values if value is not None)


def short_vector(values: np.ndarray, names: tuple[str, ...] | None = None) -> str:
    """The first values of a row of features, with their names where there are any, and how many there are."""
    first = values[:_MAX_VALUES].tolist()
    if names is None:
        numbers = [f"{value:.3g}" for value in first]
    else:
        numbers = [f"{printable(name)} {value:.6g}" for name, value in zip(names, first, strict=False)]
    rest = f", … ({len(values)} values)" if len(values) > _MAX_VALUES else ""
    return f"({', '.join(numbers)}{rest})"


def _image(inputs: Examples, position: int) -> tuple[bytes | None, str | None]:
    try:
        return inputs.image_bytes(position), None
    except DataError as error:
        return None, str(error)
