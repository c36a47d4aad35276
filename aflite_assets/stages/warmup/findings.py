"""What the summaries of the warm-up's results say about themselves: texts cut short, encoders that learnt nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aflite_assets.analysis.intervals import Interval, wilson_interval

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


FITS_ASKED = (
    "Each encoder is better than the largest class on its warm-up rows, by the whole interval. These are the rows that "
    "it was trained on, so passing is no proof that it learnt the task."
)
"""What the check `better_than_largest_class` of encoders asks, and what it does not."""


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
