"""Conversion of a source's tables to the raw table; unlabelled rows are dropped, and new splits are drawn.

The modules `columns`, `labels`, `annotators` and `value_limits` check the content of the columns.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.answers import (
    ANSWER,
    DROPPED,
    GROUP,
    ID,
    LABEL,
    LINKS,
    OWN_COLUMNS,
    RIGHT,
    TEXT,
    WRONG,
)
from aflite_assets.data.formats.row_places import BadRowError, naming_lines
from aflite_assets.data.raw_table.annotators import LabelReader, labels_from_columns, labels_from_files
from aflite_assets.data.raw_table.columns import (
    attribute_column,
    content_ids,
    given_ids,
    input_columns,
    require_columns,
)
from aflite_assets.data.raw_table.copies import DroppedCopies, without_copies
from aflite_assets.data.raw_table.labels import LabelNames, Labels, class_of, has_no_other, one_class_text, read_labels
from aflite_assets.data.raw_table.swapped import swapped_hint
from aflite_assets.data.raw_table.values import as_texts
from aflite_assets.data.rows import rows_at
from aflite_assets.data.sampling import resolve_count, stratified_sample
from aflite_assets.errors import DataError
from aflite_assets.specs.columns import ColumnsSpec, subset_name
from aflite_assets.specs.core import AnnotationsSpec, LabelValue
from aflite_assets.specs.sources import (
    ChoiceSource,
    CirclesSource,
    DigitsSource,
    FeatureSource,
    ImageFolderSource,
    MultipleChoiceSource,
    PreferenceSource,
    SourceSpec,
    TableSource,
    TemplateNliSource,
)

Columns = dict[str, pa.Array | pa.ChunkedArray]


@dataclass(frozen=True)
class RawTable:
    """The kept rows, and counts of the other rows.

    `dropped_answers`: by split, the number of unlabelled rows that are answers of ties or are equal to a right answer.
    `source_rows` and `unlabelled_rows` are counted per split of the source. Unlabelled rows are dropped.
    `labelled_rows` are counted per split of `examples`, after copies are dropped and before the limit is applied.
    """

    examples: Examples
    source_rows: Mapping[str, int]
    unlabelled_rows: Mapping[str, int]
    labelled_rows: Mapping[str, int]
    dropped_copies: DroppedCopies = field(default_factory=DroppedCopies)
    dropped_answers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def implied_columns(
    source: SourceSpec, columns: ColumnsSpec, tables: Mapping[str, pa.Table] | None = None
) -> ColumnsSpec:
    """Return the spec's columns together with the columns that the source's format implies.

    `tables`: the source's tables, which determine the attributes of preferences. The column of subsets is always an
    attribute, even if the spec names other attributes.

    Raises:
        DataError: rows of answers have a column of their own with the name of an attribute.
    """
    implied: dict[str, Any] = {}
    match source:
        case MultipleChoiceSource():
            implied = {"text": TEXT, "text_pair": ANSWER, "label": LABEL, "id": ID, "group": GROUP}
            if source.attributes:
                implied["attributes"] = source.attributes
            if source.correct is not None:
                implied |= {"question": GROUP, "group": (GROUP, *LINKS)}
        case PreferenceSource():
            found = list((tables or {}).values())
            known = [name for name in source.attributes if found and all(name in one.column_names for one in found)]
            implied = {"text": TEXT, "text_pair": ANSWER, "label": LABEL, "id": ID, "question": GROUP}
            implied |= {"group": (GROUP, *LINKS), "attributes": tuple(known)}
        case FeatureSource():
            grouped = any(files.groups for files in source.splits.values())
            implied = {"features": "features", "group": "group" if grouped else None}
        case ImageFolderSource():
            implied = {"image": "image", "id": "path"}
        case TableSource(images=str()):
            implied = {"id": columns.image}
        case CirclesSource():
            implied = {"features": "features", "attributes": source.attributes}
        case DigitsSource():
            implied = {"image": "image", "id": "id", "attributes": source.attributes}
        case TemplateNliSource():
            implied = {"text": "text", "text_pair": "text_pair", "id": "id", "attributes": source.attributes}
    missing = {name: value for name, value in implied.items() if name not in columns.model_fields_set}
    subset = subset_name(source)
    if "attributes" not in missing and subset in implied.get("attributes", ()) and subset not in columns.attributes:
        missing["attributes"] = (*columns.attributes, subset)
    refuse_own_columns(source, (*columns.attributes, *source.attributes))
    return columns.model_copy(update=missing)


def refuse_own_columns(source: SourceSpec, names: Iterable[str]) -> None:
    """Raise an error if an attribute or category of questions has the name of a column that every row of an answer has.

    Raises:
        DataError: a name is in `OWN_COLUMNS` and is not the column of question ids.
    """
    for name in names:
        if isinstance(source, ChoiceSource) and name in OWN_COLUMNS and name != source.id:
            raise DataError(
                f"the column {name!r} cannot be an attribute, subset or category, because rows of answers have a "
                "column of their own with this name; rename the column in the source, or do not name it in the spec"
            )


def build_raw_table(
    tables: Mapping[str, pa.Table],
    *,
    columns: ColumnsSpec,
    label_names: LabelNames | None,
    unlabelled: tuple[LabelValue, ...],
    limit: Mapping[str, int] | None,
    seed: int,
    holdout: Mapping[str, int | float] | None = None,
    annotations: AnnotationsSpec | None = None,
    drop_duplicates: bool = False,
    drop_between_splits: bool = False,
    complete: bool = True,
) -> RawTable:
    """Convert a source's tables to one table with the fixed column names and types of the raw dataset.

    `row_id` numbers the source's rows over all splits, in order, before any row is dropped. Rows with a label in
    `unlabelled` and the copies that `copies` selects are dropped and counted. `holdout` then draws splits from the
    remaining train rows, and `limit` draws rows of each split. Draws by `holdout` and `limit` are stratified and keep
    groups whole.

    Texts and images of the kept rows are not copied, so memory-mapped data need not fit into memory. `complete=False`
    means that `tables` contain only the first rows, so missing classes and annotation files without a match are
    allowed.

    Raises:
        DataError: a column, text, image, group or id is missing; a label or annotator's label is unknown; a text, image
            or feature is invalid; a split is empty; or train has only one class.
    """
    with naming_lines(tables):
        return _build(
            tables,
            columns=columns,
            label_names=label_names,
            unlabelled=unlabelled,
            limit=limit or {},
            seed=seed,
            holdout=holdout or {},
            annotations=annotations,
            drop_duplicates=drop_duplicates,
            drop_between_splits=drop_between_splits,
            complete=complete,
        )


def _labels(
    tables: Mapping[str, pa.Table],
    columns: ColumnsSpec,
    *,
    names: LabelNames | None,
    unlabelled: tuple[LabelValue, ...],
) -> Labels:
    try:
        found = {split: table[columns.label] for split, table in tables.items()}
        return read_labels(found, names=names, unlabelled=unlabelled)
    except DataError as error:
        hint = swapped_hint(tables, columns, names)
        if hint is None:
            raise
        raise DataError(f"{error}; {hint}") from error


def _build(
    tables: Mapping[str, pa.Table],
    *,
    columns: ColumnsSpec,
    label_names: LabelNames | None,
    unlabelled: tuple[LabelValue, ...],
    limit: Mapping[str, int],
    seed: int,
    holdout: Mapping[str, int | float],
    annotations: AnnotationsSpec | None,
    drop_duplicates: bool,
    drop_between_splits: bool,
    complete: bool,
) -> RawTable:
    for split, table in tables.items():
        if table.num_rows == 0:
            raise DataError(
                f"split {split!r} has no rows; correct the source, or remove the split from the dataset's YAML file"
            )
        require_columns(split, table, columns)
    # In other data, such as votes on two models, a tie may be a class of its own.
    known, found = (*unlabelled, RIGHT, WRONG, *DROPPED), (table[columns.label] for table in tables.values())
    asked = columns.question is not None and has_no_other(found, known)
    unlabelled = (*unlabelled, *DROPPED) if asked else unlabelled
    labels = _labels(tables, columns, names=label_names, unlabelled=unlabelled)
    if label_names is None:
        refuse_amounts(columns.label, labels.names)
        label_names = {name: name for name in labels.names}
    groups, questions = group_numbers(tables, columns.group), group_numbers(tables, columns.question)
    inputs = {split: input_columns(split, table, columns) for split, table in tables.items()}
    _require_one_width(inputs)
    reader = LabelReader(class_of(label_names), unlabelled)
    annotators = _annotator_columns(tables, inputs, columns, annotations, reader, complete=complete)
    rows, dropped = {split: np.flatnonzero(own >= 0) for split, own in labels.numbers.items()}, DroppedCopies()
    if drop_duplicates or drop_between_splits:
        rows, dropped = without_copies(
            labels.numbers,
            inputs,
            groups,
            duplicates=drop_duplicates,
            between_splits=drop_between_splits,
            whole_groups=set(label_names) == {RIGHT, WRONG},
        )
    splits = _split_rows(rows, labels.numbers, groups, holdout, seed=seed, complete=complete)
    kept = _limited(splits, labels, groups, limit, column=columns.label, seed=seed, complete=complete)
    parts, start = [], 0
    for split, table in tables.items():
        optional = {"group": groups.get(split), "question": questions.get(split)}
        optional |= {"annotator_labels": annotators.get(split)}
        whole = _contract_table(split, table, columns, labels.numbers[split], inputs[split], optional, start)
        start += table.num_rows
        parts += [
            _named(rows_at(whole, rows), name, tuple(inputs[split]))
            for name, rows in kept.items()
            if splits[name].source == split
        ]
    return RawTable(
        Examples(pa.concat_tables(parts), labels.names),
        {split: table.num_rows for split, table in tables.items()},
        {split: int((numbers < 0).sum()) for split, numbers in labels.numbers.items()},
        {name: len(split.rows) for name, split in splits.items()},
        dropped,
        {split: _dropped(table[columns.label]) for split, table in tables.items()} if asked else {},
    )


def _dropped(labels: pa.ChunkedArray) -> dict[str, int]:
    """Return the number of labels with each value in `DROPPED`."""
    counts = Counter(labels.to_pylist())
    return {value: counts[value] for value in DROPPED if counts[value]}


@dataclass(frozen=True)
class _SplitRows:
    """Labelled rows of one split of the raw table, as positions in the split `source` of the dataset's source."""

    source: str
    rows: np.ndarray


def _split_rows(
    labelled: Mapping[str, np.ndarray],
    labels: Mapping[str, np.ndarray],
    groups: Mapping[str, np.ndarray],
    holdout: Mapping[str, int | float],
    *,
    seed: int,
    complete: bool,
) -> dict[str, _SplitRows]:
    """Return the rows of every split: first the source's own splits in `labelled`, then the splits drawn from train."""
    splits = {name: _SplitRows(name, rows) for name, rows in labelled.items()}
    if not holdout:
        return splits
    rows = splits["train"].rows
    if complete:
        own = groups["train"][rows] if "train" in groups else None
        drawn = hold_out(labels["train"][rows], own, holdout, seed=seed)
        return splits | {name: _SplitRows("train", rows[positions]) for name, positions in drawn.items()}
    # Sizes and groups of the first rows are not representative, so every split gets similar rows.
    names = ("train", *holdout)
    return splits | {name: _SplitRows("train", rows[number :: len(names)]) for number, name in enumerate(names)}


def _limited(
    splits: Mapping[str, _SplitRows],
    labels: Labels,
    groups: Mapping[str, np.ndarray],
    limit: Mapping[str, int],
    *,
    column: str,
    seed: int,
    complete: bool,
) -> dict[str, np.ndarray]:
    """Apply each split's limit, and return the remaining rows as positions in the source's split."""
    kept = {}
    for number, (name, split) in enumerate(splits.items()):
        own, rows = labels.numbers[split.source], split.rows
        if complete:
            source_remedy = f"add rows of another class, or correct `columns.label`, which is {column!r}"
            if not len(rows):
                source_remedy = "correct the source or drop the split from the spec"
            drawn = len(splits) > len(labels.numbers)
            _require_classes(name, own[rows], labels.names, "hold out fewer rows" if drawn else source_remedy)
        size = limit.get(name, len(rows))
        if size < len(rows):
            within = groups[split.source][rows] if split.source in groups else None
            rng = np.random.default_rng([seed, number])
            rows = rows[stratified_sample(own[rows], within, size, rng=rng)]
            if complete:
                _require_classes(name, own[rows], labels.names, f"the limit keeps only {size} rows, so raise it")
        kept[name] = rows
    return kept


def _annotator_columns(
    tables: Mapping[str, pa.Table],
    inputs: Mapping[str, Columns],
    columns: ColumnsSpec,
    annotations: AnnotationsSpec | None,
    reader: LabelReader,
    *,
    complete: bool,
) -> dict[str, pa.Array]:
    if annotations is not None:
        return labels_from_files(tables, inputs, annotations, reader=reader, complete=complete)
    names = columns.annotators
    if names is None:
        return {}
    return {split: labels_from_columns(split, table, names, reader=reader) for split, table in tables.items()}


def _contract_table(
    split: str,
    table: pa.Table,
    columns: ColumnsSpec,
    labels: np.ndarray,
    inputs: Columns,
    optional: Mapping[str, Any],
    start: int,
) -> pa.Table:
    fields: dict[str, Any] = {"row_id": np.arange(start, start + table.num_rows, dtype=np.int64)}
    if columns.id is not None:
        fields["source_id"] = given_ids(split, columns.id, table[columns.id])
    fields |= {"label": labels, **inputs}
    fields |= {name: values for name, values in optional.items() if values is not None}
    attributes = {f"attribute.{name}": attribute_column(split, name, table[name]) for name in columns.attributes}
    return pa.table(fields | attributes)


def _named(part: pa.Table, split: str, inputs: tuple[str, ...]) -> pa.Table:
    """Add the name of the split and, if the source has no ids, hashes of the rows' content."""
    if "source_id" not in part.column_names:
        part = part.add_column(1, "source_id", content_ids([part[name] for name in inputs]))
    return part.add_column(2, "split", pa.repeat(pa.scalar(split, pa.string()), part.num_rows))


def _require_classes(split: str, labels: np.ndarray, names: tuple[str, ...], remedy: str) -> None:
    if not len(labels):
        raise DataError(f"split {split!r} has no labelled rows; {remedy}")
    if split == "train" and len(np.unique(labels)) < 2:
        raise DataError(f"split 'train' {one_class_text(labels, names)}; {remedy}")


_OTHER_LABEL = "set `columns.label` to another column, or list the values in `labels` if each is a class"


def refuse_amounts(column: str, names: tuple[str, ...], *, remedy: str = _OTHER_LABEL) -> None:
    """Raise an error that ends with `remedy` if all labels are numbers and some have fractions, or are NaN or infinite.

    Raises:
        DataError: the column contains amounts or missing numbers, not classes.
    """
    try:
        amounts = [name for name in names if not float(name).is_integer()]
    except ValueError:
        return
    if amounts and not any(math.isfinite(float(name)) for name in amounts):
        raise DataError(
            f"column {column!r} contains {amounts[0]!r} beside whole numbers; if such rows have no label, empty these "
            f"cells in the source or add {amounts[0]!r} to `unlabelled`; otherwise {remedy}"
        )
    if amounts:
        raise DataError(
            f"column {column!r} contains numbers with fractions (such as {amounts[0]}), which are amounts and not "
            f"classes; {remedy}"
        )


def _require_one_width(inputs: Mapping[str, Columns]) -> None:
    widths = {split: len(values["features"][0]) for split, values in inputs.items() if "features" in values}
    if len(set(widths.values())) > 1:
        raise DataError(
            f"the splits have different numbers of features ({widths}); give all splits the same feature columns"
        )


def group_numbers(tables: Mapping[str, pa.Table], names: str | tuple[str, ...] | None) -> dict[str, np.ndarray]:
    """Return the group numbers of each split, int64, in order of appearance over all splits.

    The result is empty if there is no group column. With one column, rows with the same value are a group. With several
    columns, rows that share a value in any of the columns are in the same group. Rows that are linked through other
    rows are in the same group too. A value in a group column therefore never occurs in two groups.

    Raises:
        DataError: a row has no value.
    """
    if names is None:
        return {}
    columns = (names,) if isinstance(names, str) else names
    numbers: dict[str, int] = {}
    codes = {
        split: np.column_stack([_numbered(split, name, table[name], numbers) for name in columns])
        for split, table in tables.items()
    }
    groups = _linked(np.concatenate(list(codes.values())), values=len(numbers))
    ends = np.cumsum([len(part) for part in codes.values()])
    return dict(zip(codes, np.split(groups, ends[:-1]), strict=True))


def _numbered(split: str, name: str, column: pa.ChunkedArray, numbers: dict[str, int]) -> np.ndarray:
    values = as_texts(column)
    if None in values:
        first = values.index(None)
        raise BadRowError(
            f"split {split!r}: column {name!r} has no group in {values.count(None)} rows (first: row {first + 1}); "
            "give every row a group",
            place=f"split {split!r}",
            row=first,
        )
    return np.array([numbers.setdefault(value, len(numbers)) for value in values if value is not None], np.int64)


def _linked(codes: np.ndarray, *, values: int) -> np.ndarray:
    """Return the group of each row; rows belong to the same group if they share a value, directly or through other
    rows.

    `codes`: the number of each row's value per group column. `values`: number of distinct values.
    """
    if codes.shape[1] == 1:
        return codes[:, 0]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first = np.repeat(codes[:, 0], codes.shape[1] - 1)
    others = codes[:, 1:].reshape(-1)
    links = coo_array((np.ones(len(first), bool), (first, others)), shape=(values, values))
    component = connected_components(links, directed=False)[1][codes[:, 0]]
    appearance, inverse = np.unique(component, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(appearance))[inverse].astype(np.int64)


def hold_out(
    labels: np.ndarray, groups: np.ndarray | None, holdout: Mapping[str, int | float], *, seed: int
) -> dict[str, np.ndarray]:
    """Draw a part of the train rows for each name in `holdout`; return the positions of each part and of the remaining
    rows.

    `labels`: int64 (rows,); `groups`: int64 (rows,) or None. Positions are ascending int64. A whole number in `holdout`
    is a number of rows, and a fraction is a share of all train rows. Draws are stratified by label and contain whole
    groups, so they may be smaller than requested.

    Raises:
        DataError: a drawn part is empty, or no train row is left.
    """
    rest, drawn = np.arange(len(labels)), {}
    for number, (name, count) in enumerate(holdout.items()):
        size = resolve_count(count, len(labels), field=f"holdout.{name}", kind="train rows")
        if size >= len(rest):
            raise DataError(
                f"`holdout.{name}` is {count}, which is {size:,} rows, but only {len(rest):,} train rows are left, "
                f"and some must remain; lower `holdout.{name}`"
            )
        rng = np.random.default_rng([seed, 1, number])
        chosen = stratified_sample(labels[rest], None if groups is None else groups[rest], size, rng=rng)
        if not len(chosen):
            raise DataError(
                f"`holdout.{name}` draws whole groups, but every group has more than {size} rows; raise "
                f"`holdout.{name}`, or set `columns.group` to another column"
            )
        drawn[name], rest = rest[chosen], np.delete(rest, chosen)
    return {"train": rest, **drawn}
