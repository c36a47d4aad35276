"""Mapping from the dataset's labels to the labels of a challenge set. `reports` applies the mapping to predictions."""

from collections.abc import Collection, Mapping

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.specs.core import ChallengeSpec
from aflite_assets.wording import did_you_mean

_MOST_NAMED = 10


def class_map(name: str, challenge: ChallengeSpec, examples: Examples, dataset_labels: tuple[str, ...]) -> np.ndarray:
    """Return, for each class of the dataset, the matching class of the challenge set `name` (int64, -1 for none).

    Raises:
        DataError: the labels cannot be mapped, for the reasons listed in `label_mapping`.
    """
    targets = label_mapping(name, challenge, examples, dataset_labels)
    numbers = {label: number for number, label in enumerate(examples.label_names)}
    return np.array([-1 if target is None else numbers[target] for target in targets.values()], np.int64)


def label_mapping(
    name: str,
    challenge: ChallengeSpec,
    examples: Examples,
    dataset_labels: tuple[str, ...],
    *,
    complete: bool = True,
) -> dict[str, str | None]:
    """Return, for each label of the dataset in order, the matching label of the challenge set `name`, or None.

    The spec's `map` determines the matching labels. Without `map`, labels with the same name match, in any order;
    labels that the challenge set lacks are mapped to None. For example, ImageNet-A has only 200 of ImageNet's 1,000
    classes.

    `complete=False` means that only the first rows of the challenge set or the dataset were read, so labels may be
    missing. With `complete=False`, no error is raised for missing labels.

    Raises:
        DataError: without `map`, the set has a label that the dataset lacks. A DataError is also raised if `map` lacks
            a label of the dataset or contains an unknown label. A DataError is also raised if rows of the set have a
            label to which no label of the dataset is mapped.
    """
    where, own = f"challenge set {name!r}", examples.label_names
    given: Mapping[str, str | None] = {label: label for label in own} if challenge.map is None else challenge.map
    if complete and challenge.map is None:
        _check_names(where, own, dataset_labels)
    elif complete:
        _check_map(where, given, own, dataset_labels)
    targets = {label: given.get(label) for label in dataset_labels}
    if complete:
        _check_reachable(where, set(targets.values()), examples)
    return targets


def is_identity(mapping: np.ndarray, own: tuple[str, ...], dataset_labels: tuple[str, ...]) -> bool:
    """Return True if `own` equals the dataset's class names, in the same order, and each class is mapped to itself."""
    return own == dataset_labels and bool(np.array_equal(mapping, np.arange(len(own))))


def _check_names(where: str, own: tuple[str, ...], dataset_labels: tuple[str, ...]) -> None:
    strange = [label for label in own if label not in dataset_labels]
    if strange:
        raise DataError(
            f"{where} has labels {_some(own)}, but the dataset ({_some(dataset_labels)}) lacks {_some(strange)}; "
            "set `map` so that each label of the dataset has a label of the set or null, or rename the set's classes "
            "with `labels: {name: value in the source}`"
        )


def _check_map(
    where: str, given: Mapping[str, str | None], own: tuple[str, ...], dataset_labels: tuple[str, ...]
) -> None:
    for label, target in given.items():
        if label not in dataset_labels:
            raise DataError(
                f"`map` of {where} contains {label!r}, which is not a label of the dataset ({_some(dataset_labels)})"
                f"{did_you_mean(label, dataset_labels)}"
            )
        if target is not None and target not in own:
            raise DataError(
                f"`map` of {where} maps {label!r} to {target!r}, which is not a label of the set ({_some(own)})"
                f"{did_you_mean(target, own)}"
            )
    missing = [label for label in dataset_labels if label not in given]
    if missing:
        raise DataError(
            f"`map` of {where} lacks the dataset's labels {_some(missing)}; "
            f"map each of them to a label of the set ({_some(own)}), or to null if none matches"
        )


def _check_reachable(where: str, reached: Collection[str | None], examples: Examples) -> None:
    rows = np.bincount(examples.labels, minlength=len(examples.label_names))
    for number, label in enumerate(examples.label_names):
        if rows[number] and label not in reached:
            raise DataError(
                f"in {where}, {rows[number]} of {len(examples)} rows have the label {label!r}, but no label of the "
                "dataset is mapped to it; map a label to it in `map`, or add it to `unlabelled` to drop these rows"
            )


def _some(labels: tuple[str, ...] | list[str]) -> str:
    shown = str(list(labels[:_MOST_NAMED]))
    return shown if len(labels) <= _MOST_NAMED else f"{shown[:-1]}, ... {len(labels)} in all]"
