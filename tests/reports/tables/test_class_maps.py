from typing import Any, Literal

import numpy as np
import pytest

from aflite_assets.analysis.facts import set_facts
from aflite_assets.analysis.inputs.records import TestSet
from aflite_assets.reports.tables import challenge_tables

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


def set_notes(one: TestSet, names: tuple[str, ...]) -> tuple[str, ...]:
    return challenge_tables.set_notes(set_facts(one, names, ranked=False), names)


@pytest.mark.parametrize(
    ("own", "class_map"), [(NLI, None), (NLI, [0, 1, 2]), (("contradiction", "entailment", "neutral"), [1, 2, 0])]
)
def test_labels_that_count_as_themselves_need_no_words(own: tuple[str, ...], class_map: list[int] | None) -> None:
    assert set_notes(challenge(own, class_map), NLI) == ()


@pytest.mark.parametrize(
    ("class_map", "collapse", "text"),
    [
        ([0, 1, 1], "label", f"{BY_LABEL}entailment as yes; neutral and contradiction as no."),
        ([0, 1, 1], "probability", f"{BY_PROBABILITY}entailment as yes; neutral and contradiction as no."),
        (
            [0, -1, 1],
            "label",
            f"{BY_LABEL}entailment as yes; contradiction as no; neutral as none of this set's labels (always wrong).",
        ),
        (
            [0, -1, 1],
            "probability",
            f"{BY_PROBABILITY}entailment as yes; contradiction as no; neutral as none of this set's labels (left out).",
        ),
    ],
)
def test_maps_are_put_into_words(class_map: list[int], collapse: Any, text: str) -> None:
    assert set_notes(challenge(("yes", "no"), class_map, collapse), NLI) == (text,)


def test_a_renaming_is_mapped_by_label_whatever_collapse_says() -> None:
    own = ("e", "n", "c")
    (note,) = set_notes(challenge(own, [0, 1, 2], "probability"), NLI)
    assert note == f"{BY_LABEL}entailment as e; neutral as n; contradiction as c."


def test_many_labels_are_counted_not_listed() -> None:
    names = tuple(f"class{number}" for number in range(1000))
    (note,) = set_notes(challenge(names[:200], [*range(200), *[-1] * 800], "probability"), names)
    assert note.startswith(f"{BY_PROBABILITY}class0 as class0; class1 as class1; class2 as class2; ")
    assert note.endswith(
        "class6 as class6; 193 more likewise; class200, class201, class202, class203, class204, class205, class206, "
        "class207 and 792 more as none of this set's labels (left out)."
    )


def test_other_notes_come_first() -> None:
    notes = set_notes(challenge(("yes", "no"), [0, 1, 1], notes=("The spec limits it to 2 of 9 rows.",)), NLI)
    assert notes[0] == "The spec limits it to 2 of 9 rows."
    assert len(notes) == 2
