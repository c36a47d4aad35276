"""A dataset repository at one commit: finding, downloading and opening its files.

The modules `files` and `splits` read the contents of the files.
"""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from glob import has_magic
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from aflite_assets.data.hub.errors import RepoRef
from aflite_assets.errors import DataError
from aflite_assets.wording import did_you_mean

ANSWER_SECONDS = 5
"""Seconds after which the hub counts as unreachable if it has not answered the first request."""

_DOWNLOADS_AT_ONCE = 8
_LONGEST_ADDRESS = 4096


@dataclass(frozen=True)
class HubRepository:
    """A dataset repository at one commit.

    The methods raise the errors of `huggingface_hub`, so call the methods through `errors.call_hub`.
    """

    place: RepoRef
    commit: str

    @property
    def address(self) -> str:
        """Address of the repository's root in the hub's file system."""
        return f"hf://datasets/{self.place.id}@{self.commit}/"

    @property
    def snapshot(self) -> Path:
        """Folder in which the hub's cache stores the downloaded files under their names in the repository."""
        from huggingface_hub import constants
        from huggingface_hub.file_download import repo_folder_name

        folder = repo_folder_name(repo_id=self.place.id, repo_type="dataset")
        return Path(constants.HF_HUB_CACHE).absolute() / folder / "snapshots" / self.commit

    def check_reachable(self) -> None:
        """Send two requests without retries; they fail if the repository, commit or files are unavailable."""
        from huggingface_hub import HfApi
        from huggingface_hub.errors import GatedRepoError, HfHubHTTPError

        commit_on_hub(self.place, self.commit)
        try:
            HfApi().auth_check(self.place.id, repo_type="dataset", token=self.place.token)
        except GatedRepoError:
            raise
        except HfHubHTTPError:
            return  # Mirrors of the hub lack this endpoint; the following requests will raise a specific error.

    def has(self, path: str) -> bool:
        """Return True if the repository has this file."""
        from huggingface_hub import HfApi

        entries = HfApi().get_paths_info(
            self.place.id, [path], repo_type="dataset", revision=self.commit, token=self.place.token
        )
        return any(hasattr(entry, "blob_id") for entry in entries)

    def matching(self, pattern: str) -> list[str]:
        """Return the files that match a name or pattern, sorted.

        Raises:
            DataError: no file matches.
        """
        if not has_magic(pattern):
            files = [pattern] if self.has(pattern) else []
        else:
            root = self.address.removeprefix("hf://")
            entries = self.file_system().glob(root + pattern, detail=True)
            files = sorted(name.removeprefix(root) for name, entry in entries.items() if entry["type"] == "file")
        if not files:
            known = self._some_files()
            raise DataError(
                f"{self.place}: no file matches {pattern!r} at commit {self.commit} (the files are {known[:20]})"
                + (did_you_mean(pattern, known) or "; correct `source.splits`")
            )
        return files

    def download(self, paths: Iterable[str]) -> list[Path]:
        """Return the paths of the files in the hub's cache; missing files are downloaded first."""
        with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE) as pool:
            return list(pool.map(self._download, paths))

    def open(self, path: str) -> Any:
        """Open a file on the hub for reading; only the requested parts are downloaded, and nothing is cached."""
        return self.file_system().open(self.address.removeprefix("hf://") + path, "rb")

    def file_system(self) -> Any:
        """Return the hub as an fsspec file system."""
        from huggingface_hub import HfFileSystem

        return HfFileSystem(token=self.place.token, skip_instance_cache=True)

    def holds(self, address: str) -> bool:
        """Return True if an address from a row refers to a file of this repository, on the hub or downloaded.

        Rows of a malicious dataset can name any file on the computer. In an address with several parts (`zip://a::b`),
        each part is opened inside the file that the following parts name. The last part of an address must be a file of
        the repository, and all other parts must be members of zip archives. Names that a library would decode, expand
        or redirect are refused.
        """
        *members, file = address.split("::")
        if (
            len(address) > _LONGEST_ADDRESS
            or "\0" in address
            or ("*" in address and (members or not file.startswith("/")))
        ):
            return False
        return all(map(_is_zip_member, members)) and self._is_own(file)

    def _is_own(self, file: str) -> bool:
        if file.startswith(self.address):
            return _is_plain(file.removeprefix(self.address))
        folder = f"{self.snapshot}{os.sep}"
        return file.startswith(folder) and _is_plain(file.removeprefix(folder)) and self._stays_inside(Path(file))

    def _stays_inside(self, file: Path) -> bool:
        """Return True if the path is inside the repository's cache folder after links are resolved."""
        try:
            return file.resolve().is_relative_to(self.snapshot.parents[1].resolve())
        except (OSError, RuntimeError):  # for example, a link to itself
            return False

    def _download(self, path: str) -> Path:
        from huggingface_hub import hf_hub_download

        place = self.place
        return Path(
            hf_hub_download(place.id, path, repo_type="dataset", revision=self.commit, token=place.token)
        ).absolute()

    def _some_files(self) -> list[str]:
        from huggingface_hub import HfApi

        tree = HfApi().list_repo_tree(
            self.place.id, recursive=True, repo_type="dataset", revision=self.commit, token=self.place.token
        )
        return [entry.path for entry in islice(tree, 1000) if hasattr(entry, "blob_id")]


def _is_zip_member(step: str) -> bool:
    return step.startswith("zip://") and _is_plain(step.removeprefix("zip://"))


def _is_plain(name: str) -> bool:
    """Return True if a name is not empty and contains neither `://` nor `..`. Percent-encoded characters are decoded
    first.
    """
    decoded = name
    while (further := unquote(decoded)) != decoded:
        decoded = further
    parts = decoded.replace("\\", "/").split("/")
    return bool(name.strip("/")) and "://" not in decoded and ".." not in parts


def commit_on_hub(place: RepoRef, revision: str) -> str:
    """Return the current commit of a revision, using one request without retries."""
    from huggingface_hub import HfApi

    ask_info = HfApi().dataset_info if place.kind == "dataset" else HfApi().model_info
    info = ask_info(place.id, revision=revision, timeout=ANSWER_SECONDS, expand=["sha"], token=place.token)
    if info.sha is None:
        raise ConnectionError(
            f"{place.page} returns no commit, so the server does not seem to be a hub; check `HF_ENDPOINT`"
        )
    return info.sha
