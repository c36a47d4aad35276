"""The checks of weak models among those that a report lists."""

from typing import Any

import pyarrow as pa

from aflite_assets.analysis.inputs.forgettables import Forgettables, WeakModelFacts
from aflite_assets.stages.report.checks import weak_model_outcomes
from aflite_assets.stages.shared.weak_model_findings import CHECKS

FACTS: dict[str, Any] = {
    "rows": 1_000, "forgettable": 9, "taken": 9, "never_learnt": 2, "events": {}, "largest_class": 0.5,
    "train_accuracy": 0.9, "accuracy": {"test": 0.8}, "by_class": {"yes": {"forgettable": 9}},
}  # fmt: skip


def _forgettables(models: dict[str, WeakModelFacts], failed: dict[str, str]) -> Forgettables:
    return Forgettables(models, failed, (), pa.table({}), {}, ())


def test_what_weak_models_were_checked_for_is_listed_with_each_ones_numbers() -> None:
    models = {"bow": WeakModelFacts(**FACTS), "lstm": WeakModelFacts(**(FACTS | {"forgettable": 200, "taken": 150}))}
    found = {one.name: one for one in weak_model_outcomes(_forgettables(models, {"esim": "OSError: no vectors"}))}
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


def test_without_a_trained_weak_model_its_checks_are_skipped_and_without_any_not_listed() -> None:
    outcomes = [one.outcome for one in weak_model_outcomes(_forgettables({}, {"bow": "OSError: no vectors"}))]
    assert outcomes == ["failed", "skipped", "skipped", "skipped"]
    assert list(weak_model_outcomes(None)) == []
