"""Inputs that the data checks share, and helpers for their outcomes. The checks are in `row_checks` and
`input_checks`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

import numpy as np

from aflite_assets.checks import NOT_APPLICABLE, CheckOutcome, Numbers
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers
from aflite_assets.data.raw_table.copies import shared_rows
from aflite_assets.data.raw_table.decodable_images import UndecodableImages
from aflite_assets.diagnostics.data_checks.feature_columns import FeatureColumns, all_finite, feature_columns
from aflite_assets.diagnostics.data_checks.label_copies import label_copies
from aflite_assets.diagnostics.data_checks.repeats import TrainRepeats, input_codes, repeats_in_train
from aflite_assets.wording import counted, quoted, quoted_list

_SHOWN_CHARACTERS = 80
_SHOWN_ENTRIES = 20
_SHOWN_PLACES = 5


def _row_ids(row_ids: Sequence[int]) -> Sequence[str]:
    return [f"row id {row_id}" for row_id in row_ids]


_NUMBERED = re.compile(r"(.+) (\d+)")


def _together(places: Iterable[str]) -> Iterator[str]:
    """Join places that differ only in their line numbers into one text, such as "train.csv, lines 9, 14"."""
    numbered = (found.groups() if (found := _NUMBERED.fullmatch(place)) else (place, "") for place in places)
    for what, same in groupby(numbered, key=lambda one: one[0]):
        numbers = [number for _, number in same if number]
        yield f"{what}{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}".rstrip()


@dataclass(frozen=True)
class SourceFacts:
    """Facts about a source that messages of checks contain: places of rows, names of columns, and current settings.

    `places`: a function that maps row ids to printable places in the source, such as "train.csv, line 9".
    `feature_names`: names of the feature columns, or None if the source has none. `column_names`: the source's column
    name for each text column of the raw table. `drop_duplicates`, `drop_between_splits`: True if the dataset's YAML
    file contains the setting with the field's name. `drawn_splits`: splits that are drawn from train and do not exist
    in the source.

    `allowed_label_copies`: columns that may be copies of the label according to the YAML file. A feature column is
    named by its number (from 0), and a text column by "text" or "text_pair".
    """

    places: Callable[[Sequence[int]], Sequence[str]] = _row_ids
    feature_names: tuple[str, ...] | None = None
    column_names: Mapping[str, str] = field(default_factory=dict)
    drop_duplicates: bool = False
    drop_between_splits: bool = False
    drawn_splits: frozenset[str] = frozenset()
    allowed_label_copies: frozenset[int | str] = frozenset()

    def rows_text(self, row_ids: Sequence[int], rows: int | None = None) -> str:
        """List the places of the first five rows, and the number of further rows; `rows` is the total number."""
        shown = self.places(list(row_ids[:_SHOWN_PLACES]))
        more = (len(row_ids) if rows is None else rows) - len(shown)
        return "; ".join(_together(shown)) + (f"; and {more:,} more" if more else "")

    def named(self, column: str) -> str:
        """Return a text column's name in the source."""
        return self.column_names.get(column, column)

    def columns_text(self, columns: Iterable[int]) -> str:
        """List at most twenty feature columns by name, or as "column 3" (counted from 0) if they have no names."""
        names = self.feature_names
        if names is None:
            numbers = list(columns)
            return f"column{'' if len(numbers) == 1 else 's'} {listed(numbers)} (from 0)"
        return listed(names[column] for column in columns)


@dataclass(frozen=True)
class CheckContext:
    """The inputs of a check: a raw table, facts about its source, the dropped rows per split, and cached values."""

    examples: Examples
    unlabelled_rows: Mapping[str, int] = field(default_factory=dict)
    undecodable_images: Mapping[str, UndecodableImages] = field(default_factory=dict)
    source: SourceFacts = SourceFacts()

    @cached_property
    def train(self) -> Examples:
        """The rows of the train split."""
        return self.examples.in_split("train")

    @cached_property
    def questions(self) -> bool:
        """True if rows are answers to multiple-choice questions, in which case rows of one question share a text."""
        return right_answers(self.examples) is not None

    @cached_property
    def in_train(self) -> np.ndarray:
        """Mask (bool) of the rows in the train split."""
        return np.asarray(self.examples.table["split"].to_numpy() == "train")

    @cached_property
    def codes(self) -> np.ndarray:
        """The result of `input_codes` for all rows."""
        return input_codes(self.examples)

    @cached_property
    def train_repeats(self) -> TrainRepeats:
        """Train rows that occur more than once."""
        return repeats_in_train(self.examples, self.codes)

    @cached_property
    def dropped_between_splits(self) -> int:
        """Number of train rows that `between_splits: drop` would drop. Splits drawn from train do not count."""
        drawn = np.isin(self.examples.table["split"].to_numpy(), list(self.source.drawn_splits))
        sides = (self.in_train, ~self.in_train & ~drawn)
        groups = self.examples.groups
        train, others = ((self.codes[side], None if groups is None else groups[side]) for side in sides)
        same_group, same_input = shared_rows(train, others, whole_groups=self.questions)
        return int((same_group | same_input).sum())

    @cached_property
    def label_copies(self) -> dict[int | str, int]:
        """The result of `label_copies` for all rows; all features must be finite."""
        return label_copies(self.examples, self.in_train)

    @cached_property
    def features_finite(self) -> bool:
        """True if all features are finite; only for datasets of feature vectors."""
        return all_finite(self.examples.features)

    @cached_property
    def feature_columns(self) -> FeatureColumns:
        """Findings about the feature columns in the train rows.

        The dataset must have finite feature vectors and at least one train row.
        """
        return feature_columns(self.examples.features, self.in_train)


def outcome(passed: bool, numbers: Numbers, what_to_do: str = "", found: str = "") -> CheckOutcome:
    """Return the outcome of a check, without the name of the check, which `all_checks` adds.

    The advice `what_to_do` is left out if the check passed.
    """
    return CheckOutcome("data", "", "", passed, found, "" if passed else what_to_do, numbers=numbers)


def not_applicable(reason: str) -> CheckOutcome:
    """Return the outcome of a check that does not apply to the dataset."""
    return CheckOutcome("data", "", "", True, f"{NOT_APPLICABLE}: {reason}", applies=False)


def rows_of(rows: int, share: float) -> str:
    """Return a number of rows and their share in per cent, such as "12 rows (0.8 %)"."""
    return f"{counted(rows)} ({share_text(share)})"


def share_text(share: float) -> str:
    """Return a share in [0, 1] in per cent, such as "0.8 %"; small shares have two significant digits."""
    return f"{100 * share:.1f} %" if share >= 0.0005 or share == 0 else f"{100 * share:.2g} %"


def by_split_text(rows: Mapping[str, int]) -> str:
    """Return counts by split, such as "10 of train, 2 of test"; splits with a count of 0 are left out."""
    return ", ".join(f"{number:,} of {split}" for split, number in rows.items() if number)


def quoted_text(text: str) -> str:
    """Return the beginning of a text from the data in quotes; unprintable characters are escaped."""
    return quoted(text, _SHOWN_CHARACTERS)


def listed(values: Iterable[object]) -> str:
    """Return the first twenty values in one line, and the number of further values."""
    return quoted_list(values, most=_SHOWN_ENTRIES, length=_SHOWN_CHARACTERS)
