"""A few rows that have a cue, which is highlighted as words of a text, a corner of an image, or a column's value."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.source_rows import SourceRows, brief_place
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.data.examples import Examples
from aflite_assets.reports.figures.example_rows import short_vector, shown_image
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.scan.cues import Cue, CueProperty
from aflite_assets.scan.marking import Span, carrying_parts
from aflite_assets.scan.remedies import CORNER
from aflite_assets.text import one_line, printable, short
from aflite_assets.wording import truncate

MOST_ROWS = 3
"""Largest number of shown rows that agree with the cue. One row that contradicts the cue follows, if there is one."""

_ATTRIBUTE = "attribute."
_WINDOW, _SIDE = 110, 96

Corners = tuple[tuple[str, bool], ...]
"""Corners of an image, each with True if the feature that a cue names is present there, or False if it is absent."""


@dataclass(frozen=True)
class CueRow:
    """One row that has a cue. Exactly one of `texts`, `image` (a data URI), `problem` and `vector` is set.

    `texts`: each text as a sequence of pieces, with True for each highlighted piece. `corners`: corners of the image to
    frame, such as "top left". The value of a corner is False if the cue is the absence of a feature, as in "no dark
    patch".
    `values`: names of the highlighted columns, each with the row's value in this column. `place`: file and line, or ""
    if no file is known.
    `contradicts`: whether the row's class differs from the class that the cue predicts.
    """

    row_id: int
    label: str
    place: str
    values: tuple[tuple[str, str], ...]
    texts: tuple[tuple[tuple[str, bool], ...], ...] = ()
    image: str | None = None
    problem: str | None = None
    vector: str | None = None
    corners: Corners = ()
    contradicts: bool = False


def cue_rows(inputs: ReportInputs, cues: Sequence[Cue], leaning: PropertyLeaning | None) -> tuple[CueRow, ...]:
    """Return at most `MOST_ROWS` train rows that have a cue and its class. If there are several cues, rows are taken
    from each cue in turn.

    The last row has a cue but a class that the cue does not predict, if such a row is known. If no row with a cue is
    known, rows with the attribute or word that models rely on are returned. If models rely on no known attribute or
    word, the result is empty.
    """
    known = set(inputs.examples.row_ids.tolist())
    agreeing, contradicting = (
        [[(row, cue) for row in rows.get(cue.number, ()) if row in known] for cue in cues]
        for rows in (inputs.cue_rows, inputs.counterexamples)
    )
    in_turn = [one for one in chain.from_iterable(zip_longest(*agreeing)) if one is not None]
    drawn = [(*one, False) for one in list(dict(in_turn[::-1]).items())[::-1][:MOST_ROWS]]
    drawn += [(*one, True) for one in chain.from_iterable(contradicting)][:1]
    if drawn:
        return tuple(
            replace(_row(inputs, row, cue.properties, corners=_corners(cue)), contradicts=contradicts)
            for row, cue, contradicts in drawn
        )
    if leaning is None:
        return ()
    name = f"the word '{leaning.word}' ({leaning.name})" if leaning.word else leaning.name
    leant_on = CueProperty(leaning.kind, name, leaning.name)
    rows = _with_word(inputs, leant_on) if leaning.word else _with_attribute(inputs.examples, leaning)
    return tuple(_row(inputs, row, (leant_on,)) for row in rows)


def _row(inputs: ReportInputs, row_id: int, properties: Sequence[CueProperty], *, corners: Corners = ()) -> CueRow:
    one, source = inputs.examples.select([row_id]), inputs.source
    place = source.of(one.row_ids).to_pylist()[0]
    where = "" if place["source_file"] is None else one_line(brief_place(place))
    label = one.label_names[one.labels[0]]
    sources = list(dict.fromkeys(each.source for each in properties if each.source))
    row = CueRow(row_id, label, where, tuple(_values(one, source, sources)))
    found: dict[str, object] = {}
    if one.modality == "text":
        found["texts"] = tuple(_texts(one, source, properties))
    elif one.modality == "image":
        found |= shown_image(one, 0, side=_SIDE)
        found["corners"] = corners
    else:
        found["vector"] = short_vector(source.original(one.features[0]), names=source.features)
    return CueRow(**{**vars(row), **found})


def _corners(cue: Cue) -> Corners:
    """Return the image corners that a cue names.

    The value of a corner is True if the cue is the presence of a feature in the corner, and False for the absence of a
    feature.
    """
    found = ((CORNER.search(part), part.startswith("no ")) for part in cue.name.split(" and "))
    return tuple((match[1], not absent) for match, absent in found if match)


def _values(one: Examples, source: SourceRows, sources: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Yield the names and values of a row's columns that are not text."""
    for name in sources:
        if f"{_ATTRIBUTE}{name}" in one.table.column_names:
            value = one.table[f"{_ATTRIBUTE}{name}"][0].as_py()
            yield short(name), "none" if value is None else short(str(value))
        elif one.modality == "features" and source.features is not None and name in source.features:
            yield short(name), f"{source.original(one.features[0])[source.features.index(name)]:.6g}"


def _texts(
    one: Examples, source: SourceRows, properties: Sequence[CueProperty]
) -> Iterator[tuple[tuple[str, bool], ...]]:
    for column in ("text", "text_pair"):
        if column in one.table.column_names and (text := one.table[column][0].as_py()) is not None:
            yield _in_pieces(text, carrying_parts(text, properties, source.named(column)))


def _in_pieces(text: str, parts: Sequence[Span]) -> tuple[tuple[str, bool], ...]:
    """Split a text into pieces, each with True if the piece is to be highlighted.

    `parts`: the spans of the text to highlight. A long text is cut around the first span.
    """
    if not parts:
        return ((truncate(one_line(text), 2 * _WINDOW), False),)
    start, end = max(parts[0][0] - _WINDOW, 0), parts[0][1] + _WINDOW
    pieces, at = [("…" if start else "", False)], start
    for first, last in parts:
        if last <= end:
            pieces += [(text[at:first], False), (text[first:last], True)]
            at = last
    pieces += [(text[at:end], False), ("…" if end < len(text) else "", False)]
    return tuple((printable(piece), is_part) for piece, is_part in pieces if piece)


def _with_word(inputs: ReportInputs, word: CueProperty) -> list[int]:
    """Return the first train rows whose text contains the word `word`."""
    train, found = inputs.examples.in_split("train"), list[int]()
    for column in ("text", "text_pair"):
        if column in train.table.column_names and inputs.source.named(column) == word.source:
            texts = zip(train.row_ids.tolist(), train.table[column].to_pylist(), strict=True)
            found += islice((row for row, text in texts if carrying_parts(text or "", (word,), word.source)), MOST_ROWS)
    return found


def _with_attribute(examples: Examples, leaning: PropertyLeaning) -> list[int]:
    """Return one train row per value of the attribute.

    Each returned row has the class that its attribute value indicates.
    """
    train, column = examples.in_split("train"), f"{_ATTRIBUTE}{leaning.name}"
    if column not in train.table.column_names:
        return []
    values, names = pc.cast(train.table[column], pa.string()), train.label_names
    points: Mapping[str, str] = dict(zip(leaning.values, leaning.points_to, strict=False))
    found: dict[str, int] = {}
    for row, value, label in zip(train.row_ids.tolist(), values.to_pylist(), train.labels.tolist(), strict=True):
        if value in points and points[value] == names[label]:
            found.setdefault(value, row)
        if len(found) == min(MOST_ROWS, len(points)):
            break
    return list(found.values())
