"""Requests for objects below one prefix of a bucket, and errors that explain failed requests. Names are relative to the
prefix.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from aflite_assets.errors import (
    LostObjectsError,
    StoreAccessError,
    StoreError,
    StoreUnreachableError,
    UnsupportedStoreError,
)
from aflite_assets.results.object_store.address import StoreAddress


class OtherContentError(LostObjectsError):
    """Error that is raised if an object's content does not match the checksum that the server stores."""


PART_BYTES = 16 << 20
"""Size in bytes of the parts in which larger files are transferred."""
_BLOCK = 1 << 20
_TRIES = 8
"""Number of attempts of a conditional write that collides with another write."""
_DOWNLOADS = 3
"""Number of attempts to read content, if the connection breaks or the content contradicts the server's checksum."""
_NO_SUCH = ("NoSuchKey", "NotFound")
_REFUSALS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("NoSuchBucket", StoreAccessError, "create the bucket {bucket!r}, or correct AFLITE_STORE"),
    (
        "PermanentRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException 301",
        StoreAccessError,
        "the bucket is in another region: set AWS_REGION to it",
    ),
    (
        "ExpiredToken InvalidAccessKeyId InvalidToken SignatureDoesNotMatch",
        StoreAccessError,
        "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile",
    ),
    (
        "AccessDenied AllAccessDisabled Forbidden RequestTimeTooSkewed 401 403",
        StoreAccessError,
        "the credentials need the rights s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject, "
        "s3:AbortMultipartUpload, and for `aflite doctor` s3:ListBucketMultipartUploads on this bucket",
    ),
    (
        "NotImplemented 501",
        UnsupportedStoreError,
        "use a server that supports conditional writes, as S3 does, or a folder",
    ),
    ("SlowDown ServiceUnavailable InternalError RequestTimeout 5xx", StoreUnreachableError, "try again later"),
)
"""Codes and statuses of refused requests, with the error to raise and the advice. The first match decides."""
_FAILURES: tuple[tuple[str, type[StoreError], str], ...] = (
    (
        "NoCredentialsError PartialCredentialsError CredentialRetrievalError TokenRetrievalError SSOError",
        StoreAccessError,
        "{error}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
    ),
    (
        "ConnectionError HTTPClientError IncompleteReadError",
        StoreUnreachableError,
        "{server} does not answer ({kind}); check AWS_ENDPOINT_URL_S3 and that the server runs, and try again",
    ),
    (
        "FlexibleChecksumError",
        OtherContentError,
        "its content has changed since publication; run `aflite doctor --deep --fix`, then materialise it again",
    ),
    ("BotoCoreError", StoreError, "{error}; check the settings of AWS's tools"),
)
"""Names of botocore's errors without an answer of the server, in the same form."""
_making = Lock()
_Read = TypeVar("_Read")


@dataclass(frozen=True)
class StoredRecord:
    """A small object: its bytes and its ETag. The bytes are empty if they do not match the server's checksum."""

    body: bytes
    etag: str


@dataclass(frozen=True)
class StoredObject:
    """An object in a listing: its name, its size in bytes and its last change (UTC, by the server's clock)."""

    name: str
    size: int
    changed: datetime


@dataclass(frozen=True)
class UnfinishedUpload:
    """An upload in parts that was neither completed nor aborted. `begun`: the time when the upload started (UTC, by the
    server's clock).
    """

    name: str
    upload_id: str
    begun: datetime


@dataclass(frozen=True)
class Bucket:
    """The objects below an address. Any number of threads may use one `Bucket`.

    Every method raises `StoreUnreachableError` if the server does not answer, and `StoreAccessError` if the server
    refuses. If the answer does not come from S3, `StoreError` is raised.
    """

    address: StoreAddress

    @property
    def server(self) -> str:
        """Address of the server."""
        parts = urlsplit(str(self._client.meta.endpoint_url))
        return f"{parts.scheme}://{parts.netloc}"

    def now(self) -> datetime:
        """Return the server's time, to the second (UTC), or this machine's time if the server sends none."""
        with self._explained("asked for the time"):
            answer = self._client.list_objects_v2(Bucket=self.address.bucket, Prefix=self._prefix, MaxKeys=1)
        told = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
        return parsedate_to_datetime(told).astimezone(UTC) if told else datetime.now(UTC).replace(microsecond=0)

    def get(self, name: str) -> StoredRecord | None:
        """Return a small object, or None if there is no object of this name."""
        etags: list[str] = []

        def whole(answer: Any) -> bytes:
            etags.append(str(answer["ETag"]))
            return bytes(answer["Body"].read())

        try:
            body = self._read(name, whole)
        except OtherContentError:
            body = b""
        return None if body is None else StoredRecord(body, etags[-1])

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a small object, or None if there is no object of this name."""
        there = self.get(name)
        return None if there is None else there.body

    def exists(self, name: str) -> bool:
        """Return True if there is an object of this name."""
        return any(each.name == name for each in self.objects(name))

    def size(self, prefix: str) -> int:
        """Return the size in bytes of all objects with names that begin with `prefix`."""
        return sum(each.size for each in self.objects(prefix))

    def put(self, name: str, body: bytes) -> None:
        """Write a small object. If the object exists already, it is replaced."""
        self._call("put_object", f"written: {name}", name, Body=body)

    def put_if(self, name: str, body: bytes, etag: str | None) -> bool:
        """Write a small object if it still has this ETag or, if `etag` is None, if there is no object of this name.

        Return True if the object now has the content `body`.
        """
        # After a lost answer, the server refuses a write that succeeded.
        return self.put_once(name, body, etag) or self.read(name) == body

    def put_once(self, name: str, body: bytes, etag: str | None) -> bool:
        """Write a small object under the condition of `put_if`, and return True if the server wrote the object."""
        from botocore.exceptions import ClientError

        condition = {"IfNoneMatch": "*"} if etag is None else {"IfMatch": etag}
        passing = ("412", "409", "NoSuchKey")
        for attempt in range(_TRIES):
            try:
                self._call("put_object", f"written: {name}", name, passing=passing, Body=body, **condition)
                return True
            except ClientError as error:
                if _answer(error)[1] != 409:
                    return False
                time.sleep(0.05 * 2**attempt)
        raise StoreUnreachableError(
            f"{self.address}/{name} was not written, because other machines write it at the same time; try again"
        )

    def upload(self, path: Path, name: str) -> None:
        """Upload a file as an object, in parts if the file is large. The object appears only when it is complete."""
        from boto3.s3.transfer import TransferConfig

        parts = TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES, max_concurrency=4)
        with self._explained(f"written: {name}"), path.open("rb") as stream:
            self._client.upload_fileobj(stream, self.address.bucket, self._prefix + name, Config=parts)

    def download(self, name: str, path: Path = Path(os.devnull)) -> str:
        """Read an object and return its hash (SHA-256, 64 hexadecimal digits). The content is written to `path`.

        Raises:
            LostObjectsError: the object does not exist, or its content has changed since it was written.
            OSError: the file cannot be written.
        """

        def copied(answer: Any) -> str:
            digest = hashlib.sha256()
            with path.open("wb") as stream:
                for block in answer["Body"].iter_chunks(_BLOCK):
                    digest.update(block)
                    stream.write(block)
            return digest.hexdigest()

        found = self._read(name, copied)
        if found is None:
            raise LostObjectsError(
                f"{self.address}/{name} is missing; run `aflite doctor --fix`, then materialise it again"
            )
        return found

    def objects(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield every object with a name that begins with `prefix`, in the order of names."""
        for page in self._pages("list_objects_v2", prefix):
            for each in page.get("Contents", []):
                yield StoredObject(each["Key"].removeprefix(self._prefix), each["Size"], each["LastModified"])

    def folders(self, prefix: str = "") -> list[str]:
        """Return, in order, the part of each name that is between `prefix` and the next slash. `prefix` is empty or
        ends with a slash.
        """
        found = [
            each["Prefix"].removeprefix(self._prefix + prefix).removesuffix("/")
            for page in self._pages("list_objects_v2", prefix, Delimiter="/")
            for each in page.get("CommonPrefixes", [])
        ]
        return sorted(found)

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects; missing objects count as removed."""
        for name in names:
            self._call("delete_object", f"removed: {name}", name)

    def delete_same(self, name: str, etag: str) -> bool:
        """Remove the object if it still has this ETag, and return whether the object no longer exists.

        If a server ignores or does not support conditional deletes, the object is removed even if it has another ETag.
        """
        from botocore.exceptions import ClientError

        try:
            self._call("delete_object", f"removed: {name}", name, passing=("412", "409", *_NO_SUCH), IfMatch=etag)
        except ClientError as error:
            return _answer(error)[0] in _NO_SUCH
        except UnsupportedStoreError:
            self.delete([name])
        return True

    def unfinished_uploads(self) -> Iterator[UnfinishedUpload]:
        """Yield every upload in parts that was neither completed nor aborted."""
        for page in self._pages("list_multipart_uploads", ""):
            for each in page.get("Uploads", []):
                yield UnfinishedUpload(each["Key"].removeprefix(self._prefix), each["UploadId"], each["Initiated"])

    def give_up(self, upload: UnfinishedUpload) -> None:
        """Abort an unfinished upload and remove its parts."""
        self._call("abort_multipart_upload", f"removed: {upload.name}", upload.name, UploadId=upload.upload_id)

    @property
    def _client(self) -> Any:
        with _making:
            return _connected(self.address)

    @property
    def _prefix(self) -> str:
        return f"{self.address.prefix}/" if self.address.prefix else ""

    def _call(self, operation: str, doing: str, name: str, *, passing: tuple[str, ...] = (), **options: Any) -> Any:
        """Make a request about one object; see `_explained`."""
        with self._explained(doing, passing=passing):
            call = getattr(self._client, operation)
            return call(Bucket=self.address.bucket, Key=self._prefix + name, **options)

    def _read(self, name: str, take: Callable[[Any], _Read]) -> _Read | None:
        """Return what `take` makes of an object, or None if there is no object of this name.

        Repeat if the connection breaks or a checksum differs.
        """
        from botocore.exceptions import ClientError

        for further in reversed(range(_DOWNLOADS)):
            try:
                with self._explained(f"read: {name}", passing=_NO_SUCH):
                    return take(self._client.get_object(Bucket=self.address.bucket, Key=self._prefix + name))
            except ClientError:
                return None
            except (StoreUnreachableError, OtherContentError):
                if not further:
                    raise
        raise AssertionError("not reached")

    def _pages(self, operation: str, prefix: str, **options: str) -> Iterator[Any]:
        with self._explained(f"looked through: {prefix or 'everything'}"):
            pages = self._client.get_paginator(operation)
            yield from pages.paginate(Bucket=self.address.bucket, Prefix=self._prefix + prefix, **options)

    @contextmanager
    def _explained(self, doing: str, *, passing: tuple[str, ...] = ()) -> Iterator[None]:
        """Explain the failure of a request. An error whose code or status is in `passing` is raised unchanged."""
        from botocore import exceptions

        failed = f"{self.address} was not {doing}"
        try:
            yield
        except exceptions.ClientError as error:
            if {*map(str, _answer(error))} & {*passing}:
                raise
            raise self._refusal(error, failed) from error
        except exceptions.BotoCoreError as error:
            bases = {base.__name__ for base in type(error).__mro__}
            kind, advice = next((kind, advice) for names, kind, advice in _FAILURES if bases & {*names.split()})
            why = advice.format(error=error, server=self.server, kind=type(error).__name__)
            raise kind(f"{failed}: {why}") from error

    def _refusal(self, error: Any, failed: str) -> StoreError:
        code, status = _answer(error)
        answered = f"{failed}: {self.server} answers {code}"
        for codes, kind, advice in _REFUSALS:
            if {*codes.split()} & {code, str(status), f"{status // 100}xx"}:
                return kind(f"{answered}; {advice.format(bucket=self.address.bucket)}")
        said = error.response.get("Error", {}).get("Message", "")
        return StoreError(f"{answered} ({status}: {said}); S3 never gives this answer")


def connect(address: StoreAddress) -> Any:
    """Return boto3's client for the server of an address.

    Raises:
        UnsupportedStoreError: boto3 is not installed.
        StoreAccessError: the settings for AWS's tools cannot be used, or name a server with a user or password.
    """
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise UnsupportedStoreError(
            f"the results are in {address}, which needs boto3 ({error}); run pip install -c constraints.txt -e '.[s3]'"
        ) from error
    # Self-hosted servers rarely have a host name for each bucket.
    style = {"addressing_style": "path"} if address.endpoint_url else None
    config = Config(s3=style, connect_timeout=10, read_timeout=60, max_pool_connections=32)
    wrong = None
    try:
        session = boto3.session.Session()
        region = address.region or session.region_name or ("us-east-1" if address.endpoint_url else None)
        client = session.client("s3", endpoint_url=address.endpoint_url, region_name=region, config=config)
        wrong = "contains a user" if "@" in str(client.meta.endpoint_url) else None
    except BotoCoreError as error:
        raise StoreAccessError(
            f"{address} cannot be used: {error}; correct the settings for AWS's tools (AWS_PROFILE, AWS_REGION)"
        ) from error
    except ValueError:  # the message contains the server's address, which may contain a password
        wrong = "is not valid"
    if wrong is not None:
        raise StoreAccessError(
            f"{address} cannot be used: the server's address in AWS's settings (endpoint_url of the profile) {wrong}; "
            "give only scheme, host and port, and give credentials as AWS's own tools expect them"
        )
    return client


_connected = cache(connect)  # creating a client takes time


def _answer(error: Any) -> tuple[str, int]:
    """Return the code and the status of the answer to a refused request."""
    told = error.response
    return str(told.get("Error", {}).get("Code", "")), int(told.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
