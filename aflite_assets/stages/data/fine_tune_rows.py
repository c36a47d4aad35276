"""Rows of challenge sets for training evaluators, with the dataset's own classes and without rows of test sets.

The stage `challenge_sets` builds the test rows. `sources.recipes` lists the evaluators that train on rows of challenge
sets.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.data.raw_table.table import RawTable, build_raw_table, implied_columns
from aflite_assets.data.rows import rows_at
from aflite_assets.diagnostics.data_checks.repeats import input_codes
from aflite_assets.errors import DataError, MissingDataError
from aflite_assets.specs.core import ChallengeSpec

_INPUTS = ("text", "text_pair", "image", "features")


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Put `what`, such as a challenge set's name, before the message of a DataError within a `with` block."""
    try:
        yield
    except MissingDataError as error:
        raise MissingDataError(f"{what}: {error}") from error
    except DataError as error:
        raise DataError(f"{what}: {error}") from error


def build_fine_tune(
    name: str,
    challenge: ChallengeSpec,
    tables: Mapping[str, pa.Table],
    *,
    seed: int,
    scale: Scale | None = None,
    complete: bool = True,
) -> RawTable:
    """Return the rows of the split that `fine_tune` names, with the set's own labels.

    `limit` and `category` apply only to test rows and are ignored. If `fine_tune_limit` is set, only `fine_tune_limit`
    rows are drawn, stratified by label. `scale`: the scale by which the dataset's features were standardised.
    `complete`: False if `tables` hold only the first rows.

    Raises:
        DataError: the source has no such split, or the rows do not match the spec.
    """
    split = challenge.fine_tune
    assert split is not None
    if split not in tables:
        raise DataError(f"challenge set {name!r} has no split {split!r}, only {sorted(tables)}; correct `fine_tune`")
    with naming(f"the rows of challenge set {name!r} to fine-tune on are unsuitable"):
        built = build_raw_table(
            {split: tables[split]},
            columns=implied_columns(challenge.source, challenge.columns, tables).model_copy(update={"attributes": ()}),
            label_names=challenge.labels,
            unlabelled=challenge.unlabelled,
            limit=None if challenge.fine_tune_limit is None else {split: challenge.fine_tune_limit},
            seed=seed,
            complete=complete,
        )
    if scale is None:
        return built
    if len(built.examples) and built.examples.modality == "features":
        width = built.examples.features.shape[1]
        if width != len(scale.mean):
            raise DataError(
                f"the rows of challenge set {name!r} to fine-tune on have {width} features, but the dataset has "
                f"{len(scale.mean)}; name the same columns for both"
            )
        built = replace(built, examples=scale.applied(built.examples))
    return built


def in_dataset_classes(
    name: str, challenge: ChallengeSpec, examples: Examples, dataset_labels: tuple[str, ...]
) -> Examples:
    """Return the rows with the dataset's classes instead of the set's own classes, by inverting the spec's `map`.

    Raises:
        DataError: `map` assigns either no label or several labels of the dataset to a label that occurs in the rows.
    """
    given = {label: label for label in dataset_labels} if challenge.map is None else challenge.map
    classes = np.full(len(examples.label_names), -1, np.int64)
    rows = np.bincount(examples.labels, minlength=len(classes))
    for number, own in enumerate(examples.label_names):
        sources = [label for label in dataset_labels if given.get(label) == own]
        if len(sources) == 1:
            classes[number] = dataset_labels.index(sources[0])
        elif rows[number]:
            mapped = f"the labels {' and '.join(map(repr, sources))} of the dataset are"
            raise DataError(
                f"challenge set {name!r}: {rows[number]} rows to fine-tune on have the label {own!r}, but "
                f"{mapped if sources else 'no label of the dataset is'} mapped to it, so their label among "
                f"{list(dataset_labels)[:10]} is unknown; map exactly one label of the dataset to each label of these "
                "rows in `map`, or leave out `fine_tune` (evaluators are then only tested on the set)"
            )
    place = examples.table.column_names.index("label")
    labels = pa.array(classes[examples.labels])
    return Examples(examples.table.set_column(place, "label", labels), dataset_labels)


def repeated_rows(rows: Examples, others: Iterable[Examples]) -> np.ndarray:
    """Return a bool per row of `rows`: True if a row in `others` has byte-identical input."""
    columns = [column for column in _INPUTS if column in rows.table.column_names]
    own = rows.table.select(columns)
    # Parquet files name the elements of lists differently, so the types are made equal.
    tables = [other.table.select(columns).cast(own.schema) for other in others]
    codes = input_codes(Examples(pa.concat_tables([own, *tables]), rows.label_names))
    return np.asarray(np.isin(codes[: len(rows)], codes[len(rows) :]))


def without_test_rows(name: str, rows: Examples, tests: Iterable[Examples]) -> Examples:
    """Drop rows whose input is byte-identical to the input of a test row; labels are not compared.

    `tests`: every set that evaluators are tested on, because an evaluator can be trained on several sets in sequence.

    Raises:
        DataError: every row is also a test row.
    """
    seen = repeated_rows(rows, tests)
    if seen.all():
        raise DataError(
            f"challenge set {name!r}: all {len(rows)} rows to fine-tune on are also test rows; set `fine_tune` to "
            "another split"
        )
    return replace(rows, table=rows_at(rows.table, np.flatnonzero(~seen)))
