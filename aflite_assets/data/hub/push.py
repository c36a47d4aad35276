"""Upload of a published folder to a dataset repository on the hub, with checks of the repository and the token."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TypeVar

from aflite_assets.data.hub.errors import RepoRef, call_hub, hub_address, unreachable
from aflite_assets.errors import DataError, MissingDataError

Answer = TypeVar("Answer")

CARD = "README.md"
_TABLES = "data/"

TAG = "aflite"
"""Tag in the dataset card of a repository that a push created, which a later push may replace."""

_NOT_OURS = {".gitattributes", CARD}


@dataclass(frozen=True)
class Pushed:
    """The result of a push: the address of the repository's page and the commit."""

    page: str
    commit: str


def folder_files(folder: Path, published: Iterable[str]) -> dict[str, int]:
    """Return the size in bytes of each file to upload, by path: the dataset card and the tables in `published`.

    The manifest is left out because it contains paths of this machine. Files that were added to the folder after
    publication are left out too.
    """
    names = [CARD, *sorted(name for name in published if name.startswith(_TABLES))]
    return {name: (folder / name).stat().st_size for name in names}


def push_folder(folder: Path, files: Iterable[str], hub_id: str, *, public: bool, message: str) -> Pushed:
    """Upload the files from `folder_files` to a dataset repository in one commit.

    A new repository is private unless `public` is set. In an existing repository, the files of the earlier push are
    replaced. The token is HF_TOKEN or the token that `hf auth login` stored.

    Raises:
        DataError: there is no token with write access, the repository does not have the requested visibility or
            contains files that no push created, or the hub refuses the upload.
        MissingDataError: the hub cannot be reached.
    """
    from huggingface_hub import HfApi

    place = RepoRef("dataset", hub_id, "main")
    _require_token(place)
    there = _is_there(place, public=public)
    api = HfApi()

    def send() -> str:
        if not there:
            api.create_repo(hub_id, repo_type="dataset", private=not public)
        commit = api.upload_folder(
            repo_id=hub_id,
            repo_type="dataset",
            folder_path=folder,
            allow_patterns=[escape(name) for name in files],
            delete_patterns=[f"{_TABLES}**"],
            commit_message=message,
        )
        return str(commit.oid)

    return Pushed(place.page, call_hub(place, lambda: _worded(place, send), doing="the push"))


def _require_token(place: RepoRef) -> None:
    from huggingface_hub import constants, get_token

    if constants.HF_HUB_OFFLINE:
        raise DataError(f"{place}: nothing can be pushed because `HF_HUB_OFFLINE` is set; unset this variable")
    if get_token() is None:
        raise DataError(f"{place}: there is no token for the push; set `HF_TOKEN`, or log in with `hf auth login`")


def _is_there(place: RepoRef, *, public: bool) -> bool:
    """Return True if the repository exists, and raise an error if it was not created by a push.

    Raises:
        DataError: the repository does not have the requested visibility, or contains files that no push created.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    def ask() -> tuple[bool, set[str], list[str]] | None:
        try:
            info = HfApi().dataset_info(place.id)
        except RepositoryNotFoundError as error:
            if error.response.status_code == 401:
                raise  # the hub refused the token; without a token, no request was sent
            return None
        return bool(info.private), {file.rfilename for file in info.siblings or ()}, list(info.tags or ())

    found = call_hub(place, lambda: _worded(place, ask), doing="the push")
    if found is None:
        return False
    private, files, tags = found
    if private == public:
        was, option = ("private", "remove `--public`") if private else ("public", "add `--public`")
        raise DataError(
            f"{place} already exists and is {was}, but a push does not change the visibility; {option}, change the "
            f"visibility on {place.page}/settings, or name another id"
        )
    if files - _NOT_OURS and TAG not in tags:
        raise DataError(
            f"{place} contains files that `aflite push` did not create ({len(files)} files, and its card lacks the "
            f"tag {TAG!r}), and a push would delete the files in data/; name another id"
        )
    return True


def _worded(place: RepoRef, call: Callable[[], Answer]) -> Answer:
    """Return the result of `call`, and translate errors that are specific to uploads.

    `call_hub` translates all other errors.

    Raises:
        DataError: the token does not allow writing.
        MissingDataError: the hub cannot be reached.
    """
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return call()
    except HfHubHTTPError as error:
        if error.response.status_code != 403:
            raise
        refusal = DataError(
            f"{place}: the token may not write there; use one with write access to {place.id.split('/')[0]!r}, or "
            "name an id of your own account"
        )
    except Exception as error:  # the hub's client, httpx and sockets raise different errors if no server responds
        if not unreachable(error):
            raise
        refusal = MissingDataError(
            f"{place}: the hub at {hub_address()} cannot be reached ({type(error).__name__}); try again later"
        )
    # Raised outside of the handler, as in `call_hub`, because a chained library error would expose the token.
    raise refusal


__all__ = ["Pushed", "folder_files", "push_folder"]
