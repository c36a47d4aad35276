"""Whether encoders fit their warm-up rows, from summaries as published."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from aflite_assets.analysis.inputs.checks import CheckOutcome
from aflite_assets.results import PublishedResult
from aflite_assets.stages.report.checks import warmup_outcomes
from aflite_assets.stages.warmup.findings import EncoderFit, encoder_fits

HALVES = {"yes": 100, "no": 100}
GIVEN = {"trained": False, "reason": "the features are given; there is nothing to train"}


def facts(accuracy: float, rows: int = 200) -> dict[str, Any]:
    return {"trained": True, "train_accuracy": accuracy, "rows": float(rows), "train_loss": 0.6}


def test_an_accuracy_that_guessing_may_give_is_no_better_than_the_largest_class() -> None:
    fits = encoder_fits({"given": GIVEN, "bert": facts(0.505), "lstm": facts(0.9)}, HALVES)
    assert fits.largest_class == 0.5
    assert list(fits.encoders) == ["bert", "lstm"]
    interval = fits.encoders["bert"].interval
    assert (interval.low, interval.high) == (pytest.approx(0.4362, abs=1e-4), pytest.approx(0.5736, abs=1e-4))
    assert fits.no_better == ("bert",)


@pytest.mark.parametrize(("rows", "no_better"), [(100, ("bert",)), (10_000, ())])
def test_the_same_accuracy_of_more_rows_is_surely_better(rows: int, no_better: tuple[str, ...]) -> None:
    fits = encoder_fits({"bert": facts(0.55, rows)}, HALVES)
    assert fits.encoders == {"bert": EncoderFit(0.55, rows)}
    assert fits.no_better == no_better


def outcome(accuracy: float) -> CheckOutcome:
    split = SimpleNamespace(summary={"text_lengths": {}, "rows_per_class": HALVES})
    models = SimpleNamespace(summary={"given": GIVEN, "bert": facts(accuracy)})
    (found,) = warmup_outcomes(cast(PublishedResult, split), cast(PublishedResult, models))
    return found


def test_the_report_says_the_interval_and_that_the_rows_were_trained_on() -> None:
    failed, passed = outcome(0.505), outcome(0.9)
    assert (failed.name, failed.passed, passed.passed) == ("better_than_largest_class (bert)", False, True)
    assert failed.said == (
        "50.5 % of its 200 warm-up rows, 95 % [43.6, 57.4]; the largest class makes up 50.0 %. What it filters says "
        "little: train it longer, or on more rows"
    )
    assert passed.said == "90.0 % of its 200 warm-up rows, 95 % [85.1, 93.4]; the largest class makes up 50.0 %"
    assert failed.asks == passed.asks
    assert failed.asks.endswith(
        "These are the rows that it was trained on, so passing is no proof that it learnt the task."
    )
