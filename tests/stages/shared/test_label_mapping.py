import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.specs.core import ChallengeSpec
from aflite_assets.stages.shared.label_mapping import class_map, is_identity, label_mapping

NLI = ("entailment", "neutral", "contradiction")


def _map(
    own: tuple[str, ...],
    mapping: dict[str, str | None] | None = None,
    *,
    dataset: tuple[str, ...] = NLI,
    labels: list[int] | None = None,
) -> list[int]:
    """The class map of a set whose rows have these labels; by default every label has one row."""
    rows = list(range(len(own))) if labels is None else labels
    examples = Examples(pa.table({"row_id": np.arange(len(rows)), "label": pa.array(rows, pa.int64())}), own)
    settings: dict[str, Any] = {"source": {"format": "digits"}, "map": mapping}
    found = class_map("hans", ChallengeSpec(**settings), examples, dataset)
    assert found.dtype == np.int64
    return found.tolist()


@pytest.mark.parametrize(
    ("own", "numbers"),
    [
        (NLI, [0, 1, 2]),
        (("contradiction", "entailment", "neutral"), [1, 2, 0]),
        (("contradiction", "entailment"), [1, -1, 0]),
        (("neutral",), [-1, 0, -1]),
    ],
)
def test_without_a_map_labels_of_the_same_name_correspond(own: tuple[str, ...], numbers: list[int]) -> None:
    assert _map(own) == numbers


def test_a_subset_of_many_labels_is_a_class_mask() -> None:
    thousand = tuple(f"n{number:04d}" for number in range(1000))
    numbers = _map(thousand[3::5], dataset=thousand)
    assert [number for number in numbers if number >= 0] == list(range(200))
    assert [c for c, number in enumerate(numbers) if number >= 0] == list(range(3, 1000, 5))


def test_a_label_that_the_dataset_lacks_needs_a_map() -> None:
    message = (
        "challenge set 'hans' has labels ['entailment', 'non-entailment'], but the dataset (['entailment', "
        "'neutral', 'contradiction']) lacks ['non-entailment']; set `map` so that each label of the dataset has a "
        "label of the set or null, or rename"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        _map(("entailment", "non-entailment"))


def test_long_lists_of_labels_are_cut() -> None:
    many = tuple(f"c{number}" for number in range(50))
    with pytest.raises(DataError, match=re.escape("'c9', ... 50 in all]; set `map`")):
        _map(many)


@pytest.mark.parametrize(
    ("mapping", "numbers"),
    [
        ({"entailment": "yes", "neutral": "no", "contradiction": "no"}, [1, 0, 0]),
        ({"contradiction": "no", "neutral": None, "entailment": "yes"}, [1, -1, 0]),
    ],
)
def test_a_map_says_what_counts_as_what(mapping: dict[str, str | None], numbers: list[int]) -> None:
    assert _map(("no", "yes"), mapping) == numbers


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (
            {"entailment": "yes", "contradiction": "no"},
            "`map` of challenge set 'hans' lacks the dataset's labels ['neutral']; "
            "map each of them to a label of the set (['no', 'yes']), or to null if none matches",
        ),
        (
            {"entailmnt": "yes", "neutral": "no", "contradiction": "no"},
            "`map` of challenge set 'hans' contains 'entailmnt', which is not a label of the dataset (['entailment', "
            "'neutral', 'contradiction']); did you mean 'entailment'?",
        ),
        (
            {"entailment": "yess", "neutral": "no", "contradiction": "no"},
            "`map` of challenge set 'hans' maps 'entailment' to 'yess', which is not a label of the set (['no', "
            "'yes']); "
            "did you mean 'yes'?",
        ),
        (
            {"entailment": "yes", "neutral": None, "contradiction": None},
            "in challenge set 'hans', 1 of 2 rows have the label 'no', but no label of the dataset is mapped to it",
        ),
    ],
)
def test_a_map_that_does_not_fit_is_refused(mapping: dict[str, str | None], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        _map(("no", "yes"), mapping)


def test_a_label_without_rows_needs_nothing_that_counts_as_it() -> None:
    mapping = {"entailment": "yes", "neutral": None, "contradiction": None}
    assert _map(("no", "yes"), mapping, labels=[1, 1]) == [1, -1, -1]


@pytest.mark.parametrize(
    ("numbers", "own", "same"),
    [
        ([0, 1, 2], NLI, True),
        ([0, 2, 1], NLI, False),
        ([0, 1, -1], NLI, False),
        ([0, 1, 2], ("a", "b", "c"), False),
        ([0, 1, 1], ("a", "b"), False),
    ],
)
def test_the_identity_has_the_names_and_the_numbers(numbers: list[int], own: tuple[str, ...], same: bool) -> None:
    assert is_identity(np.array(numbers), own, NLI) is same


@pytest.mark.parametrize("given", [None, {"entailment": "unseen", "new": "no"}])
def test_nothing_is_refused_where_only_the_first_rows_were_read(given: dict[str, str | None] | None) -> None:
    examples = Examples(pa.table({"row_id": [0], "label": [0]}), ("no",))
    settings: dict[str, Any] = {"source": {"format": "digits"}, "map": given}
    with pytest.raises(DataError, match="challenge set 'hans'"):
        label_mapping("hans", ChallengeSpec(**settings), examples, NLI)
    found = label_mapping("hans", ChallengeSpec(**settings), examples, NLI, complete=False)
    assert found == {"entailment": given and "unseen", "neutral": None, "contradiction": None}
