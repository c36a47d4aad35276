"""Conversion of a source's columns to columns of the raw table: texts, images, source ids and attributes.

The modules `feature_columns`, `labels` and `annotators` convert the other columns.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.formats.image_folders import named_images
from aflite_assets.data.formats.row_places import BadRowError, files_of, folder_of_images
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.raw_table.feature_columns import feature_matrix
from aflite_assets.data.raw_table.value_limits import LARGEST_IMAGE, check_sizes, check_texts, narrow
from aflite_assets.data.raw_table.values import as_texts, is_bytes, is_list, is_number, is_text, plain, shown
from aflite_assets.data.synthetic.circles import list_column
from aflite_assets.errors import DataError
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.wording import did_you_mean, quoted_list

_INPUTS = ("features", "text", "image")
NO_VALUE = "(empty)"
"""Text for an attribute without a value."""
_NAMING_FIELDS = (
    "label", "text", "text_pair", "image", "features", "id", "group", "question", "annotators", "attributes",
)  # fmt: skip
_MOST_NAMES = 30
_NAME_LENGTH = 80


def require_columns(split: str, table: pa.Table, columns: ColumnsSpec) -> None:
    """Raise an error if a column named in the spec is missing, occurs twice, or contains an invalid value.

    Raises:
        DataError: a column is missing or occurs twice, a text is too long or not UTF-8, or a column contains lists
            instead of single values.
    """
    known = Counter(table.column_names)
    headed = any(file["format"] in ("csv", "tsv") and file["header"] for file in files_of(table))
    for field, column in _named(columns):
        require_column(f"split {split!r}", known, column, field=f"columns.{field}", headed=headed)
    if all(getattr(columns, name) is None for name in _INPUTS):
        raise DataError(
            f"`columns` names no input (the columns of split {split!r} are [{_column_list(table.column_names)}]); set "
            "`columns.text`, `columns.image` or `columns.features`"
        )
    for field, column in _named(columns):
        if field in ("label", "id", "group", "question", "attributes"):
            check_texts(f"split {split!r}", column, table[column])
        if field in ("label", "id", "group", "question") and pa.types.is_nested(plain(table[column]).type):
            raise DataError(
                f"split {split!r}: column {column!r} has the type {shown(str(table[column].type))}, but "
                f"`columns.{field}` needs one value per row; name a column of texts or numbers"
            )


def require_column(place: str, known: Mapping[str, int], column: str, *, field: str, headed: bool = False) -> None:
    """Raise an error if a table lacks the column that a field of the spec names.

    `place`: the name of the table in error messages. `known`: the table's column names, with the number of columns of
    each name. `headed`: True if the column names are in the first line of a csv or tsv file.

    Raises:
        DataError: the column is missing or occurs twice.
    """
    if known.get(column, 0) > 1:
        raise DataError(f"{place} has {known[column]} columns named {column!r}; rename all of these columns but one")
    if column not in known:
        raise DataError(
            f"{place} has no column {column!r}, but `{field}` names it (the columns are [{_column_list(known)}])"
            + (did_you_mean(column, known) or _why_missing(known, headed=headed))
        )


def _why_missing(known: Iterable[str], *, headed: bool) -> str:
    if headed and any("\t" in name for name in known):
        return "; the columns seem to be separated by tabs, so try `format: tsv`"
    if headed:
        return (
            "; correct the spec, or if the first line is a row instead of a header, set `header: false` and `names` "
            "in `source`"
        )
    return "; correct the spec"


def _column_list(names: Iterable[str]) -> str:
    return quoted_list(names, most=_MOST_NAMES, length=_NAME_LENGTH)


def _named(columns: ColumnsSpec) -> list[tuple[str, str]]:
    """Yield every column name in a spec and the name of its field."""
    named = []
    for field in _NAMING_FIELDS:
        value = getattr(columns, field)
        names = value if isinstance(value, tuple) else (value,)
        named += [(field, name) for name in names if name is not None]
    return named


def input_columns(split: str, table: pa.Table, columns: ColumnsSpec) -> dict[str, pa.Array | pa.ChunkedArray]:
    """Return the input columns: `features` (list<float32>), or `image`, or `text` with an optional `text_pair`.

    Raises:
        DataError: a text or image is missing or too large, or features differ in length, are not numbers, or are not
            finite as float32.
    """
    if columns.features is not None:
        return {"features": list_column(feature_matrix(split, table, columns.features))}
    if columns.image is not None:
        return {"image": _image_column(split, columns.image, table[columns.image], folder_of_images(table))}
    names = {"text": columns.text, "text_pair": columns.text_pair}
    return {field: _text_column(split, name, table[name], field) for field, name in names.items() if name is not None}


def attribute_column(split: str, name: str, column: pa.ChunkedArray) -> pa.Array:
    """Return an attribute column as text; missing values become "(empty)".

    Raises:
        DataError: the values cannot be converted to text.
    """
    try:
        return pa.array([NO_VALUE if value is None else value for value in as_texts(column)], pa.string())
    except DataError as error:
        raise DataError(f"split {split!r}: `columns.attributes` contains {name!r}, but {error}") from error


def given_ids(split: str, name: str, column: pa.ChunkedArray) -> pa.Array:
    """Return the source's own ids as text.

    Raises:
        DataError: an id is missing or occurs twice in the split.
    """
    ids = as_texts(column)
    rows: dict[str, int] = {}
    for row, value in enumerate(ids):
        if value is None or rows.setdefault(value, row) != row:
            seen = f"is empty in row {row + 1}" if value is None else _twice(value, rows[value], row)
            raise BadRowError(
                f"split {split!r}: column {name!r} {seen}; set `columns.id` to a column of unique ids, or to null to "
                "use hashes of the content",
                place=f"split {split!r}",
                row=row,
            )
    return pa.array(ids, pa.string())


def _twice(value: str, first: int, again: int) -> str:
    return f"has {shown(value)} in rows {first + 1} and {again + 1}"


def content_ids(inputs: Sequence[pa.ChunkedArray]) -> pa.Array:
    """Return a hash of each row's inputs with 16 hexadecimal digits; only one row is in memory at a time."""
    return pa.array([digest.hex()[:16] for digest in _digests(inputs)], pa.string())


def content_digests(inputs: Mapping[str, pa.Array | pa.ChunkedArray]) -> Iterator[bytes]:
    """Return the SHA-256 of each row's complete input; the columns are from `input_columns`."""
    columns = inputs.values()
    return _digests([one if isinstance(one, pa.ChunkedArray) else pa.chunked_array([one]) for one in columns])


def _digests(inputs: Sequence[pa.ChunkedArray]) -> Iterator[bytes]:
    contents = [_contents(values) for values in inputs]
    return (_content_digest(row) for row in zip(*contents, strict=True))


def _text_column(split: str, name: str, column: pa.ChunkedArray, field: str) -> pa.ChunkedArray:
    check_texts(f"split {split!r}", name, column)
    column = plain(column)
    if not (is_text(column.type) or is_number(column.type) or pa.types.is_null(column.type)):
        raise DataError(
            f"split {split!r}: column {name!r} has the type {shown(str(column.type))}, but `columns.{field}` needs "
            "texts or numbers; convert the column in the source, or name another column"
            + (" (columns with lists of numbers belong in `columns.features`)" if is_list(column.type) else "")
        )
    missing = pc.is_null(column, nan_is_null=True)
    rows = pc.sum(missing).as_py() or 0
    if rows:
        first = pc.index(missing, True).as_py()
        raise BadRowError(
            f"split {split!r}: column {name!r} has no text in {rows} rows (first: row {first + 1}); add the texts or "
            "delete the rows in the source",
            place=f"split {split!r}",
            row=first,
        )
    if is_text(column.type):
        return narrow(column, pa.string())
    return pa.chunked_array([pa.array([str(value) for value in column.to_pylist()], pa.string())])


def _image_column(split: str, name: str, column: pa.ChunkedArray, folder: str | None) -> pa.ChunkedArray:
    column = plain(column)
    if is_text(column.type):
        try:
            texts = as_texts(column)
        except DataError as error:
            raise DataError(f"split {split!r}: `columns.image` is {name!r}, but {error}") from error
        if folder is None:
            raise DataError(
                f"split {split!r}: column {name!r} holds texts (first: {shown(texts[0] or '')}), but every row "
                "needs an encoded image; if the texts are names of image files, set `images` in `source` to their "
                "folder"
            )
        return named_images(split, name, texts, Path(folder))
    encoded = column
    if pa.types.is_struct(column.type) and column.type.get_field_index("bytes") >= 0:
        encoded = plain(pc.struct_field(column, "bytes"))
    if not is_bytes(encoded.type) or (column.type != IMAGE_TYPE and encoded.null_count):
        raise DataError(
            f"split {split!r}: column {name!r} has the type {shown(str(column.type))} and {encoded.null_count} empty "
            "rows, but every row needs an encoded image; store images as bytes or as structs with bytes"
        )
    check_sizes(f"split {split!r}", name, encoded, LARGEST_IMAGE)
    if column.type == IMAGE_TYPE:
        _require_content(split, name, column)
        return column
    return pa.chunked_array([_images(chunk) for chunk in narrow(encoded, pa.binary()).chunks], IMAGE_TYPE)


def _images(contents: pa.Array) -> pa.Array:
    nothing = pa.nulls(len(contents), pa.string())
    return pa.StructArray.from_arrays([contents, nothing, nothing], fields=list(IMAGE_TYPE))


def _require_content(split: str, name: str, images: pa.ChunkedArray) -> None:
    given = {field: pc.is_valid(pc.struct_field(images, field)) for field in ("bytes", "path", "sha256")}
    empty = pc.invert(pc.or_(given["bytes"], pc.and_(given["path"], given["sha256"])))
    row = pc.index(empty, True).as_py()
    if row >= 0:
        raise BadRowError(
            f"split {split!r}: row {row + 1} of column {name!r} has neither the bytes of an image nor a path with its "
            "sha256; add the image or delete the row",
            place=f"split {split!r}",
            row=row,
        )


def _contents(values: pa.ChunkedArray) -> Iterator[bytes | pa.Buffer]:
    """Yield the parts of each row's input that are hashed."""
    for chunk in filter(len, values.chunks):
        if pa.types.is_struct(chunk.type):
            fields = (chunk.field(field) for field in ("sha256", "bytes", "path"))
            yield from (_image_content(*image) for image in zip(*fields, strict=True))
        elif pa.types.is_list(chunk.type):
            yield from (row.tobytes() for row in chunk.flatten().to_numpy().reshape(len(chunk), -1))
        else:
            yield from (value.as_buffer() for value in chunk)


def _image_content(sha256: Any, content: Any, path: Any) -> bytes | pa.Buffer:
    """Return the image's hash if it is known, or else the image's bytes. If neither the hash nor the bytes are
    available, return the path of the image file.
    """
    if sha256.as_py():
        return sha256.as_buffer()
    return content.as_buffer() if content.is_valid else path.as_buffer()


def _content_digest(row: Iterable[bytes | pa.Buffer]) -> bytes:
    digest = hashlib.sha256()
    for content in row:
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()
