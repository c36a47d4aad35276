"""Records of the source files that a result was made from, stored with the result's key.

Messages use these records to name a source file that changed. `content_hashes` determines which files a key covers, and
`refresh` reports later changes of these files.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NotRequired, TypedDict

from aflite_assets.results.file_hashes import HashedFile


class FileRecord(TypedDict):
    """The record of one file, or of a folder with `files` files."""

    files: NotRequired[int]
    bytes: int
    sha256: str


MOST_FILES = 1000
"""Largest number of files that get records of their own; a result with more files has one record per folder."""

OWN_RECORDS = ("source", "annotations", "challenge_sets")
"""Fields with one content hash over many files; the records of the single files are stored with the key."""


def file_records(files: Mapping[str, Sequence[HashedFile]]) -> dict[str, dict[str, FileRecord]]:
    """Return the records of the source files by field and path: size (`bytes`) and `sha256`.

    A field with more than `MOST_FILES` files has one record per folder.
    """
    return {field: records(files[field]) for field in OWN_RECORDS if files.get(field)}


def records(files: Sequence[HashedFile], *, folded: bool | None = None) -> dict[str, FileRecord]:
    """Return the size (`bytes`) and `sha256` of each file, or of each folder if `folded` is True, by path.

    By default, `folded` is True if there are more than `MOST_FILES` files.
    """
    if not (len(files) > MOST_FILES if folded is None else folded):
        return {str(file.path): {"bytes": file.mark.size, "sha256": file.sha256} for file in files}
    records: dict[str, FileRecord] = {}
    by_folder = sorted(files, key=lambda file: str(file.path.parent))
    for folder, group in groupby(by_folder, key=lambda file: str(file.path.parent)):
        members = sorted(group, key=lambda file: file.path.name)
        digest = hashlib.sha256("\n".join(f"{file.path.name}\0{file.sha256}" for file in members).encode())
        records[folder] = {
            "files": len(members),
            "bytes": sum(file.mark.size for file in members),
            "sha256": digest.hexdigest(),
        }
    return records
