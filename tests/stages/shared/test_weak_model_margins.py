"""A weak model has learnt something where the interval of its margin over the largest class of a split lies over it."""

from typing import Any

import pytest

from aflite_assets.analysis.inputs.weak_models import WeakModelFacts
from aflite_assets.studies.forgettables.stages.weak_model_findings import findings

Margins = dict[str, dict[str, float]]


def _said(margins: Margins, **changes: Any) -> dict[str, str]:
    facts: dict[str, Any] = {
        "rows": 1_000, "forgettable": 200, "taken": 150, "never_learnt": 20, "events": {}, "largest_class": 0.5,
        "train_accuracy": 0.9, "accuracy": {"test": 0.8, "fresh": 0.7},
        "by_class": {"yes": {"forgettable": 150}, "no": {"forgettable": 50}},
    }  # fmt: skip
    return findings({"bow": WeakModelFacts(**{**facts, **changes, "margins": margins})}, {})["weak_models_learnt"]


@pytest.mark.parametrize(
    ("margins", "said"),
    [
        (
            {"test": {"largest_class": 0.79, "low": -0.4, "high": 2.4}},
            "accuracy 80.0% on test, largest class 79.0%; difference -0.4 to 2.4 points: at chance, so its "
            "forgettable rows are meaningless; train it longer, or at another rate",
        ),
        (
            {
                "test": {"largest_class": 0.9, "low": -12.0, "high": -8.0},
                "fresh": {"largest_class": 0.8, "low": -13.0, "high": -7.0},
            },
            "accuracy 80.0% on test, largest class 90.0%; difference -12.0 to -8.0 points: worse than the "
            "largest class, so its forgettable rows are meaningless; train it longer, or at another rate",
        ),
    ],
)
def test_a_weak_model_at_chance_or_below_is_said_to_be_so(margins: Margins, said: str) -> None:
    assert _said(margins) == {"bow": said}


def test_one_split_on_which_it_is_surely_better_is_enough() -> None:
    """Though its accuracy there is the lower one."""
    lost = {"largest_class": 0.79, "low": -0.4, "high": 2.4}
    assert _said({"test": lost, "fresh": {"largest_class": 0.5, "low": 16.0, "high": 24.0}}) == {}


def test_results_without_margins_are_judged_by_the_numbers() -> None:
    assert _said({}) == {}
    assert _said({}, accuracy={"test": 0.5})["bow"].startswith(
        "accuracy 50.0% on test, and the largest class makes up 50.0%"
    )
