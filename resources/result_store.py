"""Dagster resource for the result store."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from aflite_assets.results import ResultStore
from aflite_assets.results.opening import open_store


class ResultStoreResource(dg.ConfigurableResource):
    """The result store: a folder (by default below `AFLITE_HOME`), or an object store with local copies in the folder.

    Credentials of an object store are not settings. The store finds credentials in the same places as the AWS command
    line.
    """

    home: str | None = Field(
        default=None, description="folder for all state of the project; default: `AFLITE_HOME`, or `.aflite`"
    )
    address: str | None = Field(
        default=None, description="s3://bucket/prefix of an object store; default: `AFLITE_STORE`, or no object store"
    )
    endpoint_url: str | None = Field(
        default=None, description="URL of the object store's server; default: `AWS_ENDPOINT_URL_S3`, or AWS itself"
    )

    def open(self) -> ResultStore:
        """Return a `ResultStore`, which does not depend on Dagster."""
        home = Path(self.home).absolute() if self.home else None
        return open_store(home, address=self.address, endpoint_url=self.endpoint_url)
