"""Columns of the asset `train_sample`."""

from aflite_assets.assets.display.columns import StudyColumns
from aflite_assets.stages.shared.published import SELECTION_FILE

PART = StudyColumns(
    "train_sample",
    SELECTION_FILE,
    dict.fromkeys(("row_id", "held_back"), (("raw_dataset", "row_id"), ("raw_dataset", "label"))),
    {"held_back": "whether the row was held back to choose the size of the sample; such rows are in no train set"},
)
