"""Whether encoders fit their warm-up rows, from summaries as published."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult
from aflite_assets.stages.warmup.findings import check_encoders, check_split

HALVES = {"yes": 100, "no": 100}
GIVEN = {"trained": False, "reason": "the features are given; there is nothing to train"}


def facts(accuracy: float, rows: int = 200) -> dict[str, Any]:
    return {"trained": True, "train_accuracy": accuracy, "rows": float(rows), "train_loss": 0.6}


@pytest.mark.parametrize(("rows", "better"), [(100, False), (10_000, True)])
def test_the_same_accuracy_of_more_rows_is_surely_better(rows: int, better: bool) -> None:
    assert outcome(0.55, rows).passed is better


def outcome(accuracy: float, rows: int = 200) -> CheckOutcome:
    inputs = {"warmup_split": published(rows_per_class=HALVES)}
    (found,) = check_encoders(published(given=GIVEN, bert=facts(accuracy, rows)), inputs)
    return found


def published(**summary: Any) -> PublishedResult:
    return cast(PublishedResult, SimpleNamespace(summary=summary))


def test_the_report_says_the_interval_and_that_the_rows_were_trained_on() -> None:
    failed, passed = outcome(0.505), outcome(0.9)
    assert (failed.title, failed.passed, passed.passed) == ("better_than_largest_class (bert)", False, True)
    assert failed.numbers == {"largest_class": 0.5}
    assert failed.said == (
        "it predicts 50.5 % of its 200 warm-up rows correctly, 95 % interval [43.6, 57.4]; the largest class has 50.0 "
        "% of the rows. Filtering with it shows little: train the encoder longer, or on more rows"
    )
    assert passed.said == (
        "it predicts 90.0 % of its 200 warm-up rows correctly, 95 % interval [85.1, 93.4]; the largest class has 50.0 "
        "% of the rows"
    )
    assert failed.asks == passed.asks
    assert failed.asks.endswith(
        "The encoder was trained on these rows, so passing does not prove that it learnt the task."
    )


def lengths(over: int, *, of_rows: int = 200) -> dict[str, Any]:
    return {
        "of_rows": of_rows, "rows": 200, "max_length": 64, "over": over, "share": over / 200, "longest": 300,
        "fits_99": 121,
    }  # fmt: skip


@pytest.mark.parametrize(("over", "passed"), [(2, True), (3, False)])
def test_over_one_percent_of_cut_rows_is_reported_with_the_length_to_set(over: int, passed: bool) -> None:
    models = {
        "representations.bert": lengths(over),
        "evaluators.bert": lengths(0, of_rows=999),
        "evaluators.small": {"not_measured": "its tokenizer is built during training"},
    }
    (found,) = check_split(published(text_lengths=models))
    assert (found.title, found.passed, found.found) == ("texts_fit_encoders", passed, "")
    assert found.numbers == {
        "representations.bert": f"{over} of 200 rows ({over / 2:.2f}%) have more than 64 tokens and are truncated; "
        "99 % have at most 121 tokens, and the longest has 300",
        "evaluators.bert": "0 of a sample of 200 of 999 rows (0.00%) have more than 64 tokens and are truncated; "
        "99 % have at most 121 tokens, and the longest has 300",
        "evaluators.small": "not measured: its tokenizer is built during training",
    }
    advice = (
        "representations.bert: set `max_length` to 128, or to the checkpoint's limit if it is lower (99 % of the rows "
        "have at most 121 tokens, and the longest has 300)"
    )
    assert found.said == ("" if passed else advice)


@pytest.mark.parametrize("cautions", [[], ["It still rises.", "It is noisy."]])
def test_cautions_about_learning_curves_fail_their_check(cautions: list[str]) -> None:
    split = published(text_lengths={}, learning_curve={"cautions": cautions})
    (found,) = check_split(split)
    assert (found.title, found.passed, found.said) == ("learning_curves_flatten", not cautions, " ".join(cautions))


def test_datasets_without_text_models_and_curves_have_no_outcome() -> None:
    assert list(check_split(published(text_lengths={}))) == []
    assert list(check_encoders(published(given=GIVEN), {"warmup_split": published(rows_per_class={})})) == []
