"""Addresses that people open in a browser, and the environment variables with the base address of each server.

```
AFLITE_DAGSTER_URL   Dagster's webserver, so that runs in MLflow link to it
AFLITE_MLFLOW_URL    `mlflow ui`, or an MLflow server that browsers reach at another address
AFLITE_RESULTS_URL   `aflite serve`, so that Dagster links to reports and shows pictures
AFLITE_SOURCE_URL    the folder with this project's code on a code host, so that assets link to their source
```

All of these environment variables are optional. If the address of a server is not set, plain text replaces the links to
this server.
"""

import os
import re
from pathlib import Path
from urllib.parse import quote, urlsplit

from aflite_assets.address_secrets import shown_value
from aflite_assets.errors import InvalidInputError

DAGSTER = "AFLITE_DAGSTER_URL"
MLFLOW = "AFLITE_MLFLOW_URL"
RESULTS = "AFLITE_RESULTS_URL"
SOURCE = "AFLITE_SOURCE_URL"

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine itself, as `host_name` returns them."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_][a-z0-9_.-]*))(?::[0-9]*)?", re.IGNORECASE)


def base_address(variable: str) -> str | None:
    """Return the address in an environment variable, without a trailing slash, or None if the variable is not set.

    Raises:
        InvalidInputError: the value is not an http or https address, or contains a user, a query or a fragment.
    """
    value = os.environ.get(variable, "").strip()
    return plain_address(value, named=f"`{variable}`") if value else None


def plain_address(value: str, *, named: str) -> str:
    """Return an http or https address without a trailing slash. `named`: the name of the address in error messages.

    Raises:
        InvalidInputError: `value` is not an http or https address, or contains a user, a query or a fragment.
    """
    try:
        parts = urlsplit(value)
        named_host = host_name(parts.netloc.rpartition("@")[2])
        usable = parts.scheme in ("http", "https") and named_host and (parts.port or True)
    except ValueError:  # the port is not a number, or brackets contain no IPv6 address
        usable = False
    if not usable:
        raise InvalidInputError(
            f"{named} is {shown_value(value)}, which is not an address; give a base address such as "
            "http://127.0.0.1:9000"
        )
    if parts.query or parts.fragment or "@" in parts.netloc:
        # The message does not repeat the value, because it may contain a password.
        raise InvalidInputError(
            f"{named} contains a user, a query or a fragment; give only the base address, such as http://127.0.0.1:9000"
        )
    return value.rstrip("/")


def check_addresses() -> None:
    """Check the addresses in all environment variables before any work starts.

    Raises:
        InvalidInputError: an environment variable contains an address that cannot be used.
    """
    for variable in (DAGSTER, MLFLOW, RESULTS, SOURCE):
        base_address(variable)


def host_name(header: str) -> str:
    """Return the host in an HTTP Host header, in lower case and without port or brackets.

    The result is empty if the Host header is not valid. The port is ignored because a tunnel may change the port.
    """
    found = _HOST.fullmatch(header.strip(" \t"))
    return (found[1] or found[2]).lower() if found else ""


def dagster_run_page(run_id: str) -> str | None:
    """Return the address of a run's page in Dagster, or None if `AFLITE_DAGSTER_URL` is not set."""
    base = base_address(DAGSTER)
    return f"{base}/runs/{run_id}" if base else None


def dagster_page(*path: str) -> str:
    """Return the address of a page on Dagster's webserver, which by default is at port 3000 of this machine."""
    return "/".join((base_address(DAGSTER) or "http://127.0.0.1:3000", *path))


def results_page(path: Path, root: Path) -> str | None:
    """Return the address at which `aflite serve` serves the file `path`.

    Returns None if `AFLITE_RESULTS_URL` is not set, or if `path` is not below `root`.
    """
    base = base_address(RESULTS)
    if base is None or not path.is_relative_to(root):
        return None
    return f"{base}/{quote(path.relative_to(root).as_posix())}"
