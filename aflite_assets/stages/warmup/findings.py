"""What the summaries of the warm-up's results say about themselves: texts cut short, encoders that learnt nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class EncoderFits:
    """Accuracy in [0, 1] of each trained encoder on its own warm-up rows, and the share of the largest class there."""

    largest_class: float
    accuracies: Mapping[str, float]

    @property
    def no_better(self) -> tuple[str, ...]:
        """The encoders that fit their rows no better than the largest class does."""
        return tuple(name for name, accuracy in self.accuracies.items() if accuracy <= self.largest_class)


def encoder_fits(models: Mapping[str, Mapping[str, Any]], rows_per_class: Mapping[str, int]) -> EncoderFits:
    """From the summary of `warmup_models` and the classes of `warmup_split`."""
    largest_class = max(rows_per_class.values(), default=0) / max(sum(rows_per_class.values()), 1)
    accuracies = {name: facts["train_accuracy"] for name, facts in models.items() if facts["trained"]}
    return EncoderFits(largest_class, accuracies)
