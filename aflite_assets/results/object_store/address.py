"""The address of an object store, `s3://bucket/prefix`, which is checked before any request. An address never contains
credentials.

Credentials are found as in AWS's own tools: from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role.
"""

import hashlib
import os
import re
from dataclasses import dataclass

from aflite_assets.address_secrets import shown_value
from aflite_assets.addresses import plain_address
from aflite_assets.errors import InvalidInputError

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
SCHEME = "s3://"

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_BUCKET_RULE = "a bucket: 3 to 63 lower-case letters, digits, dots and hyphens"
_PREFIX = re.compile(r"((?!\.)[A-Za-z0-9_.=-]+(/(?!\.)[A-Za-z0-9_.=-]+)*)?")
_PREFIX_RULE = "its prefix: letters, digits and _ . = - between single slashes, no dot in front"


@dataclass(frozen=True)
class StoreAddress:
    """Address of results in an object store, made of a bucket and a prefix.

    `prefix` has no slashes at its ends and is empty for the whole bucket. `endpoint_url`: the server. If None, the
    profile's server is used or, if the profile names no server, AWS's own server. `region`: the region, or None for the
    region of the profile.
    """

    bucket: str
    prefix: str = ""
    endpoint_url: str | None = None
    region: str | None = None

    def __str__(self) -> str:
        return SCHEME + "/".join(filter(None, (self.bucket, self.prefix)))

    @property
    def folder_name(self) -> str:
        """Name of the folder with this machine's copy: the bucket, and 8 hexadecimal digits of a hash of the whole
        address.
        """
        digest = hashlib.sha256(f"{self.endpoint_url or ''}\n{self}".encode()).hexdigest()[:8]
        return f"results-of-{self.bucket}-{digest}"


def parse_address(text: str, *, named: str, endpoint_url: str | None = None) -> StoreAddress:
    """Parse the address of an object store. `named`: the name of the text in error messages.

    The server is `endpoint_url`, or else the value of `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`. The region is the
    value of `AWS_REGION` or `AWS_DEFAULT_REGION`.

    Raises:
        InvalidInputError: the text is not an address of an object store, or contains a user or a password.
    """
    example = "write s3://bucket/prefix"
    if "@" in text:  # the text before it may be a password, so it is not repeated
        raise InvalidInputError(
            f"{named} contains a user; {example}, and give credentials as AWS's own tools expect them"
        )
    if "?" in text or "#" in text:
        raise InvalidInputError(
            f"{named} contains a query or a fragment; {example}, and end the address with the prefix"
        )
    if not text.startswith(SCHEME):
        raise InvalidInputError(
            f"{named} is {shown_value(text)}, which is not an address of an object store; {example}"
        )
    bucket, _, prefix = text.removeprefix(SCHEME).partition("/")
    prefix = prefix.removesuffix("/")
    for part, shape, rule in ((bucket, _BUCKET, _BUCKET_RULE), (prefix, _PREFIX, _PREFIX_RULE)):
        if not shape.fullmatch(part):
            raise InvalidInputError(
                f"{named} is {shown_value(text)}, and {shown_value(part)} cannot be {rule}; {example}"
            )
    name, server = ("endpoint_url of the result store", endpoint_url) if endpoint_url else _first(ENDPOINTS)
    return StoreAddress(bucket, prefix, plain_address(server, named=name) if server else None, _first(REGIONS)[1])


def _first(variables: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the name and the value of the first environment variable in this list that is set."""
    values = {name: os.environ.get(name, "").strip() for name in variables}
    return next(((name, value) for name, value in values.items() if value), (variables[0], None))
