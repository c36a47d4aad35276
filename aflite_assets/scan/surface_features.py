"""The representation of kind `surface`: numeric features for a classifier, made from surface properties of rows."""

from collections.abc import Sequence

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.scan.blind.answers import BlindAnswers
from aflite_assets.scan.blind.measures import Measure, measures_of
from aflite_assets.scan.blind.models import SURFACE_KINDS, surface_features
from aflite_assets.scan.properties.extraction import Extracted, extract
from aflite_assets.scan.properties.records import Properties
from aflite_assets.scan.rows import ScanRows, rows_of_examples
from aflite_assets.scan.surface import FEWEST_ROWS, binned_numbers, frequent_flags

NO_SURFACE = frozenset({"order", "identifier", "copies"})
"""Kinds of artefacts that a model cannot read from a single row."""


def features_of_rows(examples: Examples, *, inputs: Sequence[str] | None = None, threads: int = 1) -> np.ndarray:
    """Return the surface properties of the rows, float32 of shape (rows, properties), mean 0 and standard deviation 1.

    Answers to questions get the features of `blind.models.surface_features`, which read the answers and count words in
    common with the question. Rows that are not answers get yes-or-no properties, and numbers that are divided into bins
    with equal numbers of rows. No label is read.

    Args:
        examples: rows of all splits.
        inputs: the texts (`text`, `text_pair`) whose properties are read; None for all texts, and for answers to
            questions.
        threads: number of threads that decode images.

    Raises:
        MissingDataError: an image file is missing.
    """
    rows = rows_of_examples(examples)
    extracted = extract(rows, fewest=FEWEST_ROWS, threads=threads)
    codes = rows.question_codes
    if rows.answers and codes is not None and len(rows.texts) == 2 and inputs is None:
        matrix = answer_features(rows, extracted)
    else:
        matrix = _standardised(_of_rows(rows, extracted.properties, inputs))
    assert rows.row_ids is not None
    order = np.argsort(rows.row_ids, kind="stable")
    return matrix[order[np.searchsorted(rows.row_ids[order], examples.row_ids)]]


def answer_features(rows: ScanRows, extracted: Extracted) -> np.ndarray:
    """Return the surface properties of answers to questions, in the format of `features_of_rows`."""
    assert rows.question_codes is not None
    positions = np.arange(len(rows))
    _, questions = np.unique(rows.question_codes, return_inverse=True)
    answers = BlindAnswers(
        positions=positions,
        right=np.zeros(len(rows), dtype=bool),  # no property depends on `right`
        questions=questions,
        units=extracted.units,
        subsets=(),
        name=[*rows.texts][1],
        listed=rows.answers_listed,
    )
    asked, given = ([text or "" for text in texts] for texts in rows.texts.values())
    measures: Sequence[Measure] = measures_of(answers, asked, given)
    return _standardised(surface_features(answers, measures, extracted.properties))


def _of_rows(rows: ScanRows, properties: Properties, inputs: Sequence[str] | None) -> np.ndarray:
    left_out = set() if inputs is None else {*rows.texts} - {*inputs}

    def is_surface(kind: str, source: str, is_artefact: bool) -> bool:
        return (kind in SURFACE_KINDS or is_artefact) and kind not in NO_SURFACE and source not in left_out

    everything = np.arange(len(rows))
    wanted = [is_surface(info.kind, info.source, info.is_artefact) for info in properties.flags.infos]
    columns = [frequent_flags(properties, everything, np.array(wanted, dtype=bool), FEWEST_ROWS)]
    for number in properties.numbers:
        if is_surface(number.info.kind, number.info.source, number.info.is_artefact):
            columns.append(binned_numbers(number.codes))
    return np.concatenate(columns, axis=1)


def _standardised(matrix: np.ndarray) -> np.ndarray:
    deviation = matrix.std(axis=0)
    varying = deviation > 1e-6
    centred = matrix[:, varying] - matrix[:, varying].mean(axis=0)
    return (centred / deviation[varying]).astype(np.float32)
