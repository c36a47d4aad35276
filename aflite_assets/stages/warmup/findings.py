"""Findings about the results of the warm-up: truncated texts, and encoders that learnt nothing."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from aflite_assets.analysis.intervals import wilson_interval
from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult
from aflite_assets.stages.stage import StageChecks
from aflite_assets.text import percent

LARGEST_CUT_SHARE = 0.01
"""Largest share of truncated rows that passes the check without advice."""


def cut_texts(lengths: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return advice for each text model that truncates too many texts.

    `lengths`: token counts by model, as `warmup_split` publishes them.
    """
    return [
        f"{name}: set `max_length` to {-(-facts['fits_99'] // 8) * 8}, or to the checkpoint's limit if it is lower "
        f"(99 % of the rows have at most {facts['fits_99']} tokens, and the longest has {facts['longest']})"
        for name, facts in lengths.items()
        if facts.get("share", 0) > LARGEST_CUT_SHARE
    ]


SPLIT_ASKS = {
    "texts_fit_encoders": "Each text model truncates at most 1 % of the rows.",
    "learning_curves_flatten": "The learning curve of every encoder rises and then flattens.",
}
ENCODER_ASKS = {
    "better_than_largest_class": "On its warm-up rows, each encoder is significantly more accurate than always "
    "predicting the largest class. The encoder was trained on these rows, so passing does not prove that it learnt the "
    "task.",
}
"""The statement that each check tests, by the check's name; a failed check does not stop a run."""


def check_split(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    """Yield the outcomes of two checks, if they apply: texts are not truncated, and learning curves flatten."""
    lengths, curve = result.summary["text_lengths"], result.summary.get("learning_curve")
    name = "texts_fit_encoders"
    if lengths:
        advice = "; ".join(cut_texts(lengths))
        numbers = {model: length_line(facts) for model, facts in lengths.items()}
        yield CheckOutcome("warm-up", name, SPLIT_ASKS[name], not advice, what_to_do=advice, numbers=numbers)
    name = "learning_curves_flatten"
    if curve is not None:
        cautions = " ".join(curve["cautions"])
        yield CheckOutcome("warm-up", name, SPLIT_ASKS[name], not cautions, cautions)


def length_line(facts: Mapping[str, Any]) -> str:
    """Return a phrase about the number of rows that one model truncates, or the reason why it was not measured."""
    if "not_measured" in facts:
        return f"not measured: {facts['not_measured']}"
    rows, of_rows = facts["rows"], facts["of_rows"]
    looked_at = f"{rows}" if rows == of_rows else f"a sample of {rows} of {of_rows}"
    return (
        f"{facts['over']} of {looked_at} rows ({facts['share']:.2%}) have more than {facts['max_length']} tokens and "
        f"are truncated; 99 % have at most {facts['fits_99']} tokens, and the longest has {facts['longest']}"
    )


def check_encoders(
    result: PublishedResult, inputs: Mapping[str, PublishedResult], *_: object
) -> Iterator[CheckOutcome]:
    """Yield one outcome per trained encoder: whether the encoder learnt anything from its warm-up rows."""
    classes = inputs["warmup_split"].summary["rows_per_class"].values()
    largest = max(classes, default=0) / max(sum(classes), 1)
    trained = {name: facts for name, facts in result.summary.items() if facts["trained"]}
    for (name, asks), (subject, facts) in product(ENCODER_ASKS.items(), trained.items()):
        accuracy, rows = facts["train_accuracy"], int(facts["rows"])
        interval = wilson_interval(accuracy, rows)  # treats all rows as independent, even rows of the same group
        learnt = interval.low > largest
        found = (
            f"it predicts {percent(accuracy)} % of its {rows:,} warm-up rows correctly, 95 % interval "
            f"[{percent(interval.low)}, {percent(interval.high)}]; the largest class has {percent(largest)} % of the "
            f"rows{'' if learnt else '. Filtering with it shows little: train the encoder longer, or on more rows'}"
        )
        yield CheckOutcome("warm-up", name, asks, learnt, found, subject=subject, numbers={"largest_class": largest})


SPLIT_CHECKS = StageChecks(SPLIT_ASKS, check_split)
ENCODER_CHECKS = StageChecks(ENCODER_ASKS, check_encoders, ("warmup_split",))
