"""Comparison of kept and removed rows per split: labels, attributes, text lengths and scores.

Every function takes the rows table of a filtered set. The columns of this table are `row_id` (int64), `split` (string),
`label` (int64), `kept` (bool), `removed_in_iteration` (int64 or null), and `predictability` and `label_probability`
(float or null). A mean or share is null if there are no rows. Splits are in order of appearance.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.data.words import character_counts, word_counts
from aflite_assets.diagnostics.data_checks.annotators import annotator_agreement
from aflite_assets.diagnostics.record_tables import columns_of, factorize, floats, ratio, split_masks, table_of
from aflite_assets.errors import InvalidInputError
from aflite_assets.text import short

_COUNTS = [
    ("kept_rows", pa.int64()),
    ("removed_rows", pa.int64()),
    ("kept_share", pa.float64()),
    ("removed_share", pa.float64()),
    ("share_kept", pa.float64()),
]
_LABEL_SHARES = pa.schema([("split", pa.string()), ("label", pa.int64()), ("label_name", pa.string()), *_COUNTS])
_ATTRIBUTE_SHARES = pa.schema(
    [
        ("split", pa.string()),
        ("attribute", pa.string()),
        ("value", pa.string()),
        ("distinct_values", pa.int64()),
        *_COUNTS,
    ]
)
_MEANS = [
    ("kept_mean", pa.float64()),
    ("removed_mean", pa.float64()),
    ("kept_rows", pa.int64()),
    ("removed_rows", pa.int64()),
]
_TEXT_LENGTHS = pa.schema(
    [
        ("split", pa.string()),
        ("column", pa.string()),
        ("measure", pa.string()),
        ("label_name", pa.string()),
        *_MEANS,
    ]
)
_MEAN_SCORES = pa.schema([("split", pa.string()), ("score", pa.string()), *_MEANS])

_BY_CLASS = pa.schema(
    [
        ("iteration", pa.int64()),
        ("label_name", pa.string()),
        ("class_rows", pa.int64()),
        ("removed_rows", pa.int64()),
        ("removed_share", pa.float64()),
        ("examples", pa.string()),
    ]
)
_EXAMPLES, _EXAMPLE_LENGTH = 3, 60

Score = Literal["predictability", "label_probability"]

_AGREEMENT = pa.schema(
    [
        ("split", pa.string()),
        *[
            (f"{side}_{name}", kind)
            for name, kind in (
                ("rows", pa.int64()),
                ("accuracy", pa.float64()),
                ("rows_of_several", pa.int64()),
                ("unanimous", pa.float64()),
            )
            for side in ("kept", "removed")
        ],
    ]
)


def label_shares(rows: pa.Table, *, label_names: Sequence[str]) -> pa.Table:
    """Compare each class's share among the kept rows and among the removed rows.

    Returns:
        A table with one row for every class in every split. The columns are `split`, `label`, `label_name`,
        `kept_rows`, `removed_rows`, `kept_share` (of the split's kept rows), `removed_share` (of the split's removed
        rows) and `share_kept` (of the class's rows).
    """
    labels = rows["label"].to_numpy()
    records = []
    for split, inside, kept in _splits(rows):
        for label, counts in enumerate(_counts(labels, inside, kept, len(label_names))):
            records.append((split, label, label_names[label], *counts))
    return table_of(records, _LABEL_SHARES)


def attribute_shares(rows: pa.Table, examples: Examples, *, most_values: int = 50) -> pa.Table:
    """Compare the shares of each value of every `attribute.*` column among the kept and among the removed rows.

    Args:
        rows: the filtered set's rows.
        examples: rows that include all of `rows`; values are compared as text.
        most_values: largest number of values listed per attribute and split; the most frequent values are listed.

    Returns:
        A table with one row per value, in decreasing order of frequency; it is empty if there are no attributes. The
        columns are `split`, `attribute` (without the prefix), `value` (null for rows without a value),
        `distinct_values`, and the counts and shares of `label_shares`. `distinct_values` is the number of all values of
        the attribute in the split, including values that are not listed.

    Raises:
        DataError: a row of `rows` is not among the examples.
    """
    records = []
    for column in [name for name in examples.table.column_names if name.startswith("attribute.")]:
        codes, names = factorize(columns_of(examples, [column], rows["row_id"].to_numpy())[column].cast(pa.string()))
        for split, inside, kept in _splits(rows):
            counts = _counts(codes, inside, kept, len(names))
            totals = np.array([here + gone for here, gone, *_ in counts], np.int64)
            distinct = int(np.count_nonzero(totals))
            order = np.argsort(-totals, kind="stable")[: min(distinct, most_values)]
            attribute = column.removeprefix("attribute.")
            records += [(split, attribute, names[code].as_py(), distinct, *counts[code]) for code in order]
    return table_of(records, _ATTRIBUTE_SHARES)


def text_lengths(rows: pa.Table, examples: Examples) -> pa.Table:
    """Compute the mean numbers of words and characters of the texts of kept and of removed rows, by class.

    Returns:
        A table with the columns `split`, `column` ("text" or "text_pair"), `measure`, `label_name` (null for all
        classes), `kept_mean`, `removed_mean`, `kept_rows` and `removed_rows` (rows that have a text). The measure is
        "words" (as counted by `data.words`) or "characters". The table is empty if the examples have no texts.

    Raises:
        DataError: a row of `rows` is not among the examples.
    """
    labels = rows["label"].to_numpy()
    classes: list[tuple[str | None, np.ndarray]] = [(None, np.ones(len(labels), dtype=bool))]
    classes += [(name, labels == label) for label, name in enumerate(examples.label_names)]
    records = []
    for column in [name for name in ("text", "text_pair") if name in examples.table.column_names]:
        texts = columns_of(examples, [column], rows["row_id"].to_numpy())[column]
        measures = (("words", word_counts(texts)), ("characters", character_counts(texts)))
        records += [
            (split, column, measure, name, *side_means(lengths, inside & of_class, kept))
            for split, inside, kept in _splits(rows)
            for measure, lengths in measures
            for name, of_class in classes
        ]
    return table_of(records, _TEXT_LENGTHS)


def mean_scores(rows: pa.Table) -> pa.Table:
    """Compute the mean predictability and label probability of the kept and of the removed rows.

    Returns:
        A table with the columns `split`, `score` ("predictability" or "label_probability"), `kept_mean`, `removed_mean`
        (both in [0, 1]), `kept_rows` and `removed_rows`. `kept_rows` and `removed_rows` count rows with a score that is
        neither null nor NaN.
    """
    scores: tuple[Score, ...] = ("predictability", "label_probability")
    records = [
        (split, score, *side_means(floats(rows[score]), inside, kept))
        for split, inside, kept in _splits(rows)
        for score in scores
    ]
    return table_of(records, _MEAN_SCORES)


def _splits(rows: pa.Table) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each split's name, the mask of its rows, and the mask of the kept rows of all splits."""
    if rows["kept"].null_count:
        raise InvalidInputError(
            f"`kept` is null in {rows['kept'].null_count} of {len(rows)} rows; set it to true or false in every row"
        )
    kept = rows["kept"].to_numpy().astype(bool)
    for split, inside in split_masks(rows):
        yield split, inside, kept


def _counts(codes: np.ndarray, inside: np.ndarray, kept: np.ndarray, size: int) -> list[tuple[Any, ...]]:
    """Return the numbers of kept and of removed rows per code, and three shares per code. The first share is the code's
    share among all kept rows, and the second is its share among all removed rows. The third share is the share of the
    rows with the code that were kept.
    """
    here, gone = (np.bincount(codes[inside & side], minlength=size).tolist() for side in (kept, ~kept))
    whole = sum(here), sum(gone)
    return [
        (one, other, ratio(one, whole[0]), ratio(other, whole[1]), ratio(one, one + other))
        for one, other in zip(here, gone, strict=True)
    ]


def side_means(values: np.ndarray, inside: np.ndarray, kept: np.ndarray) -> tuple[Any, ...]:
    """Return the means of the known values of kept and of removed rows, and the numbers of these rows."""
    known = inside & ~np.isnan(values)
    here, gone = values[known & kept], values[known & ~kept]
    return ratio(here.sum(), len(here)), ratio(gone.sum(), len(gone)), len(here), len(gone)


def annotator_shares(rows: pa.Table, examples: Examples) -> pa.Table:
    """Compare kept and removed rows by the agreement of single annotators with the rows' labels.

    Phang et al. 2021 (arXiv 2111.08181) find that AFLite keeps rows with low agreement more often than other rows. If
    so, comparisons on the kept rows depend on contested labels.

    Args:
        rows: the filtered set's rows: row_id int64, split string, kept bool.
        examples: rows that include all of `rows`.

    Returns:
        A table with one row per split that has annotators' labels. The column `split` names the split; all other
        columns begin with `kept_` or `removed_`. Columns `*rows`: number of rows with at least one annotator's label.
        Columns `*rows_of_several`: number of rows with at least two annotators' labels. Columns `*accuracy`: the share
        of a row's annotators who gave the row's label, averaged over rows, in [0, 1]. Columns `*unanimous`: the share
        of rows whose annotators all gave the same label, among rows with at least two annotators. A mean is null if
        there are no rows.

    Raises:
        DataError: a row of `rows` is not among the examples.
    """
    if "annotator_labels" not in examples.table.column_names:
        return table_of([], _AGREEMENT)
    labelled = columns_of(examples, ["label", "annotator_labels"], rows["row_id"].to_numpy())
    annotators = pc.fill_null(pc.list_value_length(labelled["annotator_labels"]), 0).to_numpy()
    records = []
    for split, inside, kept in _splits(rows):
        if annotators[inside].any():
            given = Examples(labelled, examples.label_names)
            sides = [_side(given, annotators, inside & side) for side in (kept, ~kept)]
            records.append((split, *(value for pair in zip(*sides, strict=True) for value in pair)))
    return table_of(records, _AGREEMENT)


def _side(examples: Examples, annotators: np.ndarray, side: np.ndarray) -> tuple[Any, ...]:
    annotated = side & (annotators > 0)
    agreement = annotator_agreement(Examples(examples.table.filter(pa.array(annotated)), examples.label_names))
    several = int((side & (annotators > 1)).sum())
    if agreement is None:
        return 0, None, several, None
    return agreement.rows, agreement.mean_accuracy, several, agreement.unanimous_share


def removed_by_class(rows: pa.Table, examples: Examples) -> pa.Table:
    """Count the train rows of each class that each iteration removed, and list the three easiest removed rows.

    Appendix A.8 of Le Bras et al., ICML 2020, shows the easiest removed rows. The easiest rows have the highest
    predictability; ties are broken by the highest `label_probability`, then by the lowest id.

    Returns:
        A table with one row per class and per iteration that removed train rows. The columns are `iteration`,
        `label_name`, `class_rows` (rows of the class that entered the iteration), `removed_rows`, `removed_share` in
        [0, 1] and `examples`. The examples are texts cut to 60 characters, or names such as "row 7" for rows without
        texts.

    Raises:
        DataError: the rows are from another version of the dataset.
    """
    train = rows.filter(pc.equal(rows["split"], "train"))
    removed_in = pc.fill_null(train["removed_in_iteration"], np.iinfo(np.int64).max).to_numpy()
    labels, row_ids = train["label"].to_numpy(), train["row_id"].to_numpy()
    scores = [np.nan_to_num(train[name].to_numpy().astype(float)) for name in ("predictability", "label_probability")]
    easiest = np.lexsort((row_ids, -scores[1], -scores[0]))
    records: list[tuple[Any, ...]] = []
    for iteration in np.unique(removed_in[~train["kept"].to_numpy().astype(bool)]).tolist():
        for label, name in enumerate(examples.label_names):
            entered = int(((labels == label) & (removed_in >= iteration)).sum())
            gone = easiest[((labels == label) & (removed_in == iteration))[easiest]]
            shown = " | ".join(_shown(examples, row_ids[gone[:_EXAMPLES]]))
            records.append((iteration, name, entered, len(gone), ratio(len(gone), entered), shown))
    return table_of(records, _BY_CLASS)


def _shown(examples: Examples, row_ids: np.ndarray) -> Iterator[str]:
    """Return the rows' texts for display, or names such as "row 7" if the rows have no texts."""
    columns = [name for name in ("text", "text_pair") if name in examples.table.column_names]
    if not columns:
        yield from (f"row {row_id}" for row_id in row_ids)
        return
    for row in columns_of(examples, columns, row_ids).to_pylist():
        yield " / ".join(short(value or "", _EXAMPLE_LENGTH) for value in row.values())
