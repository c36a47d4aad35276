"""Durable writes and content hashes of files and folders."""

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BLOCK = 1 << 20


def file_sha256(path: Path) -> str:
    """Hash of a file's content, 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def folder_hashes(folder: Path) -> dict[str, str]:
    """Hash of every file below a folder by its relative path, in the order of the paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}


def folder_sizes(folder: Path) -> dict[str, int]:
    """Bytes of every file below a folder by its relative path, in the order of the paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder; files that disappear meanwhile are left out."""
    total = 0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue
    return total


def flush_folder(folder: Path) -> None:
    """Force everything below a folder onto the disk."""
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Replace a JSON file in one step: a reader sees the old content or the new, never a part."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with aside.open("w", encoding="utf-8") as stream:
            json.dump(value, stream, indent=2, allow_nan=False)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(path)
    except BaseException:  # interruptions too: no half-written file stays
        aside.unlink(missing_ok=True)
        raise
    flush_entry(path.parent)


def flush_entry(folder: Path) -> None:
    """Force a folder's list of names onto the disk, so that a rename in it survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reserve(path: Path) -> None:
    """Take all the space on the disk that a file's size promises.

    Writing to a memory map where there is none left ends the process without a word.

    Raises:
        OSError: there is not that much.
    """
    with path.open("r+b") as stream:
        os.posix_fallocate(stream.fileno(), 0, path.stat().st_size)


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file into a draft and leave it in scratch, so that a writer killed before publishing can do it again."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
