"""Findings about the warm-up's results: truncated texts, and encoders that learnt nothing."""

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
"""Share of the rows that may have more tokens than a model reads before this is reported."""


def cut_texts(lengths: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return advice for each text model that reads too few tokens; `lengths` are as `warmup_split` publishes them."""
    return [
        f"{name}: set max_length to {-(-facts['fits_99'] // 8) * 8} (99 % of the rows fit in {facts['fits_99']} "
        f"tokens, the longest has {facts['longest']}), or to the checkpoint's limit if it is lower"
        for name, facts in lengths.items()
        if facts.get("share", 0) > LARGEST_CUT_SHARE
    ]


SPLIT_ASKS = {
    "texts_fit_encoders": "At most 1 % of the rows have more tokens than the text model reads.",
    "learning_curves_flatten": "The learning curve of every encoder rises, then flattens.",
}
ENCODER_ASKS = {
    "better_than_largest_class": "Each encoder is better than the largest class on its warm-up rows, by the whole "
    "interval. The encoder was trained on these rows, so passing does not prove that it learnt the task.",
}
"""The question of each check; none blocks."""


@dataclass(frozen=True)
class EncoderFit:
    """Accuracy, in [0, 1], of a trained encoder on the `rows` that it was trained on, at their presentation."""

    accuracy: float
    rows: int

    @property
    def interval(self) -> Interval:
        """Wilson's interval over the rows; rows of a group count as independent."""
        return wilson_interval(self.accuracy, self.rows)


@dataclass(frozen=True)
class EncoderFits:
    """Each trained encoder on its own warm-up rows, and the share, in [0, 1], of their largest class."""

    largest_class: float
    encoders: Mapping[str, EncoderFit]

    @property
    def no_better(self) -> tuple[str, ...]:
        """The encoders that are not significantly better than the largest class on their rows, by the interval's low
        end.
        """
        return tuple(name for name, fit in self.encoders.items() if fit.interval.low <= self.largest_class)


def encoder_fits(models: Mapping[str, Mapping[str, Any]], rows_per_class: Mapping[str, int]) -> EncoderFits:
    """Collect the fits from the summary of `warmup_models` and the classes of `warmup_split`."""
    largest_class = max(rows_per_class.values(), default=0) / max(sum(rows_per_class.values()), 1)
    trained = {name: facts for name, facts in models.items() if facts["trained"]}
    return EncoderFits(
        largest_class,
        {name: EncoderFit(facts["train_accuracy"], int(facts["rows"])) for name, facts in trained.items()},
    )


def check_split(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    """Yield whether texts fit and whether learning curves flatten; only checks that apply."""
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
    """Return a sentence on how many rows have more tokens than one model reads, or why this was not measured."""
    if "not_measured" in facts:
        return f"not measured: {facts['not_measured']}"
    rows, of_rows = facts["rows"], facts["of_rows"]
    looked_at = f"{rows}" if rows == of_rows else f"a sample of {rows} of {of_rows}"
    return (
        f"{facts['over']} of {looked_at} rows ({facts['share']:.2%}) have more than {facts['max_length']} tokens and "
        f"are cut; 99 % have at most {facts['fits_99']}, the longest has {facts['longest']}"
    )


def check_encoders(
    result: PublishedResult, inputs: Mapping[str, PublishedResult], *_: object
) -> Iterator[CheckOutcome]:
    """Yield whether each trained encoder learnt anything from its warm-up rows."""
    fits = encoder_fits(result.summary, inputs["warmup_split"].summary["rows_per_class"])
    numbers = {"largest_class": fits.largest_class}
    for (name, asks), (subject, fit) in product(ENCODER_ASKS.items(), fits.encoders.items()):
        learnt, interval = subject not in fits.no_better, fit.interval
        found = (
            f"{percent(fit.accuracy)} % of its {fit.rows:,} warm-up rows, 95 % [{percent(interval.low)}, "
            f"{percent(interval.high)}]; the largest class makes up {percent(fits.largest_class)} %"
            f"{'' if learnt else '. Its filtering shows little: train it longer, or on more rows'}"
        )
        yield CheckOutcome("warm-up", name, asks, learnt, found, subject=subject, numbers=numbers)


SPLIT_CHECKS = StageChecks(SPLIT_ASKS, check_split)
ENCODER_CHECKS = StageChecks(ENCODER_ASKS, check_encoders, ("warmup_split",))
