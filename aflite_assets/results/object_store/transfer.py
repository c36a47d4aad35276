"""Transfer of results between this machine's folders and a bucket. One conditional write publishes a result. A result
is fetched completely or not at all.

```
<prefix>/<asset>/<partition>/<key>/manifest.json        written last and never over another, which publishes the result
<prefix>/<asset>/<partition>/<key>/<attempt>/<file>     the files of one upload attempt, which the manifest names
<prefix>/<asset>/<partition>/parts/<key>/...            the same for parts
```

Every upload attempt has a prefix of its own. Therefore, two machines that publish at the same time cannot change each
other's files.
"""

import json
import logging
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from aflite_assets.errors import LostObjectsError, StoreError
from aflite_assets.results.damage import forget, own_damage, record_verified, size_problem
from aflite_assets.results.files import flush_entry, flush_folder, parse_json, read_json
from aflite_assets.results.locks import alone, alone_now, unread
from aflite_assets.results.manifests import manifest_problem, sealed
from aflite_assets.results.object_store.bucket import Bucket
from aflite_assets.results.records import MANIFEST, PublishedResult

ATTEMPT = "attempt"
"""Field that only manifests in a bucket have: the prefix of the result's files."""
FETCHING = ".fetching"
_ATTEMPT = re.compile(r"[0-9a-f]{12}")
_AT_ONCE = 4
"""Number of files that are transferred at the same time."""
_log = logging.getLogger(__name__)


def read_manifest(body: bytes, place: str) -> dict[str, Any] | None:
    """Return a manifest from its bytes, or None if the manifest is not a valid manifest of the result at `place` in the
    bucket.

    The function `manifest_problem` makes these checks.
    """
    asset, partition, *_, key = place.split("/")
    try:
        manifest: dict[str, Any] = parse_json(body)
        sound = manifest_problem(manifest, asset, partition, key) is None and _ATTEMPT.fullmatch(manifest[ATTEMPT])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return manifest if sound else None


def upload_result(bucket: Bucket, folder: Path, place: str) -> bytes | None:
    """Publish a complete folder, with its manifest, under the name `place`, and return the published manifest.

    If another result was published at `place` first, remove the uploaded files and return None.

    Raises:
        StoreError: the files could not be uploaded, or the bucket cannot be written. Nothing was published.
    """
    if bucket.exists(f"{place}/{MANIFEST}"):
        return None
    attempt = uuid.uuid4().hex[:12]
    manifest = sealed({**read_json(folder / MANIFEST), ATTEMPT: attempt})
    body = (json.dumps(manifest, indent=2, allow_nan=False) + "\n").encode()
    _all_at_once(lambda name: bucket.upload(folder / name, f"{place}/{attempt}/{name}"), manifest["files"])
    wrong = lost_files(bucket, place, manifest)
    if wrong:
        raise StoreError(
            f"{bucket.address}/{place} was not published: some files were not uploaded completely "
            f"({'; '.join(wrong)}); try again"
        )
    if bucket.put_new(f"{place}/{MANIFEST}", body):
        return body
    try:
        bucket.delete(f"{place}/{attempt}/{name}" for name in manifest["files"])
    except StoreError as error:
        _log.warning("files of a result that another machine published remain below %s/%s (%s)", place, attempt, error)
    return None


def lost_files(bucket: Bucket, place: str, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a phrase for each file that the manifest of `place` names and that is missing in the bucket.

    The bucket is listed once.
    """
    prefix = f"{place}/{manifest[ATTEMPT]}/"
    there = {each.name.removeprefix(prefix): each.size for each in bucket.objects(prefix)}
    problems = (size_problem(name, there.get(name), size) for name, size in manifest["sizes"].items())
    return tuple(problem for problem in problems if problem is not None)


def changed_files(bucket: Bucket, place: str, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files of the result at `place` whose content differs from the manifest.

    All files are read completely.
    """
    return tuple(
        f"the content of {name} has changed"
        for name, digest in manifest["files"].items()
        if not _has_hash(bucket, f"{place}/{manifest[ATTEMPT]}/{name}", digest)
    )


def _has_hash(bucket: Bucket, name: str, digest: str) -> bool:
    try:
        return bucket.sha256(name) == digest
    except LostObjectsError:
        return False


def fetch_result(bucket: Bucket, copy: PublishedResult, place: str, manifest: Mapping[str, Any], body: bytes) -> None:
    """Fetch the files that the manifest of the result at `place` names. Files that the local copy already has with the
    right content are kept.

    `body`: the stored manifest. If the local folder has another manifest or files with other content, all files are
    fetched again. Only one process of this machine fetches a result at a time. Files are first written to another
    folder and compared with their hashes.

    Raises:
        LostObjectsError: the bucket no longer holds a file that the manifest names.
        StoreError: the local folder cannot be written, or a process is reading another data version in this folder.
    """
    with fetching(copy.folder):
        if _is_whole(copy, body):
            return
        aside = _beside(copy)
        try:
            aside.mkdir()
            _download(bucket, manifest, f"{place}/{manifest[ATTEMPT]}", aside)
            (aside / MANIFEST).write_bytes(body)
            _put_in_place(aside, copy)
        except OSError as error:
            raise StoreError(
                f"{bucket.address}/{place} cannot be fetched into {copy.folder} ({error.strerror}); free some space "
                "or make the folder writable, or set AFLITE_HOME to another folder"
            ) from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def keep_copy(folder: Path, copy: PublishedResult, body: bytes) -> None:
    """Use a folder, which was published with the manifest `body`, as this machine's copy. If the folder cannot be used,
    remove it.

    A failure is only logged as a warning, because the result is already published.
    """
    try:
        with fetching(copy.folder):
            if _is_whole(copy, body):  # another process has fetched it meanwhile
                shutil.rmtree(folder)
                return
            (folder / MANIFEST).write_bytes(body)
            _put_in_place(folder, copy)
    except (OSError, StoreError) as error:
        _log.warning(
            "%s was published, but no local copy was kept, so it is fetched at the next read (%s)", copy.folder, error
        )
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(whole: Path, copy: PublishedResult) -> None:
    """Move a complete folder to the place of a local copy, in one step. Call this function only within `fetching`.

    Raises:
        StoreError: a process is reading another data version at this place, and would read files of both versions.
    """
    flush_folder(whole)
    with unread(copy.folder) if copy.folder.is_dir() else nullcontext(True) as free:
        if not free and _data_version(copy.folder) != _data_version(whole):
            raise StoreError(
                f"{copy.folder} has an earlier version of {copy.asset} of {copy.partition!r}, which a process on "
                "this machine is reading; try again when that process has ended"
            )
        _discard(copy)
        whole.rename(copy.folder)
    flush_entry(copy.folder.parent)
    record_verified(copy)


def _data_version(folder: Path) -> str | None:
    """Return the data version in a folder's manifest, or None if the manifest cannot be read."""
    try:
        return str(read_json(folder / MANIFEST)["data_version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def discard(copy: PublishedResult) -> None:
    """Remove this machine's copy of a result. A reader with an open file can continue to read the file."""
    with fetching(copy.folder):
        _discard(copy)


def _discard(copy: PublishedResult) -> None:
    if copy.folder.is_dir():
        away = _beside(copy)
        copy.folder.rename(away)
        forget(copy)
        shutil.rmtree(away)


def _beside(copy: PublishedResult) -> Path:
    """Return a path that does not exist yet. The path is in a folder to which only the holder of the lock may write."""
    return copy.folder.parent / FETCHING / f"{copy.key}-{uuid.uuid4().hex[:8]}"


@contextmanager
def fetching(folder: Path) -> Iterator[None]:
    """Hold the lock for fetching a result. Only one process of this machine can hold the lock at a time.

    Raises:
        StoreError: the folder cannot be written.
    """
    with alone(folder.parent / FETCHING / f"{folder.name}.lock", results=folder.parent):
        yield


@contextmanager
def fetching_now(left: Path) -> Iterator[bool]:
    """Yield True if no process is fetching the result that belongs to a folder below `.fetching`.

    No process can begin to fetch the result while the block runs.
    """
    with alone_now(left.parent / f"{left.name.partition('-')[0]}.lock") as held:
        yield held


def _is_whole(copy: PublishedResult, body: bytes) -> bool:
    try:
        same = (copy.folder / MANIFEST).read_bytes() == body
    except OSError:
        return False
    reasons = own_damage(replace(copy))  # its manifest may have been read before
    if reasons:
        _log.warning("%s is damaged (%s): it is fetched again", copy.folder, "; ".join(reasons))
    return same and not reasons


def _download(bucket: Bucket, manifest: Mapping[str, Any], place: str, folder: Path) -> None:
    for name in manifest["files"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)

    def one(name: str) -> None:
        if bucket.download(f"{place}/{name}", folder / name) != manifest["files"][name]:
            raise LostObjectsError(
                f"{bucket.address}/{place}/{name} has changed since publication; run `aflite doctor --deep --fix`, "
                "then materialise it again"
            )

    _all_at_once(one, manifest["files"])


def _all_at_once(work: Callable[[str], None], names: Iterable[str]) -> None:
    """Call a function with every name. Several calls run at the same time. After the first failure, no further call
    begins.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        waiting = [pool.submit(work, name) for name in names]
        try:
            for each in waiting:
                each.result()
        except BaseException:  # interruptions too
            pool.shutdown(wait=True, cancel_futures=True)
            raise
