"""Columns of the asset `forgettable_sets`."""

from aflite_assets.assets.display.columns import StudyColumns
from aflite_assets.studies.forgettables.stages.forgettable_sets import FORGETTABLE_ROWS

_RAW = tuple(("raw_dataset", name) for name in ("text", "text_pair", "image", "features", "label"))

PART = StudyColumns(
    "forgettable_sets",
    FORGETTABLE_ROWS,
    {
        "row_id": (("raw_dataset", "row_id"),),
        "label": (("raw_dataset", "label"),),
        **dict.fromkeys(("forgetting_events", "never_learnt", "forgettable", "taken"), _RAW),
    },
)
