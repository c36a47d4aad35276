from typing import Any, Literal

import numpy as np
import pytest

from aflite_assets.analysis.facts import dataset_facts
from aflite_assets.analysis.inputs.records import TestSet
from aflite_assets.reports.class_maps import set_notes
from tests.planted_reports import planted_benchmark

NLI = ("entailment", "neutral", "contradiction")
BY_LABEL = "The predicted label is mapped (collapse: label): "
BY_PROBABILITY = (
    "Probabilities of labels that count as one are added up, and the largest sum is the prediction "
    "(collapse: probability): "
)


def challenge(
    own: tuple[str, ...], class_map: list[int] | None, collapse: Literal["label", "probability"] = "label", **more: Any
) -> TestSet:
    given = None if class_map is None else np.array(class_map)
    return TestSet("c", True, np.arange(2), np.array([0, 1]), own, {}, class_map=given, collapse=collapse, **more)


def notes_of(test_set: TestSet, label_names: tuple[str, ...] = NLI) -> tuple[str, ...]:
    facts = dataset_facts(planted_benchmark(test_sets=(test_set,), cells=(), label_names=label_names))
    return set_notes(facts.test_set["c"], label_names)


@pytest.mark.parametrize(
    ("own", "class_map"), [(NLI, None), (NLI, [0, 1, 2]), (("contradiction", "entailment", "neutral"), [1, 2, 0])]
)
def test_labels_that_count_as_themselves_need_no_words(own: tuple[str, ...], class_map: list[int] | None) -> None:
    assert notes_of(challenge(own, class_map)) == ()


@pytest.mark.parametrize(
    ("class_map", "collapse", "text"),
    [
        ([0, 1, 1], "label", f"{BY_LABEL}entailment counts as yes; neutral and contradiction count as no."),
        ([0, 1, 1], "probability", f"{BY_PROBABILITY}entailment counts as yes; neutral and contradiction count as no."),
        (
            [0, -1, 1],
            "label",
            f"{BY_LABEL}entailment counts as yes; contradiction counts as no; "
            "neutral counts as none of this set's labels and is always wrong.",
        ),
        (
            [0, -1, 1],
            "probability",
            f"{BY_PROBABILITY}entailment counts as yes; contradiction counts as no; "
            "neutral counts as none of this set's labels and is left out.",
        ),
    ],
)
def test_maps_are_put_into_words(class_map: list[int], collapse: Any, text: str) -> None:
    assert notes_of(challenge(("yes", "no"), class_map, collapse)) == (text,)


def test_a_renaming_is_mapped_by_label_whatever_collapse_says() -> None:
    own = ("e", "n", "c")
    (note,) = notes_of(challenge(own, [0, 1, 2], "probability"))
    assert note == f"{BY_LABEL}entailment counts as e; neutral counts as n; contradiction counts as c."


def test_many_labels_are_counted_not_listed() -> None:
    names = tuple(f"class{number}" for number in range(1000))
    (note,) = notes_of(challenge(names[:200], [*range(200), *[-1] * 800], "probability"), names)
    assert note == (
        f"{BY_PROBABILITY}200 labels count as those of the same name; class200, class201, class202, class203, "
        "class204, class205, class206, class207 and 792 more count as none of this set's labels and are left out."
    )


def test_other_notes_come_first() -> None:
    notes = notes_of(challenge(("yes", "no"), [0, 1, 1], notes=("The spec limits it to 2 of 9 rows.",)))
    assert notes[0] == "The spec limits it to 2 of 9 rows."
    assert len(notes) == 2
