"""Example rows for a scan's result: a few rows that have a cue and its class, the shortest texts first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.errors import DataError
from aflite_assets.scan.cues import Cue, ScanResult
from aflite_assets.scan.marking import marked_text
from aflite_assets.scan.rows import ScanRows


@dataclass(frozen=True)
class ShownRow:
    """One row for the page of a scan.

    `values`: names and values of columns, with the cue highlighted. `image`: a data URI, or "" without an image.
    """

    values: Sequence[tuple[str, str]]
    image: str = ""


def carrier_rows(result: ScanResult, rows: ScanRows, *, most: int) -> dict[int, list[int]]:
    """Map each cue number to the positions of at most `most` rows that have the cue and its class.

    If several rows have equal texts, only one of them is included. The mapping is empty if only a sample of the rows
    was scanned.
    """
    if len(rows) != len(result.carriers):
        return {}
    labels = np.where(rows.scanned, rows.labels, -1)
    return {
        cue.number: _distinct(cue, np.flatnonzero(result.carriers[:, cue.number] & (labels == label)), rows, most)
        for cue in result.cues
        if (label := rows.label_names.index(cue.label)) >= 0
    }


def _distinct(cue: Cue, own: np.ndarray, rows: ScanRows, most: int) -> list[int]:
    """Return at most `most` of the rows `own`, all with distinct texts, the shortest texts first."""
    read = [rows.texts[name] for name in rows.texts if name in {one.source for one in cue.properties}]
    texts = read or list(rows.texts.values())
    if not texts:
        return [int(row) for row in own[:most]]
    first = {tuple(text[row] or "" for text in texts): int(row) for row in reversed(own.tolist())}
    return [first[key] for key in sorted(first, key=lambda key: (sum(map(len, key)), first[key]))[:most]]


def page_rows(
    result: ScanResult, rows: ScanRows, *, most: int, thumbnail: Callable[[bytes], str | None]
) -> Mapping[int, list[ShownRow]]:
    """Return the example rows of each cue for the page.

    `thumbnail`: a function that converts an encoded image to a data URI.
    """
    found = carrier_rows(result, rows, most=most)
    return {cue.number: [_row(cue, rows, row, thumbnail) for row in found.get(cue.number, ())] for cue in result.cues}


def _row(cue: Cue, rows: ScanRows, row: int, thumbnail: Callable[[bytes], str | None]) -> ShownRow:
    sources = {one.source for one in cue.properties}
    texts = [(name, marked_text(texts[row] or "", cue, name)) for name, texts in rows.texts.items()]
    columns = [(name, _value(rows.columns[name].values[row])) for name in rows.columns if name in sources]
    if rows.images is None:
        return ShownRow([*texts, *columns])
    from aflite_assets.data.images import read_image

    try:
        image = thumbnail(read_image(rows.images[row].as_py())) or ""
    except DataError:  # the file is gone since it was scanned; its columns are shown
        image = ""
    return ShownRow([*texts, *columns], image)


def _value(value: object) -> str:
    if isinstance(value, float):
        return "missing" if value != value else f"{value:g}"
    return "missing" if value is None else str(value)
