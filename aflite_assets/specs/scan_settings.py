"""Model of the field `scan` in a dataset's YAML file, which sets whether a run continues after the scan finds an
artefact. Cache keys of results do not depend on the field `scan`.
"""

from typing import Literal

from pydantic import Field

from aflite_assets.specs.models.settings import StrictSpec


class ScanSpec(StrictSpec):
    """Settings for the behaviour of a run after the scan for cues."""

    stop: Literal["never", "artefact"] = Field(
        "never",
        description="artefact: if the scan finds an artefact, no model is trained until the data are fixed; never: a "
        "run always continues after the scan",
    )
