"""Records of each source file when a result was made from it, kept beside the key so that a change can be named.

Which files a key is made from is in `content_hashes`; what changed since is told by `refresh`.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NotRequired, TypedDict

from aflite_assets.results.file_hashes import HashedFile


class FileRecord(TypedDict):
    """Record of what a file was, or all the `files` of a folder."""

    files: NotRequired[int]
    bytes: int
    sha256: str


MOST_FILES = 1000
"""Most files with records of their own; of more a result keeps one record per folder."""

OWN_RECORDS = ("source", "annotations", "challenge_sets")
"""Fields whose content is one hash over many files, so that what each file was is kept beside the key."""


def file_records(files: Mapping[str, Sequence[HashedFile]]) -> dict[str, dict[str, FileRecord]]:
    """By field what each file was, `bytes` and `sha256` by path; of over `MOST_FILES` one record per folder."""
    return {field: records(files[field]) for field in OWN_RECORDS if files.get(field)}


def records(files: Sequence[HashedFile], *, folded: bool | None = None) -> dict[str, FileRecord]:
    """`bytes` and `sha256` by path, or by folder where `folded`; default: where there are over `MOST_FILES`."""
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
