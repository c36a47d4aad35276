"""Where results are kept."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from aflite_assets.paths import aflite_home
from aflite_assets.results import ResultStore


class ResultStoreResource(dg.ConfigurableResource):
    """The result store below `AFLITE_HOME`, or below another folder."""

    home: str | None = Field(default=None, description="folder that holds all state; default: AFLITE_HOME, or .aflite")

    def open(self) -> ResultStore:
        """The store itself, which knows no Dagster."""
        return ResultStore((Path(self.home).absolute() if self.home else aflite_home()) / "results")
