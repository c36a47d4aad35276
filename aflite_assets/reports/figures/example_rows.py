"""The rows that a report shows as examples, each as a truncated text, a thumbnail or a short vector."""

import base64
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows, brief_place
from aflite_assets.data.examples import Examples
from aflite_assets.data.images import open_encoded
from aflite_assets.errors import DataError
from aflite_assets.text import MAX_SHOWN_CHARACTERS, one_line, printable
from aflite_assets.wording import truncate

if TYPE_CHECKING:
    from PIL import Image

_SHOWN = {"text": 8, "features": 8, "image": 24}  # number of rows per side, by kind of input
_MAX_PIXELS = 50_000_000  # larger images are not decoded: a few kilobytes can claim gigabytes of pixels
_MAX_VALUES = 8


@dataclass(frozen=True)
class ExampleRow:
    """One row of the dataset that a report shows as an example.

    Exactly one of `texts`, `image` (a data URI), `problem` and `vector` is set.

    `problem` states why an image cannot be shown. `predictability` is in [0, 1]; `removed_in_iteration` is None for
    kept rows. `place`: file and line, such as "train.csv, line 9", or "" if no file is known.
    """

    row_id: int
    label: str
    predictability: float | None
    removed_in_iteration: int | None
    place: str = ""
    texts: tuple[str, ...] | None = None
    image: str | None = None
    vector: str | None = None
    problem: str | None = None


def _shown_text(column: str, text: str) -> str:
    return truncate(printable(text), MAX_SHOWN_CHARACTERS)


def shown_examples(
    examples: Examples, rows: pa.Table, *, kept: bool, seed: int, most: int = 0, source: SourceRows = NO_SOURCE
) -> tuple[ExampleRow, ...]:
    """Draw random train rows of one side (kept or removed). Rows are drawn from each class in turn, so that small
    classes are included.

    `most`: the largest number of rows, or 0 for the default number.
    """
    side = rows.filter(pc.and_(pc.equal(rows["split"], "train"), pc.equal(rows["kept"], kept)))
    labels = side["label"].to_numpy()
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    turn = np.empty(len(labels), dtype=np.int64)
    for c in np.unique(labels):
        members = shuffled[labels[shuffled] == c]
        turn[members] = np.arange(len(members))
    drawn = np.lexsort((shuffled.argsort(), labels, turn))[: most or _SHOWN[examples.modality]]
    return _example_rows(examples, side.take(drawn[np.argsort(labels[drawn], kind="stable")]), source)


def shown_rows(
    examples: Examples,
    rows: pa.Table,
    row_ids: Sequence[int],
    source: SourceRows = NO_SOURCE,
    *,
    shown_text: Callable[[str, str], str] = _shown_text,
) -> tuple[ExampleRow, ...]:
    """Return the chosen `rows` of one filtering as example rows, in the given order.

    `shown_text`: a function that returns the text to show, given a column's name and a text. Raises DataError if
    `examples` lacks a chosen row.
    """
    places = pc.index_in(pa.array(row_ids, pa.int64()), value_set=rows["row_id"])
    return _example_rows(examples, rows.take(places), source, shown_text)


def example_images(examples: Examples, shown: tuple[ExampleRow, ...]) -> list[bytes]:
    """Return the encoded images of the shown rows.

    The images are drawn as a grid in a figure. An image that cannot be read is returned as empty bytes.
    """
    inputs = examples.select([example.row_id for example in shown])
    return [_image(inputs, position)[0] for position in range(len(shown))]


def _example_rows(
    examples: Examples, rows: pa.Table, source: SourceRows, shown_text: Callable[[str, str], str] = _shown_text
) -> tuple[ExampleRow, ...]:
    inputs = examples.select(rows["row_id"].to_pylist())
    places = source.of(inputs.row_ids).to_pylist()
    shown = []
    for position, (row, place) in enumerate(zip(rows.to_pylist(), places, strict=True)):
        label, score = inputs.label_names[inputs.labels[position]], row["predictability"]
        where = "" if place["source_file"] is None else one_line(brief_place(place))
        known = (row["row_id"], label, None if score != score else score, row["removed_in_iteration"], where)
        shown.append(ExampleRow(*known, **_shown_input(inputs, position, source, shown_text)))
    return tuple(shown)


def _shown_input(
    inputs: Examples, position: int, source: SourceRows, shown_text: Callable[[str, str], str]
) -> dict[str, Any]:
    if inputs.modality == "text":
        columns = [name for name in ("text", "text_pair") if name in inputs.table.column_names]
        texts = [(name, inputs.table[name][position].as_py()) for name in columns]
        return {"texts": tuple(shown_text(name, text) for name, text in texts if text is not None)}
    if inputs.modality == "features":
        return {"vector": short_vector(source.original(inputs.features[position]), names=source.features)}
    return shown_image(inputs, position)


def shown_image(inputs: Examples, position: int, *, side: int = 96, quality: int = 90) -> dict[str, str | None]:
    """Return a dict with the keys `image` (see `thumbnail_uri`) and `problem`, exactly one of which is None."""
    encoded, problem = _image(inputs, position)
    uri = thumbnail_uri(encoded, side=side, quality=quality)
    return {"image": uri, "problem": problem or (None if uri else "the image cannot be decoded")}


def _image(inputs: Examples, position: int) -> tuple[bytes, str | None]:
    """Return an encoded image, or empty bytes with the reason why the image cannot be read."""
    try:
        return inputs.image_bytes(position), None
    except DataError as error:
        return b"", printable(str(error))


def short_vector(values: np.ndarray, names: tuple[str, ...] | None = None) -> str:
    """Describe a feature vector by its first values and, if it is long, the number of values.

    `names`: the names of the features, or None if the features have no names.
    """
    first = values[:_MAX_VALUES].tolist()
    named = [f"{printable(name)} {value:.6g}" for name, value in zip(names or (), first, strict=False)]
    rest = f", … ({len(values)} values)" if len(values) > _MAX_VALUES else ""
    return f"({', '.join(named or [f'{value:.3g}' for value in first])}{rest})"


def thumbnail_uri(encoded: bytes, *, side: int = 96, quality: int = 90) -> str | None:
    """Return a `data:` URI of a JPEG (quality 1 to 95) within `side` x `side` pixels, or None for an unreadable
    image.
    """
    if (image := _decoded(encoded)) is None:
        return None
    image.thumbnail((side, side))
    jpeg = io.BytesIO()
    image.save(jpeg, format="jpeg", quality=quality)
    return png_or_jpeg_uri(jpeg.getvalue(), "jpeg")


def png_or_jpeg_uri(encoded: bytes, kind: str = "png") -> str:
    """Return the `data:` URI of an encoded image of the given kind ("png" or "jpeg")."""
    return f"data:image/{kind};base64,{base64.b64encode(encoded).decode('ascii')}"


def square_pixels(encoded: bytes, side: int) -> np.ndarray | None:
    """Return the image, fitted into a white square, as pixels (side x side x 3, uint8). Return None for an unreadable
    image.
    """
    from PIL import ImageOps

    if (image := _decoded(encoded)) is None:
        return None
    # if the margin has an odd number of pixels, its larger half is on the right or below
    return np.asarray(ImageOps.pad(image, (side, side), color="white", centering=(0.499, 0.499)))


def _decoded(encoded: bytes) -> "Image.Image | None":
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # _MAX_PIXELS is the stricter limit
            image = open_encoded(encoded)
            if image.width * image.height > _MAX_PIXELS:
                return None
            coloured = image.convert("RGBA")
    except MemoryError:
        raise
    except Exception:  # for hostile bytes, readers raise any exception; each means that this is no image
        return None
    # transparent pixels turn white, not black
    return Image.alpha_composite(Image.new("RGBA", coloured.size, "white"), coloured).convert("RGB")
