"""What the summaries of the warm-up's results say about themselves: texts cut short, encoders that learnt nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aflite_assets.analysis.intervals import Interval, wilson_interval
from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult
from aflite_assets.stages.stage import StageChecks, StageInputs, StageSettings
from aflite_assets.text import percent

LARGEST_CUT_SHARE = 0.01
"""Of the rows; so many may have more tokens than a model reads."""


def cut_texts(lengths: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What to do about each text model that reads too little; `lengths` as `warmup_split` publishes them."""
    return [
        f"{name}: set max_length to {-(-facts['fits_99'] // 8) * 8} (99 % of the rows fit in {facts['fits_99']} "
        f"tokens, the longest has {facts['longest']}), or as near to it as the checkpoint reads"
        for name, facts in lengths.items()
        if facts.get("share", 0) > LARGEST_CUT_SHARE
    ]


SPLIT_ASKS = {
    "texts_fit_encoders": "At most 1 % of the rows have more tokens than a text model reads.",
    "learning_curves_flatten": "Every encoder's learning curve rises, then flattens.",
}
ENCODER_ASKS = {
    "better_than_largest_class": "Each encoder is better than the largest class on its warm-up rows, by the whole "
    "interval. These are the rows that it was trained on, so passing is no proof that it learnt the task.",
}
"""What each check asks; none blocks."""


@dataclass(frozen=True)
class EncoderFit:
    """Accuracy in [0, 1] of a trained encoder on the `rows` that it was trained on, as they were presented."""

    accuracy: float
    rows: int

    @property
    def interval(self) -> Interval:
        """Wilson's, over the rows; rows of a group count as if each were its own."""
        return wilson_interval(self.accuracy, self.rows)


@dataclass(frozen=True)
class EncoderFits:
    """Each trained encoder on its own warm-up rows, and the share in [0, 1] of the largest class there."""

    largest_class: float
    encoders: Mapping[str, EncoderFit]

    @property
    def no_better(self) -> tuple[str, ...]:
        """The encoders that are not surely better on their rows than the largest class: by the low end."""
        return tuple(name for name, fit in self.encoders.items() if fit.interval.low <= self.largest_class)


def encoder_fits(models: Mapping[str, Mapping[str, Any]], rows_per_class: Mapping[str, int]) -> EncoderFits:
    """From the summary of `warmup_models` and the classes of `warmup_split`."""
    largest_class = max(rows_per_class.values(), default=0) / max(sum(rows_per_class.values()), 1)
    trained = {name: facts for name, facts in models.items() if facts["trained"]}
    return EncoderFits(
        largest_class,
        {name: EncoderFit(facts["train_accuracy"], int(facts["rows"])) for name, facts in trained.items()},
    )


def check_split(result: PublishedResult, settings: StageSettings, inputs: StageInputs) -> Iterator[CheckOutcome]:
    """Yield whether texts fit, and whether learning curves flatten; only what applies."""
    lengths, curve = result.summary["text_lengths"], result.summary.get("learning_curve")
    if lengths:
        advice = cut_texts(lengths)
        numbers = {name: length_line(facts) for name, facts in lengths.items()}
        yield _outcome("texts_fit_encoders", SPLIT_ASKS, not advice, what_to_do="; ".join(advice), numbers=numbers)
    if curve is not None:
        yield _outcome("learning_curves_flatten", SPLIT_ASKS, not curve["cautions"], " ".join(curve["cautions"]))


def length_line(facts: Mapping[str, Any]) -> str:
    """Return in words how many rows have more tokens than one model reads, or why that was not measured."""
    if "not_measured" in facts:
        return f"not measured: {facts['not_measured']}"
    looked_at = (
        f"{facts['rows']}"
        if facts["rows"] == facts["of_rows"]
        else f"a sample of {facts['rows']} of {facts['of_rows']}"
    )
    return (
        f"{facts['over']} of {looked_at} rows ({facts['share']:.2%}) have more than {facts['max_length']} tokens and "
        f"are cut; 99 % have at most {facts['fits_99']}, the longest has {facts['longest']}"
    )


@dataclass(frozen=True)
class EncoderCheckInputs(StageInputs):
    """The results that the checks of encoders read."""

    warmup_split: PublishedResult


def check_encoders(
    result: PublishedResult, settings: StageSettings, inputs: EncoderCheckInputs
) -> Iterator[CheckOutcome]:
    """Yield whether each trained encoder learnt anything from its warm-up rows."""
    fits = encoder_fits(result.summary, inputs.warmup_split.summary["rows_per_class"])
    for name, fit in fits.encoders.items():
        learnt = name not in fits.no_better
        found = (
            f"{percent(fit.accuracy)} % of its {fit.rows:,} warm-up rows, 95 % [{percent(fit.interval.low)}, "
            f"{percent(fit.interval.high)}]; the largest class makes up {percent(fits.largest_class)} %"
        )
        yield _outcome(
            "better_than_largest_class",
            ENCODER_ASKS,
            learnt,
            found if learnt else f"{found}. What it filters says little",
            "" if learnt else "train it longer, or on more rows",
            subject=name,
            numbers={"largest_class": fits.largest_class},
        )


def _outcome(name: str, asks: Mapping[str, str], passed: bool, *texts: str, **fields: Any) -> CheckOutcome:
    return CheckOutcome("warm-up", name, asks[name], passed, *texts, **fields)


SPLIT_CHECKS = StageChecks(SPLIT_ASKS, StageSettings, StageInputs, check_split)
ENCODER_CHECKS = StageChecks(ENCODER_ASKS, StageSettings, EncoderCheckInputs, check_encoders)
