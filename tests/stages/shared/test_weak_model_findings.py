"""What is said against a weak model or its rows, each by its own check.

A weak model has learnt something if the interval of its margin over the largest class of a split lies above zero.
"""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from aflite_assets.analysis.inputs.weak_models import WeakModelFacts
from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult
from aflite_assets.studies.forgettables.stages.weak_model_findings import CHECKS, check_weak_models, findings

FACTS: dict[str, Any] = {
    "rows": 1_000, "forgettable": 200, "taken": 150, "never_learnt": 20, "events": {}, "largest_class": 0.5,
    "train_accuracy": 0.9, "accuracy": {"test": 0.8, "fresh": 0.7},
    "by_class": {"yes": {"forgettable": 150}, "no": {"forgettable": 50}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "check", "message"),
    [
        ({"accuracy": {"test": 0.5}}, "weak_models_learnt", "accuracy 50.0% on test, and the largest class makes up "
        "50.0%: its forgettable rows are meaningless; train it longer, or at another rate"),
        ({"forgettable": 601, "taken": 601}, "forgettable_rows_are_a_choice", "601 of 1000 rows (60.1%) are "
         "forgettable; train it longer, or with a larger model"),
        ({"forgettable": 9, "taken": 9}, "forgettable_rows_are_a_choice", "9 of 1000 rows (0.9%) are forgettable; "
         "train it for fewer epochs"),
        ({"taken": 99}, "balancing_keeps_half", "balancing keeps 99 of 200 forgettable rows, because class no has "
         "only 50; set `balance: false` to keep all"),
    ],
)  # fmt: skip
def test_findings_say_what_is_wrong_and_what_to_do(changes: dict[str, Any], check: str, message: str) -> None:
    found = findings({"bow": WeakModelFacts(**{**FACTS, **changes})}, {"lstm": "ModelError: no"})
    assert found.pop("weak_models_trained") == {"lstm": "ModelError: no"}
    assert {name: said for name, said in found.items() if said} == {check: {"bow": message}}


def outcomes(**summary: Any) -> list[CheckOutcome]:
    return list(check_weak_models(cast(PublishedResult, SimpleNamespace(summary=summary))))


def test_what_weak_models_were_checked_for_has_each_ones_numbers() -> None:
    models = {"bow": FACTS | {"forgettable": 9, "taken": 9}, "lstm": FACTS}
    found = {one.title: one for one in outcomes(models=models, failed={"esim": "OSError: no vectors"})}
    assert {name: one.outcome for name, one in found.items()} == {
        "weak_models_trained": "failed",
        "weak_models_learnt": "passed",
        "forgettable_rows_are_a_choice": "failed",
        "balancing_keeps_half": "passed",
    }
    assert {name: one.asks for name, one in found.items()} == dict(CHECKS)
    assert {one.about for one in found.values()} == {"weak models"}
    assert found["weak_models_trained"].said == "esim: OSError: no vectors"
    assert found["forgettable_rows_are_a_choice"].said == (
        "bow: 9 of 1000 rows (0.9%) are forgettable; train it for fewer epochs"
    )


def test_without_a_trained_weak_model_its_checks_are_skipped_and_without_any_there_are_none() -> None:
    failed = outcomes(models={}, failed={"bow": "OSError: no vectors"})
    assert [one.outcome for one in failed] == ["failed", "skipped", "skipped", "skipped"]
    assert outcomes(nothing_asked=True) == []


Margins = dict[str, dict[str, float]]


def _said(margins: Margins, **changes: Any) -> dict[str, str]:
    return findings({"bow": WeakModelFacts(**{**FACTS, **changes, "margins": margins})}, {})["weak_models_learnt"]


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
