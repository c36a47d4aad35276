"""What is said against a weak model or its rows, each by its own check."""

from typing import Any

import pytest

from aflite_assets.analysis.inputs.forgettables import WeakModelFacts
from aflite_assets.stages.shared.weak_model_findings import findings

FACTS: dict[str, Any] = {
    "rows": 1_000, "forgettable": 200, "taken": 150, "never_learnt": 20, "events": {}, "largest_class": 0.5,
    "train_accuracy": 0.9, "accuracy": {"test": 0.8},
    "by_class": {"yes": {"forgettable": 150}, "no": {"forgettable": 50}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "check", "message"),
    [
        ({"accuracy": {"test": 0.5}}, "weak_models_learnt", "50.0% on test, and the largest class makes up 50.0%: what "
         "it forgets says nothing; train it longer, or at another rate"),
        ({"forgettable": 601, "taken": 601}, "forgettable_rows_are_a_choice", "601 of 1000 rows (60.1%) are "
         "forgettable; train it longer, or with a larger model"),
        ({"forgettable": 9, "taken": 9}, "forgettable_rows_are_a_choice", "9 of 1000 rows (0.9%) are forgettable; "
         "train it for fewer epochs"),
        ({"taken": 99}, "balancing_keeps_half", "balancing takes 99 of 200 forgettable rows, since no has only 50; set "
         "balance: false to take all"),
    ],
)  # fmt: skip
def test_findings_say_what_is_wrong_and_what_to_do(changes: dict[str, Any], check: str, message: str) -> None:
    found = findings({"bow": WeakModelFacts(**{**FACTS, **changes})}, {"lstm": "ModelError: no"})
    assert found.pop("weak_models_trained") == {"lstm": "ModelError: no"}
    assert {name: said for name, said in found.items() if said} == {check: {"bow": message}}
