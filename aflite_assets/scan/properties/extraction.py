"""Extraction of the properties of all rows, and of the unit of each row.

Properties of each kind of input are computed in other modules.
"""

from dataclasses import dataclass

import numpy as np

from aflite_assets.scan.properties.anywhere import copy_flags, file_flags, id_properties, order_properties
from aflite_assets.scan.properties.categories import column_categories
from aflite_assets.scan.properties.copies import copy_codes, units_of
from aflite_assets.scan.properties.habits import agreement_flags, habit_flags
from aflite_assets.scan.properties.images import image_properties
from aflite_assets.scan.properties.records import Flags, Number, Properties, joined
from aflite_assets.scan.properties.tables import column_properties
from aflite_assets.scan.properties.texts import answer_numbers, pair_numbers, text_flags, text_numbers
from aflite_assets.scan.properties.tokens import Tokens, common_words, tokens_of
from aflite_assets.scan.properties.words import broken_word_flag, ending_flags, group_flags, word_flags
from aflite_assets.scan.rows import ScanRows


@dataclass(frozen=True, eq=False)
class Extracted:
    """Properties of the rows, and the unit of each row, int64.

    A unit consists of a group and near copies of its rows. Rows of one unit stay in the same half of every cut.
    """

    properties: Properties
    units: np.ndarray


def extract(rows: ScanRows, *, declared: frozenset[str] = frozenset(), fewest: int, threads: int) -> Extracted:
    """Compute all properties of the rows.

    Args:
        rows: the rows of all sets.
        declared: names of texts and columns declared as not part of the task.
        fewest: minimum number of rows with a word or value that becomes a property.
        threads: number of threads that decode images.

    Raises:
        MissingDataError: an image file is missing.
    """
    tokens = _tokens(rows)
    parts = [
        _text_properties(rows, tokens, declared, fewest),
        column_properties(rows.columns, declared=declared, fewest=fewest, rows=len(rows)),
        order_properties(rows),
        id_properties(rows, fewest=fewest),
    ]
    image_codes = None
    if rows.images is not None:
        flags, numbers, image_codes = image_properties(rows.images, fewest=fewest, threads=threads)
        parts.append((flags, numbers))
    copies = copy_codes(rows, list(tokens.values()), image_codes)
    parts.append(([copy_flags(_repeated(copies, rows.scanned)), file_flags(rows, fewest=fewest)], []))
    every = joined([flag for part, _ in parts for flag in part], rows=len(rows))
    all_numbers = tuple(number for _, part in parts for number in part)
    categories = tuple(column_categories(rows.columns, declared=declared))
    return Extracted(Properties(every, all_numbers, categories), units_of(rows.groups, copies))


def _tokens(rows: ScanRows) -> dict[str, Tokens]:
    """Read the words of every text column with one shared vocabulary, so that texts can be compared."""
    known: dict[str, int] = {}
    return {name: tokens_of(texts, known) for name, texts in rows.texts.items()}


def _text_properties(
    rows: ScanRows, tokens: dict[str, Tokens], declared: frozenset[str], fewest: int
) -> tuple[list[Flags], list[Number]]:
    flags: list[Flags] = []
    numbers: list[Number] = []
    compared: list[Flags] = []
    for name, texts in rows.texts.items():
        is_declared = name in declared
        own = [
            text_flags(texts, name, declared=is_declared),
            group_flags(tokens[name], name, declared=is_declared),
            word_flags(tokens[name], name, fewest=fewest, declared=is_declared),
            habit_flags(texts, tokens[name], name, fewest=fewest, declared=is_declared),
        ]
        compared.append(joined(own, rows=len(rows)))
        flags += [
            *own,
            broken_word_flag(tokens[name], name, declared=is_declared),
            ending_flags(texts, name, fewest=fewest, declared=is_declared),
        ]
        numbers += text_numbers(texts, tokens[name], name, declared=is_declared)
    if len(tokens) == 2:
        (first, second), names = tokens.values(), (*tokens,)
        flags.append(agreement_flags(compared[0], compared[1], (names[0], names[1])))
        numbers += pair_numbers(first, second, (names[0], names[1]))
        if rows.answers and rows.question_codes is not None:
            lengths = np.array([len(text or "") for text in rows.texts[names[1]]], dtype=np.float64)
            overlaps = common_words(first, second).astype(np.float64)
            places = rows.order if rows.answers_listed else None
            numbers += answer_numbers(lengths, overlaps, rows.question_codes, places)
    return flags, numbers


def _repeated(copies: np.ndarray, scanned: np.ndarray) -> np.ndarray:
    counts = np.bincount(copies[scanned], minlength=int(copies.max(initial=-1)) + 1)
    return np.asarray(scanned & (counts[copies] > 1))
