"""Records of the source files that a result was made from, stored with the key so that a change can be named.

`content_hashes` determines the files of a key, and `refresh` reports later changes.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NotRequired, TypedDict

from aflite_assets.results.file_hashes import HashedFile


class FileRecord(TypedDict):
    """The record of a file, or of all `files` of a folder."""

    files: NotRequired[int]
    bytes: int
    sha256: str


MOST_FILES = 1000
"""Most files with records of their own; with more, a result has one record per folder."""

OWN_RECORDS = ("source", "annotations", "challenge_sets")
"""Fields whose content is one hash over many files, so that records of the files are stored with the key."""


def file_records(files: Mapping[str, Sequence[HashedFile]]) -> dict[str, dict[str, FileRecord]]:
    """Return, by field, the records of files: `bytes` and `sha256` by path; with over `MOST_FILES`, one record per
    folder.
    """
    return {field: records(files[field]) for field in OWN_RECORDS if files.get(field)}


def records(files: Sequence[HashedFile], *, folded: bool | None = None) -> dict[str, FileRecord]:
    """Return `bytes` and `sha256` by path, or by folder if `folded`, which is the default with over `MOST_FILES`."""
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
