"""Findings about the results of the warm-up: truncated texts, and encoders that learnt nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from aflite_assets.analysis.intervals import Interval, wilson_interval
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


@dataclass(frozen=True)
class EncoderFit:
    """Accuracy, in [0, 1], of a trained encoder on its training rows; `rows` is their number.

    The accuracy counts the predictions that the encoder made during training.
    """

    accuracy: float
    rows: int

    @property
    def interval(self) -> Interval:
        """Wilson interval of the accuracy, which treats all rows as independent, even rows of the same group."""
        return wilson_interval(self.accuracy, self.rows)


@dataclass(frozen=True)
class EncoderFits:
    """Accuracies of the trained encoders on their own warm-up rows.

    `largest_class`: share, in [0, 1], of the largest class of the warm-up rows.
    """

    largest_class: float
    encoders: Mapping[str, EncoderFit]

    @property
    def no_better(self) -> tuple[str, ...]:
        """Encoders that are not significantly better than always predicting the largest class.

        An encoder is in this tuple if the lower end of its accuracy's interval is at most the share of the largest
        class.
        """
        return tuple(name for name, fit in self.encoders.items() if fit.interval.low <= self.largest_class)


def encoder_fits(models: Mapping[str, Mapping[str, Any]], rows_per_class: Mapping[str, int]) -> EncoderFits:
    """Collect the accuracies from the summary of `warmup_models` and the class counts of `warmup_split`."""
    largest_class = max(rows_per_class.values(), default=0) / max(sum(rows_per_class.values()), 1)
    trained = {name: facts for name, facts in models.items() if facts["trained"]}
    return EncoderFits(
        largest_class,
        {name: EncoderFit(facts["train_accuracy"], int(facts["rows"])) for name, facts in trained.items()},
    )


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
    fits = encoder_fits(result.summary, inputs["warmup_split"].summary["rows_per_class"])
    numbers = {"largest_class": fits.largest_class}
    for (name, asks), (subject, fit) in product(ENCODER_ASKS.items(), fits.encoders.items()):
        learnt, interval = subject not in fits.no_better, fit.interval
        found = (
            f"it predicts {percent(fit.accuracy)} % of its {fit.rows:,} warm-up rows correctly, 95 % interval "
            f"[{percent(interval.low)}, {percent(interval.high)}]; the largest class has "
            f"{percent(fits.largest_class)} % of the rows"
            f"{'' if learnt else '. Filtering with it shows little: train the encoder longer, or on more rows'}"
        )
        yield CheckOutcome("warm-up", name, asks, learnt, found, subject=subject, numbers=numbers)


SPLIT_CHECKS = StageChecks(SPLIT_ASKS, check_split)
ENCODER_CHECKS = StageChecks(ENCODER_ASKS, check_encoders, ("warmup_split",))
