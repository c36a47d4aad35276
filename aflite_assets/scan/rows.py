"""Input of the scan: labelled rows in sets, with the texts, images and columns from which properties are computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers, separate_questions
from aflite_assets.data.raw_table.columns import NO_VALUE
from aflite_assets.data.raw_table.standardise import Scale, source_values
from aflite_assets.data.raw_table.values import as_texts

Role = Literal["attribute", "column"]
"""Role of a table column: an attribute describes a row, and a column is part of the row's input."""

ALL_ROWS = "all rows"
"""Name of the set of all rows, for a dataset without a split named train."""

NO_CLASS = -1
"""Label of a row in another set if the scanned rows have no class of this name."""


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column of a table. Numbers are float64, with NaN for a missing value; other values are texts, with None for a
    missing value.
    """

    role: Role
    values: np.ndarray | Sequence[str | None]


@dataclass(frozen=True, eq=False)
class ScanRows:
    """Labelled rows of several sets. The scan reads the first set, and the other sets show whether a cue also holds in
    other data.

    `labels`: int64 of shape (rows,). The label is `NO_CLASS` for a class that is not in `label_names`. `sets`: for each
    row, the index of its set in `set_names`. `groups`: codes of rows that belong together, or None. `order`: the
    position of each row in its file, float64 from 0. `row_ids`: int64, the id of each row within its set; None if the
    id is the position. `ids` and `files`: the id in the source, and the file, of each row, or None. `answers`: whether
    the rows are answers to questions. `questions`: the number of each row's question, int64, if a group may contain
    several questions; None if each group is one question. `answers_listed`: whether answers are in the order of the
    source. `subset`: the column with the data subset of each question, or None. `ordered_by_reader`: whether the
    reader, and not the source, determined the order of rows.
    """

    labels: np.ndarray
    label_names: tuple[str, ...]
    sets: np.ndarray
    set_names: tuple[str, ...]
    order: np.ndarray
    row_ids: np.ndarray | None = None
    groups: np.ndarray | None = None
    texts: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    images: pa.ChunkedArray | None = None
    columns: Mapping[str, TableColumn] = field(default_factory=dict)
    ids: Sequence[str | None] | None = None
    files: Sequence[str] | None = None
    answers: bool = False
    questions: np.ndarray | None = None
    answers_listed: bool = True
    subset: str | None = None
    ordered_by_reader: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    def taken(self, positions: np.ndarray) -> "ScanRows":
        """Return the rows at the given positions (int64), in the given order."""
        picked = positions.tolist()
        return replace(
            self,
            labels=self.labels[positions],
            sets=self.sets[positions],
            order=self.order[positions],
            row_ids=None if self.row_ids is None else self.row_ids[positions],
            groups=None if self.groups is None else self.groups[positions],
            questions=None if self.questions is None else self.questions[positions],
            texts={name: [texts[row] for row in picked] for name, texts in self.texts.items()},
            images=None if self.images is None else self.images.take(pa.array(positions)),
            columns={name: TableColumn(one.role, _taken(one.values, positions)) for name, one in self.columns.items()},
            ids=None if self.ids is None else [self.ids[row] for row in picked],
            files=None if self.files is None else [self.files[row] for row in picked],
        )

    @property
    def question_codes(self) -> np.ndarray | None:
        """Number of the question that each row answers, int64. If `questions` is None, the group of a row is its
        question.
        """
        return self.groups if self.questions is None else self.questions

    @property
    def scanned(self) -> np.ndarray:
        """Mask of the rows on which the scan chooses and tests cues, bool of shape (rows,)."""
        return np.asarray((self.sets == 0) & (self.labels != NO_CLASS))


def _taken(values: np.ndarray | Sequence[str | None], positions: np.ndarray) -> np.ndarray | list[str | None]:
    if isinstance(values, np.ndarray):
        return np.asarray(values[positions])
    return [values[row] for row in positions.tolist()]


def rows_of_examples(
    examples: Examples,
    *,
    others: Mapping[str, Examples] | None = None,
    feature_names: Sequence[str] = (),
    scale: Scale | None = None,
    text_names: Mapping[str, str] | None = None,
    subset: str | None = None,
) -> ScanRows:
    """Return the rows of a dataset: the train split first, then the other splits, then challenge sets (`others`).

    A row of `others` keeps its class if the dataset has a class of the same name. `feature_names`: names of the feature
    columns in order; the default names are "column 0" and so on. `scale`: the scale by which features were
    standardised. The scale is undone, so that features are scanned in the source's units. `text_names`: the source's
    names of the columns `text` and `text_pair`, if any. `subset`: the attribute with the data subset of each question.
    Without a split named train, all rows are scanned.
    """
    splits = list(dict.fromkeys(examples.table["split"].to_pylist()))
    if "train" in splits:
        named = {split: examples.in_split(split) for split in sorted(splits, key=lambda split: split != "train")}
    else:
        named = {ALL_ROWS: examples}
    parts = {**named, **{name: one for name, one in (others or {}).items() if one.modality == examples.modality}}
    sets = np.repeat(np.arange(len(parts)), [len(one) for one in parts.values()])
    kept = list(parts.values())
    scanned = kept[0]
    ids = _join([one.table["source_id"].to_pylist() for one in kept])
    by_folder = examples.modality == "image" and _is_sorted_by_path(scanned)
    return ScanRows(
        labels=np.concatenate([_labels(one, examples.label_names) for one in kept]),
        label_names=examples.label_names,
        sets=sets,
        set_names=tuple(parts),
        order=np.concatenate([one.row_ids - one.row_ids.min(initial=0) for one in kept]).astype(np.float64),
        row_ids=np.concatenate([one.row_ids for one in kept]),
        groups=_codes(kept, "group") if examples.groups is not None else None,
        questions=_codes(kept, "question") if "question" in examples.table.column_names else None,
        answers_listed="question" not in examples.table.column_names,
        subset=subset,
        texts=_texts(kept, text_names or {}),
        images=pa.chunked_array([chunk for one in kept for chunk in one.table["image"].chunks])
        if examples.modality == "image"
        else None,
        columns={**_attributes(kept), **_features(kept, feature_names, scale)},
        ids=None if _are_hashes(ids) else ids,
        answers=right_answers(scanned, partly=separate_questions(scanned) is not None) is not None,
        ordered_by_reader=by_folder,
    )


def _join(parts: Sequence[Sequence[str | None]]) -> list[str | None]:
    return [value for part in parts for value in part]


def _labels(one: Examples, names: tuple[str, ...]) -> np.ndarray:
    numbers = np.array([names.index(name) if name in names else NO_CLASS for name in one.label_names], dtype=np.int64)
    return np.asarray(numbers[one.labels])


def _codes(parts: Sequence[Examples], column: str) -> np.ndarray:
    """Return codes of groups or questions. Rows of different sets get different codes."""
    codes, start = [], 0
    for one in parts:
        own = one.table[column].to_numpy() if column in one.table.column_names else one.row_ids
        codes.append(own - own.min(initial=0) + start)
        start = int(codes[-1].max(initial=start)) + 1
    return np.concatenate(codes)


def _texts(parts: Sequence[Examples], text_names: Mapping[str, str]) -> dict[str, list[str | None]]:
    """Return the texts by their column names in the source. If both texts are from the same source column, the names in
    the raw table are used.
    """
    if parts[0].modality != "text":
        return {}
    names = [name for name in ("text", "text_pair") if name in parts[0].table.column_names]
    shown = [text_names.get(name, name) for name in names]
    return {
        (text_names.get(name, name) if len(set(shown)) == len(shown) else name): _join(
            [one.table[name].to_pylist() if name in one.table.column_names else [None] * len(one) for one in parts]
        )
        for name in names
    }


def _attributes(parts: Sequence[Examples]) -> dict[str, TableColumn]:
    names = [name for name in parts[0].table.column_names if name.startswith("attribute.")]
    columns = {}
    for name in names:
        values = [as_texts(one.table[name]) if name in one.table.column_names else [None] * len(one) for one in parts]
        known = [None if value == NO_VALUE else value for value in _join(values)]
        columns[name.removeprefix("attribute.")] = TableColumn("attribute", known)
    return columns


def _features(parts: Sequence[Examples], names: Sequence[str], scale: Scale | None) -> dict[str, TableColumn]:
    if parts[0].modality != "features":
        return {}
    width = parts[0].features.shape[1]
    fits = [one.features if one.features.shape[1] == width else np.full((len(one), width), np.nan) for one in parts]
    matrix = source_values(np.concatenate(fits), scale)
    named = [names[place] if place < len(names) else f"column {place}" for place in range(width)]
    return {name: TableColumn("column", matrix[:, place]) for place, name in enumerate(named)}


def _are_hashes(ids: Sequence[str | None]) -> bool:
    """Return True if the ids are content hashes. The loader assigns content hashes to rows without ids."""
    return all(value is None or (len(value) == 16 and set(value) <= set("0123456789abcdef")) for value in ids[:200])


def _is_sorted_by_path(examples: Examples) -> bool:
    """Return True if the images are files in the order of their paths, as the reader of folders puts them."""
    order = pa.array(np.argsort(examples.row_ids, kind="stable"))
    paths = pc.struct_field(examples.table["image"].take(order), "path").to_pylist()
    return bool(paths) and None not in paths and all(Path(one) <= Path(other) for one, other in pairwise(paths))
