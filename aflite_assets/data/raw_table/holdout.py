"""Drawing test splits from the train split, for sources that come without them. Limits are in `raw_table`."""

from collections.abc import Mapping

import numpy as np

from aflite_assets.data.sampling import stratified_sample
from aflite_assets.errors import DataError


def hold_out(
    labels: np.ndarray, groups: np.ndarray | None, holdout: Mapping[str, int | float], *, seed: int
) -> dict[str, np.ndarray]:
    """Split the train rows into what stays and one part per name of `holdout`; positions, ascending int64.

    `labels` int64 (rows,), `groups` int64 (rows,) or None. A whole number is a count of rows, a fraction a share of
    all train rows; draws are stratified by label and take whole groups, so that they may fall short.

    Raises:
        DataError: a draw is empty, or nothing is left to train on.
    """
    rest, drawn = np.arange(len(labels)), {}
    for number, (name, count) in enumerate(holdout.items()):
        size = count if isinstance(count, int) else round(count * len(labels))
        if not 1 <= size < len(rest):
            raise DataError(
                f"holdout.{name} is {count}, which is {size} of {len(labels)} train rows with {len(rest)} left; "
                "choose a size that leaves rows on both sides"
            )
        rng = np.random.default_rng([seed, 1, number])
        chosen = stratified_sample(labels[rest], None if groups is None else groups[rest], size, rng=rng)
        if not len(chosen):
            raise DataError(
                f"holdout.{name} draws whole groups, and no group is as small as its {size} rows; raise it, or group "
                "by another column"
            )
        drawn[name], rest = rest[chosen], np.delete(rest, chosen)
    return {"train": rest, **drawn}
