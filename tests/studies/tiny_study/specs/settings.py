"""The setting `enough_rows` of a study that counts the train rows."""

from pydantic import Field

from aflite_assets.specs.core import CoreSpec


class PART(CoreSpec):
    enough_rows: int | None = Field(None, ge=1, description="number of train rows that are enough")
