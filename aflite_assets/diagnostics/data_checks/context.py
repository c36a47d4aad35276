"""What every check on data receives and returns; the checks are in `row_checks` and `input_checks`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.choices import RIGHT, WRONG
from aflite_assets.data.raw_table.decodable_images import UndecodableImages
from aflite_assets.diagnostics.data_checks.feature_columns import FeatureColumns, all_finite, feature_columns
from aflite_assets.diagnostics.data_checks.repeats import TrainRepeats, input_codes, repeats_in_train
from aflite_assets.wording import quoted, quoted_list

Numbers = Mapping[str, int | float | str]

NOT_APPLICABLE = "not applicable"
"""How the text under "result" begins in the numbers of a check that has nothing to look at."""

_SHOWN_CHARACTERS = 80
_SHOWN_ENTRIES = 20


@dataclass(frozen=True)
class Outcome:
    """A check's answer: whether it passed, the numbers it rests on, and what to do about them."""

    passed: bool
    numbers: Numbers
    what_to_do: str = "none"


@dataclass(frozen=True)
class CheckContext:
    """A raw table, what was dropped on the way to it, by split, and what several checks compute once."""

    examples: Examples
    unlabelled_rows: Mapping[str, int] = field(default_factory=dict)
    undecodable_images: Mapping[str, UndecodableImages] = field(default_factory=dict)

    @cached_property
    def train(self) -> Examples:
        """The rows of the split that is filtered."""
        return self.examples.in_split("train")

    @property
    def questions(self) -> bool:
        """Whether rows are answers of questions (multiple choice), which repeat and share texts by their nature."""
        return self.examples.groups is not None and {*self.examples.label_names} == {RIGHT, WRONG}

    @cached_property
    def in_train(self) -> np.ndarray:
        """Which rows are of the split that is filtered, bool."""
        return np.asarray(self.examples.table["split"].to_numpy() == "train")

    @cached_property
    def codes(self) -> np.ndarray:
        """`input_codes` of all rows."""
        return input_codes(self.examples)

    @cached_property
    def train_repeats(self) -> TrainRepeats:
        """Train rows that stand more than once."""
        return repeats_in_train(self.examples, self.codes)

    @cached_property
    def features_finite(self) -> bool:
        """Whether all features are; only for datasets of feature vectors."""
        return all_finite(self.examples.features)

    @cached_property
    def feature_columns(self) -> FeatureColumns:
        """The feature columns over the train rows; only for finite feature vectors and at least one train row."""
        return feature_columns(self.examples.features, self.in_train)


def not_applicable(reason: str) -> Outcome:
    """The answer where a dataset has nothing to check."""
    return Outcome(True, {"result": f"{NOT_APPLICABLE}: {reason}"})


def quoted_text(text: str) -> str:
    """The beginning of a text from the data, in quotes, with what does not print written out."""
    return quoted(text, _SHOWN_CHARACTERS)


def listed(values: Iterable[object]) -> str:
    """The first twenty values in a line, and how many more there are."""
    return quoted_list(values, most=_SHOWN_ENTRIES, length=_SHOWN_CHARACTERS)
