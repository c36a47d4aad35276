"""The last line of a filter's log: why the filter stopped, its settings, and how many kept rows reach the threshold."""

from collections.abc import Mapping

import numpy as np

from aflite_assets.algorithm.records import FilterResult, StopReason
from aflite_assets.stages.filtering.filter_inputs import FilterInputs
from aflite_assets.wording import counted

_WHY: Mapping[StopReason, str] = {
    StopReason.TARGET_SIZE: "at its target size",
    StopReason.THRESHOLD: "at its threshold, because too few rows reached the threshold to fill a slice",
    StopReason.CHANCE: "at chance, because rows were no more predictable than with shuffled labels",
    StopReason.NOTHING_LEARNT: "before removing any row, because its classifiers learnt nothing beyond class shares",
}


def stop_line(name: str, result: FilterResult, given: FilterInputs, *, chance: float) -> str:
    """Return a log line that states why the filter of a representation stopped, and its settings.

    `chance`: mean predictability with permuted labels, in [0, 1].
    """
    settings, train = result.settings, given.split == "train"
    kept = given.kept(result)
    passes = "exceed" if settings.comparison == "greater" else "reach"
    return (
        f"filtering {name} stopped {_WHY[result.stop_reason]}. It kept {int((kept & train).sum()):,} of "
        f"{counted(int(train.sum()), 'train row')} (`target_size` {settings.target_size:,}). In the last pass, "
        f"{_next_rows(result, given, kept):,} of the kept rows {passes} the `threshold` {settings.threshold:g}; an "
        f"iteration removes at most {settings.slice_size:,} rows (`slice_size`). The mean predictability with shuffled "
        f"labels is {chance:.3f}"
    )


def _next_rows(result: FilterResult, given: FilterInputs, kept: np.ndarray) -> int:
    """Return the number of kept rows whose predictability passes the threshold, as `comparison` says.

    If groups are removed as a whole, each group's mean predictability is compared with the threshold. Rows that the
    filter only scores, and never uses for training, are not counted.
    """
    rows = np.flatnonzero(kept & ~given.score_only & ~np.isnan(result.predictability))
    scores, groups = result.predictability[rows], given.groups
    if groups is not None and result.settings.remove == "groups":
        units = np.unique(groups[rows], return_inverse=True)[1]
        scores = (np.bincount(units, scores) / np.bincount(units))[units]
    threshold = np.float32(result.settings.threshold)
    return int((scores > threshold if result.settings.comparison == "greater" else scores >= threshold).sum())
