"""Challenge sets whose rows are edited copies of natural test rows: the pairs, and what differs most often in them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.inputs.edited_copies import Edit, EditedCopies, EditKind
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.data.examples import Examples
from aflite_assets.data.words import WORD

FEWEST_PAIRS = 20
"""Smallest number of rows of a set that can count as edited copies."""

MOST_EDITS = 20
"""Largest number of edits that are returned, the most frequent first."""

_LEAST_SHARE = 0.01
"""Smallest share of the pairs in which an edit must occur to be returned."""

_LEAST_CLOSER = 0.8
"""Share of the rows that must be more similar to their own original than to another original of their class. Equal ids
of unrelated rows, such as running numbers, are not taken for pairs.
"""

_MOST_CHARACTERS = 20_000
"""Number of characters at the start of each text that are compared."""


def original_rows(natural: Examples, copies: Examples, class_map: np.ndarray | None = None) -> np.ndarray | None:
    """Return the position in `natural` of the original of each row in `copies` (int64), or None if there are no pairs.

    The ids of `copies` must be source ids or row ids of `natural`, the labels of all pairs must be equal, and the
    inputs similar. Images are not compared, so their ids must not be mere numbers. `class_map`: the class of `copies`
    for each class of `natural`, or None if the classes are the same.
    """
    ids = copies.table["source_id"].to_pylist()
    if len(ids) < FEWEST_PAIRS or natural.modality != copies.modality:
        return None
    labels = natural.labels if class_map is None else class_map[natural.labels]
    for own in (natural.table["source_id"].to_pylist(), list(map(str, natural.row_ids.tolist()))):
        places = {name: place for place, name in enumerate(own)}
        originals = np.array([places.get(name, -1) for name in ids], dtype=np.int64)
        if (originals >= 0).all() and np.array_equal(labels[originals], copies.labels):
            return originals if _are_similar(natural, copies, originals) else None
    return None


def _are_similar(natural: Examples, copies: Examples, originals: np.ndarray) -> bool:
    """Return True if nearly all rows are more similar to their own original than to the next original of the class."""
    if natural.modality == "image":
        return not all(str(name).isdecimal() for name in copies.table["source_id"].to_pylist())
    order = np.argsort(copies.labels, kind="stable")
    others = np.empty_like(originals)
    others[order] = np.roll(originals[order], 1)
    if natural.modality == "features":
        deviations = natural.features.std(axis=0, dtype=np.float64)
        scale = np.where(deviations > 0, deviations, 1.0)
        own, other = (
            -np.abs((copies.features - natural.features[places]) / scale).sum(axis=1) for places in (originals, others)
        )
    else:
        words, copied = _word_sets(natural), _word_sets(copies)
        own, other = (
            np.array([_overlap(words[place], one) for place, one in zip(places.tolist(), copied, strict=True)])
            for places in (originals, others)
        )
    return float(np.mean(own > other)) >= _LEAST_CLOSER


def _word_sets(rows: Examples) -> list[frozenset[str]]:
    columns = [_texts(rows, name) for name in text_columns(rows)]
    return [frozenset(WORD.findall(" ".join(texts).lower())) for texts in zip(*columns, strict=True)]


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the number of common words divided by the number of all words (Jaccard index)."""
    return len(first & second) / max(len(first | second), 1)


def text_columns(rows: Examples) -> list[str]:
    """Return the names of the text columns of the rows, or an empty list for other inputs."""
    return [name for name in ("text", "text_pair") if name in rows.table.column_names]


def edits_of(natural: Examples, copies: Examples, originals: np.ndarray) -> tuple[Edit, ...]:
    """Return what differs most often between the rows of `copies` and their originals, the most frequent first.

    At most `MOST_EDITS` edits are returned. Images have no edits, because their content is not compared.
    """
    if natural.modality == "features":
        found = list(_column_edits(natural.features[originals], copies.features))
    else:
        found = []
        for name in text_columns(copies):
            found += _text_edits(name, zip(_texts(natural, name, originals), _texts(copies, name), strict=True))
    kinds = get_args(EditKind)
    often = [one for one in found if one.pairs >= _LEAST_SHARE * len(originals)]
    return tuple(sorted(often, key=lambda one: (-one.pairs, kinds.index(one.kind), one.place, one.name))[:MOST_EDITS])


def _texts(rows: Examples, column: str, places: np.ndarray | None = None) -> list[str]:
    """Return the beginnings of the texts of a column, or of those at `places`; a missing text is empty."""
    texts = rows.table[column] if places is None else rows.table[column].take(pa.array(places))
    return [(text or "")[:_MOST_CHARACTERS] for text in texts.to_pylist()]


def _column_edits(originals: np.ndarray, copies: np.ndarray) -> Iterator[Edit]:
    differs = ~np.isclose(originals, copies, rtol=1e-6, atol=1e-6, equal_nan=True)
    higher, lower = differs & (copies > originals), differs & (copies < originals)
    counts = np.column_stack([each.sum(axis=0) for each in (differs, higher, lower)])
    for column, (pairs, more, less) in enumerate(counts.tolist()):
        if pairs:
            yield Edit("column", "", f"column {column}", pairs, more, less)


def _text_edits(place: str, pairs: Iterable[tuple[str, str]]) -> Iterator[Edit]:
    differs: Counter[tuple[EditKind, str]] = Counter()
    more: Counter[tuple[EditKind, str]] = Counter()
    less: Counter[tuple[EditKind, str]] = Counter()
    for original, copy in pairs:
        if original == copy:
            continue
        before, after = _parts(original), _parts(copy)
        added, removed = after - before, before - after
        more.update(added.keys())
        less.update(removed.keys())
        differs.update((added | removed).keys() or {(_unnamed(original, copy), "")})
    for (kind, name), count in differs.items():
        yield Edit(kind, place, name, count, more[kind, name], less[kind, name])


def _parts(text: str) -> "Counter[tuple[EditKind, str]]":
    """Count the words, in lower case, and the signs of a text."""
    words: list[tuple[EditKind, str]] = [("word", word) for word in WORD.findall(text.lower())]
    signs: list[tuple[EditKind, str]] = [("sign", sign) for sign in WORD.sub(" ", text) if not sign.isspace()]
    return Counter([*words, *signs])


def _unnamed(original: str, copy: str) -> EditKind:
    """Return the kind of an edit that changes neither words nor signs."""
    alike = Counter(WORD.findall(original)) == Counter(WORD.findall(copy))
    return "blanks or order" if alike else "capital letters"


def find_edited_copies(
    naturals: Mapping[str, Examples], copies: Mapping[str, Examples], class_maps: Mapping[str, np.ndarray | None]
) -> tuple[EditedCopies, ...]:
    """Return the challenge sets in `copies` that are edited copies of rows of a natural set.

    The first natural set with the originals of all rows of a challenge set is used.
    """
    found = (_copies_of(naturals, name, one, class_maps.get(name)) for name, one in copies.items())
    return tuple(one for one in found if one is not None)


def _copies_of(
    naturals: Mapping[str, Examples], name: str, copies: Examples, class_map: np.ndarray | None
) -> EditedCopies | None:
    for natural_set, natural in naturals.items():
        originals = original_rows(natural, copies, class_map)
        if originals is not None:
            return EditedCopies(name, natural_set, originals, edits_of(natural, copies, originals))
    return None


@dataclass(frozen=True)
class SetEdit:
    """One edit of a challenge set, with its shares of the pairs (in [0, 1]) of original and copy.

    `kind`, `place` and `name` identify the edit; `Edit` explains them. `place` and `name` are
    names in the source, and `place` is "" if rows have a single text. `differs`: share of the pairs that differ.
    `more`, `less`: shares of the pairs in which the copy has more of it, or less of it, than the original.
    """

    test_set: str
    copies_of: str
    pairs: int
    kind: EditKind
    place: str
    name: str
    differs: float
    more: float
    less: float


EDITS = TidyTable("edits", SetEdit)


def set_edits(data: BenchmarkData) -> Iterator[SetEdit]:
    """Yield the edits of each challenge set of edited copies, the most frequent first."""
    for one in data.copies:
        pairs = len(one.originals)
        for edit in one.edits:
            place = edit.place if len(data.source.columns) > 1 else ""
            shares = (edit.pairs / pairs, edit.more / pairs, edit.less / pairs)
            names = data.source.named(place), data.source.named(edit.name) if edit.kind == "column" else edit.name
            yield SetEdit(one.test_set, one.natural_set, pairs, edit.kind, *names, *shares)
