"""Loading of datasets from the Hugging Face hub: resolution of commits, and splits as tables.

Code from the hub is never run.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

import pyarrow as pa

from aflite_assets.data.hub.cache import (
    joined,
    part_folder,
    read_cache,
    remember_commit,
    remembered_commit,
    write_cache,
)
from aflite_assets.data.hub.calls import Asking, asking, in_time, shared_deadline
from aflite_assets.data.hub.columns import ColumnForm
from aflite_assets.data.hub.errors import RepoRef, call_hub, translate_error, unreachable
from aflite_assets.data.hub.files import file_tables, hub_file
from aflite_assets.data.hub.repository import HubRepository, commit_on_hub
from aflite_assets.data.hub.splits import HubSplits
from aflite_assets.errors import MissingDataError
from aflite_assets.specs.sources import HubSource, as_tuple

_COMMIT = re.compile(r"[0-9a-f]{40}")
_MAIN = "main"


def load_hub(source: HubSource, *, rows: int | None = None) -> dict[str, pa.Table]:
    """Load every split of a hub dataset, with the dataset's own columns.

    Class numbers become class names unless the source sets `class_numbers`; a number without a name becomes text
    ("-1"). Images become struct<bytes, path>. CSV and JSON are read as written, even for the hub's own splits: CSV
    values are text, regardless of types in the dataset card.

    Rows are memory-mapped from a cache in HF_HOME, with one copy per commit. Data that were loaded once need no
    network. With `rows`, only the first rows of each split are fetched, and no row is cached.

    Raises:
        MissingDataError: the dataset is not in the cache, and the hub cannot be reached or denies access to a gated
            dataset.
        DataError: the hub has no such dataset, revision, configuration, split or file, the dataset needs its own code,
            a file is damaged, or parts of a split have incompatible columns.
    """
    place = _place(source)
    repository = HubRepository(place, source_commit(source))
    reader = _HubReader(repository, source)
    with _quiet(rows is not None):
        return {
            split: joined(
                [reader.part(name, rows=rows) for name in as_tuple(names)],
                what=f"split {split!r}: {list(as_tuple(names))} of {place}",
            ).slice(0, rows)
            for split, names in source.splits.items()
        }


def source_commit(source: HubSource) -> str:
    """Return the commit (40 hexadecimal digits) to which a source currently refers.

    If the source sets `newest`, the hub is always called. If the source does not set `newest`, or if there is no
    network, the last known commit of a tag or branch is returned.

    Raises:
        DataError: raised for the same reasons as in `resolve_commit`.
    """
    place = _place(source)
    return _resolve(place, cached=not source.newest)


def resolve_commit(
    repo_id: str, revision: str | None, *, kind: Literal["dataset", "model"], token: str | None = None
) -> str:
    """Return the commit (40 hexadecimal digits) of a revision, by default of the branch main.

    A full commit hash is returned unchanged, without a request. Without a network, a tag or branch resolves to its last
    known commit. The last known commit of a dataset is the commit at the last request; that of a model is the commit at
    the last download.

    Raises:
        MissingDataError: the hub cannot be reached, and no commit is known from an earlier request.
        DataError: the hub has no such dataset or revision.
        ModelError: `kind` is 'model', and one of the errors above occurred.
    """
    return _resolve(RepoRef(kind, repo_id, revision or _MAIN, token), cached=True)


def check_available(source: HubSource) -> None:
    """Raise an error if a source is neither cached nor available on the hub; nothing is downloaded.

    Raises:
        MissingDataError: the hub cannot be reached, or denies access to a gated dataset.
        DataError: the hub has no such dataset or revision.
    """
    repository = HubRepository(_place(source), source_commit(source))
    reader = _HubReader(repository, source)
    if not all(reader.is_kept(name) for names in source.splits.values() for name in as_tuple(names)):
        call_hub(repository.place, lambda: in_time(repository.check_reachable), doing="requesting it from the hub")


def row_counts(source: HubSource) -> dict[str, int] | None:
    """Return the number of rows per split, from the cache or the dataset card, or None if neither contains these
    numbers.

    Raises:
        DataError: raised for the same reasons as in `load_hub`.
    """
    reader = _HubReader(HubRepository(_place(source), source_commit(source)), source)
    counts = {split: [reader.count(name) for name in as_tuple(names)] for split, names in source.splits.items()}
    if any(None in parts for parts in counts.values()):
        return None
    return {split: sum(count for count in parts if count is not None) for split, parts in counts.items()}


class _HubReader:
    """A reader of splits and files at one commit, from the cache or, if the hub is reachable, from the hub."""

    def __init__(self, repository: HubRepository, source: HubSource) -> None:
        self._repository = repository
        self._source = source
        self._splits = HubSplits(repository, source.config, source.class_numbers)
        self._reached = False

    def part(self, name: str, *, rows: int | None) -> pa.Table:
        folder = self._folder(name)
        table = read_cache(folder)
        if table is not None:
            return table
        self._reach()
        doing = f"reading {name!r} at commit {self._repository.commit}"
        if rows is not None:
            return joined(
                call_hub(self._repository.place, lambda: list(self._tables(name, rows)), doing=doing), what=repr(name)
            )
        call_hub(self._repository.place, lambda: write_cache(folder, lambda: self._tables(name, None)), doing=doing)
        made = read_cache(folder)
        assert made is not None
        return made

    def is_kept(self, name: str) -> bool:
        return self._folder(name).is_dir()

    def count(self, name: str) -> int | None:
        table = read_cache(self._folder(name))
        if table is not None:
            return int(table.num_rows)
        if "." in name:
            return None
        self._reach()
        counts = call_hub(self._repository.place, self._splits.row_counts, doing="reading the dataset's card")
        return (counts or {}).get(name)

    def _folder(self, name: str) -> Path:
        source = self._source
        return part_folder(
            source.id, self._repository.commit, name=name, config=source.config, class_numbers=source.class_numbers
        )

    def _tables(self, name: str, rows: int | None) -> Iterator[pa.Table]:
        if "." not in name:
            return self._splits.tables(name, rows=rows)
        columns = ColumnForm(class_numbers=self._source.class_numbers)
        files = [hub_file(self._repository, path, columns=columns) for path in self._repository.matching(name)]
        return file_tables(files, rows=rows)

    def _reach(self) -> None:
        """Check that the hub is reachable, with requests that are not retried.

        The hub's libraries would retry their own requests for minutes.
        """
        if not self._reached:
            call_hub(self._repository.place, self._repository.check_reachable, doing="requesting it from the hub")
            self._reached = True


@lru_cache(maxsize=256)
def model_commit(repo_id: str, revision: str | None) -> str:
    """Return the commit of a model, resolved once per process, so that result keys contain the commit that is loaded.

    Raises:
        ModelError: raised for the same reasons as in `resolve_commit`.
    """
    return resolve_commit(repo_id, revision, kind="model")


@contextmanager
def asked_anew(*, seconds: float = 15.0) -> Iterator[Asking]:
    """Within the `with` block, request every commit from the hub again; `seconds` limits the time of all requests
    together.

    If the hub does not answer, the last known commit is used, and `Asking.unanswered` contains the repository. After
    the block, commits of models stay fixed for this process, so that keys contain the commit of the loaded model.
    """
    model_commit.cache_clear()
    with shared_deadline(seconds) as look:
        yield look


def _place(source: HubSource) -> RepoRef:
    token = None if source.token is None else source.token.get_secret_value()
    return RepoRef("dataset", source.id, source.revision or _MAIN, token)


def _resolve(place: RepoRef, *, cached: bool) -> str:
    if _COMMIT.fullmatch(place.revision):
        return place.revision
    known = None
    try:
        commit = _commit(place)
    except Exception as error:  # many types; translated and raised below, unless an older commit is known
        known = _known_commit(place) if unreachable(error) else None
        refusal = translate_error(place, error, doing=f"resolving revision {place.revision!r} on the hub")
    else:
        if place.kind == "dataset":
            remember_commit(place.id, place.revision, commit)
        return commit
    if known is None:
        raise refusal
    if not cached:
        unanswered = MissingDataError(
            f"{refusal}, or set `revision: {known}` (the last known commit) and `newest: false`"
        )
        unanswered.may_pass = refusal.may_pass
        raise unanswered
    look = asking()
    if look is not None:
        look.unanswered[str(place)] = str(refusal)
    return known


def _commit(place: RepoRef) -> str:
    look = asking()
    answers = {} if look is None else look.answers
    if place not in answers:
        answers[place] = in_time(lambda: commit_on_hub(place, place.revision))
    return answers[place]


def _known_commit(place: RepoRef) -> str | None:
    if place.kind == "dataset":
        return remembered_commit(place.id, place.revision)
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=place.id, repo_type="model")
    reference = folder / "refs" / place.revision
    commit = reference.read_text(encoding="ascii").strip() if reference.is_file() else None
    return commit if commit is not None and (folder / "snapshots" / commit).is_dir() else None


@contextmanager
def _quiet(wanted: bool) -> Iterator[None]:
    """Disable progress bars, which are useless if only a few rows are read."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if not wanted or are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
