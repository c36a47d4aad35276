"""Drawing test splits from the train split, for sources that come without them. Limits are in `raw_table`."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.sources.sampling import stratified_sample


def hold_out(train: pa.Table, holdout: Mapping[str, int | float], *, seed: int) -> dict[str, pa.Table]:
    """Split `train` into what stays and one table per name of `holdout`, each row in exactly one of them.

    `train` has the raw table's columns. A whole number is a count of rows, a fraction a share of the rows of `train`;
    draws are stratified by label and take whole groups, so that they may fall short. Rows keep their order and their
    `row_id`; `split` becomes the name.

    Raises:
        DataError: a draw is empty, or nothing is left to train on.
    """
    rest, drawn = train, {}
    for number, (name, count) in enumerate(holdout.items()):
        size = count if isinstance(count, int) else round(count * train.num_rows)
        if not 1 <= size < rest.num_rows:
            raise DataError(
                f"holdout.{name} is {count}, which is {size} of {train.num_rows} train rows with {rest.num_rows} left; "
                "choose a size that leaves rows on both sides"
            )
        labels = rest["label"].to_numpy()
        groups = rest["group"].to_numpy() if "group" in rest.column_names else None
        chosen = np.zeros(rest.num_rows, bool)
        chosen[stratified_sample(labels, groups, size, rng=np.random.default_rng([seed, 1, number]))] = True
        if not chosen.any():
            raise DataError(
                f"holdout.{name} draws whole groups, and no group is as small as its {size} rows; raise it, or group "
                "by another column"
            )
        drawn[name], rest = _renamed(rest.filter(chosen), name), rest.filter(~chosen)
    return {"train": rest, **drawn}


def _renamed(part: pa.Table, name: str) -> pa.Table:
    position = part.column_names.index("split")
    return part.set_column(position, "split", pa.array([name] * part.num_rows, pa.string()))
