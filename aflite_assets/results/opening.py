"""Opening of the result store, which is a folder below `AFLITE_HOME` or the object store that `AFLITE_STORE` names."""

import os
from pathlib import Path

from aflite_assets.paths import aflite_home
from aflite_assets.results.object_store.address import parse_address
from aflite_assets.results.object_store.results import ObjectBackend
from aflite_assets.results.store import ResultStore

STORE = "AFLITE_STORE"


def open_store(home: Path | None = None, *, address: str | None = None, endpoint_url: str | None = None) -> ResultStore:
    """Return the store at `address` (by default, the value of `AFLITE_STORE`). Without an address, return the store in
    the folder `results` of the home.

    `home`: the home folder, by default `aflite_home()`. With an object store, the home folder holds this machine's
    copies. `endpoint_url`: the object store's server. By default, the server is the value of `AWS_ENDPOINT_URL_S3` or
    of `AWS_ENDPOINT_URL`, or else AWS's own server. Opening the store makes no request.

    Raises:
        InvalidInputError: the address of the store or of the server is not valid.
    """
    home = home or aflite_home()
    given = address or os.environ.get(STORE, "").strip()
    if not given:
        return ResultStore(home / "results")
    parsed = parse_address(given, named="address of the result store" if address else STORE, endpoint_url=endpoint_url)
    root = home / parsed.folder_name
    return ResultStore(root, ObjectBackend(parsed, root))
