"""Functions that complete a folder before it gets its final name. The functions write the folder's manifest, flush the
folder to disk, and explain failures.
"""

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aflite_assets.errors import StoreError
from aflite_assets.results.files import file_sha256, flush_folder, folder_files, write_json
from aflite_assets.results.keys import ResultKey
from aflite_assets.results.manifests import content_version, environment, sealed, without_nan
from aflite_assets.results.records import MANIFEST, PublishedResult

_FULL = (errno.ENOSPC, errno.EDQUOT)
_OBSTACLES = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


@contextmanager
def whole_folder(path: Path, scratch: Path, *, ready: Path) -> Iterator[None]:
    """Create an empty folder `path`, which the block fills. After the block, flush the folder to disk and rename it to
    `ready`.

    After an error or an interruption, `path` is removed. `scratch` is kept if the block left a file in it.
    """
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    scratch.mkdir(exist_ok=True)
    try:
        yield
        flush_folder(path)
        ready.parent.mkdir()
        path.rename(ready)
    except BaseException:  # interruptions too: no half-written draft stays
        shutil.rmtree(path, ignore_errors=True)
        for folder in (scratch, scratch.parent):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        raise
    shutil.rmtree(scratch, ignore_errors=True)  # removing a file's other links changes its times


def write_manifest(
    folder: Path,
    wanted: PublishedResult,
    key: ResultKey,
    *,
    parts: Mapping[str, PublishedResult],
    summary: Mapping[str, Any],
    provenance: Mapping[str, Any],
) -> None:
    """Write the manifest of the result `wanted`, which was computed from `key`, into the folder with its files.

    Raises:
        ValueError: the manifest would be larger than a reader accepts.
    """
    paths = folder_files(folder)
    files = {name: file_sha256(path) for name, path in paths.items()}
    named = {name: {"key": part.key, "data_version": part.data_version} for name, part in parts.items()}
    manifest = sealed(
        {
            "asset": wanted.asset,
            "partition": wanted.partition,
            "key": wanted.key,
            "made_from": key.as_json(),
            "data_version": content_version(files, named),
            "files": files,
            "sizes": {name: path.stat().st_size for name, path in paths.items()},
            "parts": named,
            "summary": without_nan(summary),
            "provenance": provenance,
            "environment": environment(),
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
            "process": os.getpid(),
        }
    )
    write_json(folder / MANIFEST, manifest)


@contextmanager
def explain_obstacles(home: Path) -> Iterator[None]:
    """Raise an error with advice if the disk is full, or if another file or folder occupies a path that the store
    needs.

    Errors with another cause pass unchanged.
    """
    try:
        yield
    except OSError as error:
        name, named = f"{home.parent.name} of {home.name!r}", str(error.filename2 or error.filename)
        if error.errno in _FULL:
            raise StoreError(
                f"{name} was not published: no space is left for {home} ({error.strerror}); free some space, or set "
                "AFLITE_HOME to a folder on a larger disk, and try again"
            ) from error
        if error.errno in _OBSTACLES and named.startswith(f"{home}{os.sep}"):
            raise StoreError(
                f"{name} cannot be stored, because another file or folder has the path {named} ({error.strerror}); "
                "move it away and try again"
            ) from error
        raise
