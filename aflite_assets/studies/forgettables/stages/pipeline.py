"""Place of `forgettable_sets` in the pipeline."""

from aflite_assets.stages.stage import StudyStage
from aflite_assets.studies.forgettables.stages.forgettable_sets import FORGETTABLE_SETS

PART = (StudyStage(stage=FORGETTABLE_SETS, before="leaning_sets", role="draws", on_cards=True),)
