"""The store of results."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from aflite_assets.results import ResultStore
from aflite_assets.results.opening import open_store


class ResultStoreResource(dg.ConfigurableResource):
    """The result store below `AFLITE_HOME` or another folder, or an object store, with copies below that folder.

    Credentials of an object store are not settings; they are read from the same sources as by AWS's tools.
    """

    home: str | None = Field(default=None, description="folder that holds all state; default: AFLITE_HOME, or .aflite")
    address: str | None = Field(
        default=None, description="s3://bucket/prefix of an object store; default: AFLITE_STORE, or none"
    )
    endpoint_url: str | None = Field(
        default=None, description="the object store's server; default: AWS_ENDPOINT_URL_S3, or AWS's own"
    )

    def open(self) -> ResultStore:
        """Return the store, which does not depend on Dagster."""
        home = Path(self.home).absolute() if self.home else None
        return open_store(home, address=self.address, endpoint_url=self.endpoint_url)
