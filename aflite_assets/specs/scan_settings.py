"""Model of the field `scan` in a dataset's YAML file, which sets whether a run continues after the scan finds an
artefact. Keys of results do not depend on this field.
"""

from typing import Literal

from pydantic import Field

from aflite_assets.specs.models.settings import StrictSpec


class ScanSpec(StrictSpec):
    """Settings for the behaviour of a run after the scan for cues."""

    stop: Literal["never", "artefact"] = Field(
        "never",
        description="artefact: if the scan finds one, no model is trained until the data are mended; never: a run goes "
        "on whatever the scan finds",
    )
