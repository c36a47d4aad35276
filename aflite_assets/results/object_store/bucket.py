"""Requests for objects below one prefix of a bucket, and errors that explain failed requests. Names are relative to the
prefix.
"""

import hashlib
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

PART_BYTES = 16 << 20
"""Size in bytes of the parts in which larger files are transferred."""
_BLOCK = 1 << 20
_TRIES = 8
"""Number of attempts of a conditional write that collides with another write."""
_DOWNLOADS = 3
"""Number of attempts to read content, if the connection breaks or the content contradicts the server's checksum."""
_RIGHTS = (
    "s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, and for `aflite doctor` "
    "s3:ListBucketMultipartUploads"
)
_NO_SUCH = {"NoSuchKey", "404", "NotFound"}
_REGION = {"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301"}
_BUSY = {"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "500", "502", "503", "504"}
_UNKNOWN = {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
_DENIED = {"AccessDenied", "AllAccessDisabled", "Forbidden", "RequestTimeTooSkewed", "401", "403"}
_making = Lock()
_Read = TypeVar("_Read")


class _OtherContentError(LostObjectsError):
    """Error that is raised if an object's content does not match the checksum that the server stores."""


@dataclass(frozen=True)
class StoredRecord:
    """A small object: its bytes and its ETag. The bytes are None if they do not match the server's checksum."""

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


def bucket_of(address: StoreAddress) -> "Bucket":
    """Return the bucket of an address. Each process creates the bucket's client only once, because creating a client
    takes time.
    """
    with _making:
        return _bucket(address)


@cache
def _bucket(address: StoreAddress) -> "Bucket":
    return Bucket(address)


class Bucket:
    """The objects below an address. Any number of threads may use one `Bucket`.

    Every method raises `StoreUnreachableError` if the server does not answer, and `StoreAccessError` if the server
    refuses. If the answer does not come from S3, `StoreError` is raised.
    """

    def __init__(self, address: StoreAddress) -> None:
        self.address = address
        self._prefix = f"{address.prefix}/" if address.prefix else ""
        try:
            import boto3
            from boto3.s3.transfer import TransferConfig
            from botocore.config import Config
            from botocore.exceptions import BotoCoreError
        except ImportError as error:
            raise UnsupportedStoreError(
                f"the results are in {address}, which needs boto3 ({error}); run pip install -c constraints.txt -e "
                "'.[s3]'"
            ) from error
        # Self-hosted servers rarely have a host name for each bucket.
        style = {"addressing_style": "path"} if address.endpoint_url else None
        try:
            session = boto3.session.Session()
            region = address.region or session.region_name or ("us-east-1" if address.endpoint_url else None)
            self._client = session.client(
                "s3",
                endpoint_url=address.endpoint_url,
                region_name=region,
                config=Config(s3=style, connect_timeout=10, read_timeout=60, max_pool_connections=32),
            )
        except BotoCoreError as error:
            raise StoreAccessError(
                f"{address} cannot be used: {error}; correct the settings for AWS's tools (AWS_PROFILE, AWS_REGION)"
            ) from error
        except ValueError:  # the message contains the server's address, which may contain a password
            raise StoreAccessError(_bad_server(address, "is not valid")) from None
        if "@" in self.server:
            raise StoreAccessError(_bad_server(address, "contains a user"))
        self._transfer = TransferConfig(
            multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES, max_concurrency=4
        )

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
        etag = ""

        def whole() -> StoredRecord | None:
            nonlocal etag
            answer = self._found(name)
            if answer is None:
                return None
            etag = str(answer["ETag"])
            return StoredRecord(answer["Body"].read(), etag)

        try:
            return self._again(name, whole)
        except _OtherContentError:
            return StoredRecord(b"", etag)

    def exists(self, name: str) -> bool:
        """Return True if there is an object of this name."""
        with self._explained(f"looked through: {name}"):
            answer = self._client.list_objects_v2(Bucket=self.address.bucket, Prefix=self._prefix + name, MaxKeys=1)
            return any(each["Key"] == self._prefix + name for each in answer.get("Contents", []))

    def put(self, name: str, body: bytes) -> None:
        """Write a small object. If the object exists already, it is replaced."""
        with self._explained(f"written: {name}"):
            self._client.put_object(Bucket=self.address.bucket, Key=self._prefix + name, Body=body)

    def put_new(self, name: str, body: bytes) -> bool:
        """Write a small object if there is no object of this name. Return True if the object now has the content
        `body`.
        """
        return self._put_if(name, body, IfNoneMatch="*") or self._holds(name, body)

    def put_over(self, name: str, body: bytes, etag: str) -> bool:
        """Replace a small object if it still has this ETag. Return True if the object now has the content `body`."""
        return self._put_if(name, body, IfMatch=etag) or self._holds(name, body)

    def check_conditions(self, name: str, body: bytes) -> None:
        """Check that the server does not overwrite the object `name` if a write has a condition that is not met.

        The object is created if it is missing.

        Raises:
            UnsupportedStoreError: the server overwrites the object although the condition is not met. The object then
                has the content `body`, so choose an object that always has this content.
        """
        self._put_if(name, body, IfNoneMatch="*")
        for condition in ({"IfNoneMatch": "*"}, {"IfMatch": '"00000000000000000000000000000000"'}):
            if self._put_if(name, body, **condition):
                raise UnsupportedStoreError(
                    f"{self.address}: the server {self.server} ignores the condition {_header(condition)} of a write, "
                    "so two machines would overwrite each other's results; use a server that respects conditions, "
                    "as S3 does, or a folder"
                )

    def upload(self, path: Path, name: str) -> None:
        """Upload a file as an object, in parts if the file is large. The object appears only when it is complete."""
        with self._explained(f"written: {name}"), path.open("rb") as stream:
            self._client.upload_fileobj(stream, self.address.bucket, self._prefix + name, Config=self._transfer)

    def download(self, name: str, path: Path) -> str:
        """Download an object to a file and return its hash (SHA-256, 64 hexadecimal digits).

        Raises:
            LostObjectsError: the object does not exist, or its content has changed since it was written.
            OSError: the file cannot be written.
        """
        with path.open("wb") as stream:
            return self._read(name, stream)

    def sha256(self, name: str) -> str:
        """Return the hash of an object's content, read from the server.

        Raises:
            LostObjectsError: the object does not exist, or its content has changed since it was written.
        """
        return self._read(name, None)

    def objects(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield every object with a name that begins with `prefix`, in the order of names."""
        for page in self._pages("list_objects_v2", prefix):
            for each in page.get("Contents", []):
                yield StoredObject(each["Key"].removeprefix(self._prefix), each["Size"], each["LastModified"])

    def folders(self, prefix: str = "") -> list[str]:
        """Return the part of each name that is between `prefix` and the next slash. `prefix` is empty or ends with a
        slash.
        """
        return [
            each["Prefix"].removeprefix(self._prefix + prefix).removesuffix("/")
            for page in self._pages("list_objects_v2", prefix, Delimiter="/")
            for each in page.get("CommonPrefixes", [])
        ]

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects; missing objects count as removed."""
        for name in names:
            with self._explained(f"removed: {name}"):
                self._client.delete_object(Bucket=self.address.bucket, Key=self._prefix + name)

    def delete_same(self, name: str, etag: str) -> bool:
        """Remove the object if it still has this ETag, and return whether the object no longer exists.

        If a server ignores or does not support conditional deletes, the object is removed even if it has another ETag.
        """
        from botocore.exceptions import ClientError

        try:
            with self._explained(f"removed: {name}", passing=("412", "409", "404")):
                self._client.delete_object(Bucket=self.address.bucket, Key=self._prefix + name, IfMatch=etag)
        except ClientError as error:
            return _code(error) in _NO_SUCH
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
        with self._explained(f"removed: {upload.name}"):
            key = self._prefix + upload.name
            self._client.abort_multipart_upload(Bucket=self.address.bucket, Key=key, UploadId=upload.upload_id)

    def _found(self, name: str) -> Any:
        from botocore.exceptions import ClientError

        try:
            return self._client.get_object(Bucket=self.address.bucket, Key=self._prefix + name)
        except ClientError as error:
            if _code(error) in _NO_SUCH:
                return None
            raise

    def _read(self, name: str, stream: Any) -> str:
        """Return the hash of an object. If a seekable stream is given, write the object to it."""
        return self._again(name, lambda: self._stream(name, stream))

    def _again(self, name: str, read: Callable[[], _Read]) -> _Read:
        """Read an object and return the result of `read`. Repeat if the connection breaks or a checksum differs."""
        for further in reversed(range(_DOWNLOADS)):
            try:
                with self._explained(f"read: {name}"):
                    return read()
            except (StoreUnreachableError, _OtherContentError):
                if not further:
                    raise
        raise AssertionError("not reached")

    def _stream(self, name: str, stream: Any) -> str:
        answer = self._found(name)
        if answer is None:
            raise LostObjectsError(
                f"{self.address}/{name} is missing; run `aflite doctor --fix`, then materialise it again"
            )
        digest = hashlib.sha256()
        if stream is not None:
            stream.seek(0)
            stream.truncate()
        for block in answer["Body"].iter_chunks(_BLOCK):
            digest.update(block)
            if stream is not None:
                stream.write(block)
        return digest.hexdigest()

    def _pages(self, operation: str, prefix: str, **options: str) -> Iterator[Any]:
        with self._explained(f"looked through: {prefix or 'everything'}"):
            pages = self._client.get_paginator(operation)
            yield from pages.paginate(Bucket=self.address.bucket, Prefix=self._prefix + prefix, **options)

    def _holds(self, name: str, body: bytes) -> bool:
        """Return True if the object has the content `body`.

        This method is called after the server refused a write, because an earlier attempt may have succeeded although
        the answer was lost.
        """
        there = self.get(name)
        return there is not None and there.body == body

    def _put_if(self, name: str, body: bytes, **condition: str) -> bool:
        """Write an object under a condition, and return True if the server wrote the object."""
        from botocore.exceptions import ClientError

        for attempt in range(_TRIES):
            try:
                with self._explained(f"written: {name}", passing=("412", "409", "NoSuchKey")):
                    self._client.put_object(Bucket=self.address.bucket, Key=self._prefix + name, Body=body, **condition)
                    return True
            except ClientError as error:
                if _status(error) != 409:
                    return False
                time.sleep(0.05 * 2**attempt)
        raise StoreUnreachableError(
            f"{self.address}/{name} was not written, because other machines write it at the same time; try again"
        )

    @contextmanager
    def _explained(self, doing: str, *, passing: tuple[str, ...] = ()) -> Iterator[None]:
        """Explain the failure of a request. An error whose code or status is in `passing` is raised unchanged."""
        from botocore import exceptions as errors

        try:
            yield
        except errors.ClientError as error:
            if _code(error) in passing or str(_status(error)) in passing:
                raise
            raise self._refusal(error, doing) from error
        except (
            errors.NoCredentialsError,
            errors.PartialCredentialsError,
            errors.CredentialRetrievalError,
            errors.TokenRetrievalError,
            errors.SSOError,
        ) as error:
            raise StoreAccessError(
                f"{self.address} was not {doing}: {error}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                "AWS_PROFILE"
            ) from error
        except (errors.ConnectionError, errors.HTTPClientError, errors.IncompleteReadError) as error:
            raise StoreUnreachableError(
                f"{self.address} was not {doing}: {self.server} does not answer ({type(error).__name__}); check "
                "AWS_ENDPOINT_URL_S3 and that the server runs, and try again"
            ) from error
        except errors.FlexibleChecksumError as error:
            raise _OtherContentError(
                f"{self.address} was not {doing}: its content has changed since publication; run `aflite doctor "
                "--deep --fix`, then materialise it again"
            ) from error
        except errors.BotoCoreError as error:
            raise StoreError(f"{self.address} was not {doing}: {error}; check the settings of AWS's tools") from error

    def _refusal(self, error: Any, doing: str) -> StoreError:
        code, status = _code(error), _status(error)
        failed = f"{self.address} was not {doing}: {self.server} answers {code}"
        if code == "NoSuchBucket":
            return StoreAccessError(f"{failed}; create the bucket {self.address.bucket!r}, or correct AFLITE_STORE")
        if code in _REGION:
            return StoreAccessError(f"{failed}; the bucket is in another region: set AWS_REGION to it")
        if code in _UNKNOWN:
            return StoreAccessError(f"{failed}; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile")
        if code in _DENIED or status in (401, 403):
            return StoreAccessError(f"{failed}; the credentials need the rights {_RIGHTS} on this bucket")
        if code in _BUSY or (status >= 500 and status != 501):
            return StoreUnreachableError(f"{failed} ({status}); try again later")
        if code == "NotImplemented" or status == 501:
            return UnsupportedStoreError(
                f"{failed}; use a server that supports conditional writes, as S3 does, or a folder"
            )
        return StoreError(
            f"{failed} ({status}: {error.response.get('Error', {}).get('Message', '')}); S3 never gives this answer"
        )


def _bad_server(address: StoreAddress, why: str) -> str:
    return (
        f"{address} cannot be used: the server's address in AWS's settings (endpoint_url of the profile) {why}; "
        "give only scheme, host and port, and give credentials as AWS's own tools expect them"
    )


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _status(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _header(condition: dict[str, str]) -> str:
    return "If-None-Match" if "IfNoneMatch" in condition else "If-Match"
