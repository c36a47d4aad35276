"""Suspected label errors by confident learning: the rows, their more likely labels, and whether the rows were kept."""

import warnings
from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.diagnostics.record_tables import ratio, split_masks, table_of
from aflite_assets.errors import InvalidInputError

SUSPECTS = pa.schema(
    [
        ("row_id", pa.int64()),
        ("split", pa.string()),
        ("label", pa.int64()),
        ("label_probability", pa.float32()),
        ("suggested_label", pa.int64()),
        ("suggested_probability", pa.float32()),
        ("quarantined", pa.bool_()),
    ]
)
"""Columns of the table of suspects; see `suspected_rows`."""

_SHARES = pa.schema(
    [
        ("split", pa.string()),
        *((name, pa.int64()) for name in ("kept_rows", "kept_suspects")),
        ("kept_share", pa.float64()),
        *((name, pa.int64()) for name in ("removed_rows", "removed_suspects")),
        ("removed_share", pa.float64()),
        ("quarantined", pa.int64()),
    ]
)


def suspected_errors(codes: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return a bool per row: True if confident learning (Northcutt, Jiang, Chuang, JAIR 2021) suspects the label.

    The method estimates the joint distribution of given and true labels from the rows with confident predictions. The
    joint distribution gives the number n of mislabelled rows for each pair of classes, and the n rows with the largest
    margin are suspected. The package cleanlab, which is used here, calls this rule "prune by noise rate".

    If the features explain the noise, or if the task is hard, rows with right labels are suspected too. If a class has
    only one row, this row is never suspected.

    Args:
        codes: the rows' classes, int64 from 0.
        probabilities: rows x classes, in [0, 1], from models that were not trained on the row. A row with NaN was never
            predicted and is not suspected.

    Raises:
        InvalidInputError: the arguments have different lengths, or `probabilities` has no column for a class.
    """
    if probabilities.ndim != 2 or len(probabilities) != len(codes):
        raise InvalidInputError(
            f"`probabilities` has shape {probabilities.shape}, but there are {len(codes)} labels; give one line per "
            "label"
        )
    if len(codes) and codes.max() >= probabilities.shape[1]:
        raise InvalidInputError(
            f"the largest class number is {codes.max()}, but `probabilities` has {probabilities.shape[1]} columns; "
            "give one column per class"
        )
    found = np.zeros(len(codes), dtype=bool)
    known = np.flatnonzero(~np.isnan(probabilities).any(axis=1))
    if len(np.unique(codes[known])) < 2:
        return found
    from cleanlab.filter import find_label_issues  # loads scikit-learn and pandas

    with warnings.catch_warnings():
        # cleanlab warns about classes with at most one row, which are never suspected
        warnings.filterwarnings("ignore", message="May not flag all label issues in class")
        found[known] = find_label_issues(codes[known], probabilities[known], n_jobs=1)
    return found


def suspected_rows(
    row_ids: np.ndarray,
    splits: np.ndarray,
    labels: np.ndarray,
    probabilities: np.ndarray,
    classes: np.ndarray,
    *,
    quarantine: Collection[str],
) -> pa.Table:
    """Return the suspected rows (schema `SUSPECTS`), ordered by the probability of the given label, then by row id.

    `suggested_label` is the most probable class. `label_probability` and `suggested_probability` are the mean held-out
    probabilities of the given and of the suggested label. `quarantined` is True for suspected rows in the splits that
    `quarantine` contains.

    Args:
        row_ids: id of each row, int64.
        splits: split of each row.
        labels: label of each row, int64.
        probabilities: held-out class probabilities, rows x classes, with columns in the order of `classes`.
        classes: the distinct labels, int64, ascending.
        quarantine: names of the splits whose suspects are quarantined.
    """
    codes = np.searchsorted(classes, labels)
    rows = np.flatnonzero(suspected_errors(codes, probabilities))
    own = probabilities[rows, codes[rows]]
    rows, own = (values[np.lexsort((row_ids[rows], own))] for values in (rows, own))
    best = probabilities[rows].argmax(axis=1)
    columns = (
        row_ids[rows],
        splits[rows].astype(str),
        labels[rows],
        own.astype(np.float32),
        classes[best],
        probabilities[rows, best].astype(np.float32),
        np.isin(splits[rows].astype(str), list(quarantine)),
    )
    return pa.table([pa.array(values, field.type) for values, field in zip(columns, SUSPECTS, strict=True)], SUSPECTS)


def whole_suspects(suspects: pa.Table, question_of: np.ndarray) -> pa.Table:
    """Return the suspects of those multiple-choice questions in which a right and a wrong answer are suspected.

    In a mislabelled question, two answers have wrong labels: a right and a wrong answer are exchanged. Questions with
    only one suspected answer are therefore left out.

    Args:
        suspects: a table from `suspected_rows`.
        question_of: the question of each suspect, int64.
    """
    labels = suspects["label"].to_numpy()
    questions = [set(question_of[labels == label].tolist()) for label in np.unique(labels)]
    both = set.intersection(*questions) if len(questions) > 1 else set()
    return suspects.filter(pa.array(np.isin(question_of, list(both))))


def suspect_shares(rows: pa.Table, suspects: pa.Table) -> pa.Table:
    """Count the suspected rows among the kept and among the removed rows, by split.

    Args:
        rows: the filtered set's rows: row_id int64, split string, kept bool.
        suspects: a table from `suspected_rows`.

    Returns:
        A table with the columns `split`, `kept_rows`, `kept_suspects`, `kept_share`, `removed_rows`,
        `removed_suspects`, `removed_share` and `quarantined`. Shares are in [0, 1], or null if there are no rows.
        `quarantined` is the number of suspects that were removed before the first iteration. The other columns do not
        count quarantined rows.
    """
    suspected = np.isin(rows["row_id"].to_numpy(), suspects["row_id"].to_numpy())
    kept = rows["kept"].to_numpy().astype(bool)
    taken = suspects.filter(suspects["quarantined"])["split"].to_pylist()
    records = []
    for split, inside in split_masks(rows):
        counts: list[int | float | None] = []
        for side in (inside & kept, inside & ~kept):
            here, there = int((side & suspected).sum()), int(side.sum())
            counts += [there, here, ratio(here, there)]
        records.append((split, *counts, taken.count(split)))
    return table_of(records, _SHARES)


def quarantined_ids(suspects: pa.Table) -> np.ndarray:
    """Return the ids of the quarantined rows, int64 ascending."""
    return np.sort(pc.filter(suspects["row_id"], suspects["quarantined"]).to_numpy())
