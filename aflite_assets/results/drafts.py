"""Drafts: the files of a result while a writer makes them, and the manifest that a writer's result gets.

<root>/<asset>/<partition>/.work/<key>/      draft/ is never read; scratch/ is for writers that resume; ready/ is whole
                                             and only not published yet
"""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from aflite_assets.results.backend import Log
from aflite_assets.results.damage import Damage
from aflite_assets.results.files import flush_folder, folder_hashes, folder_sizes, write_json
from aflite_assets.results.keys import ResultKey
from aflite_assets.results.manifests import content_version, environment, sealed, without_nan
from aflite_assets.results.records import MANIFEST, PublishedResult

Summary = Mapping[str, Any]
Write = Callable[["Draft"], Summary]


@dataclass(frozen=True)
class StoredResult:
    """A result, and whether it was found (`cached`) or made; `damage`: that of the one that it replaced, if any."""

    result: PublishedResult
    cached: bool
    damage: Damage | None = None


class PartStore(Protocol):
    """What a draft asks of its store; see `ResultStore`."""

    @property
    def root(self) -> Path:
        """The folder of this machine."""

    def get_or_create_part(self, asset: str, partition: str, key: ResultKey, write: Write, *, log: Log) -> StoredResult:
        """Return the part of a key: found, or made and published."""

    def find_part_or_set_aside(self, asset: str, partition: str, key: ResultKey, *, log: Log) -> PublishedResult | None:
        """Return the published part of a key, or None."""


@dataclass
class Draft:
    """Draft that a writer fills: files in `path` are published; `scratch` outlives a killed writer of the same key."""

    store: PartStore
    asset: str
    partition: str
    key: ResultKey
    path: Path
    scratch: Path
    log: Log
    provenance: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, PublishedResult] = field(default_factory=dict)

    @property
    def target(self) -> Path:
        """Where a result, other than a part, will stand once it is published."""
        return self.store.root / self.asset / self.partition / self.key.digest

    def part(self, name: str, key: ResultKey, write: Write) -> StoredResult:
        """Add a part with a key of its own: found if it was published before, made and published now if not."""
        obtained = self.store.get_or_create_part(self.asset, self.partition, key, write, log=self.log)
        self.parts[name] = obtained.result
        return obtained

    def add_published_part(self, name: str, key: ResultKey) -> PublishedResult | None:
        """Add a part that was published before, and return it; None if there is none."""
        part = self.store.find_part_or_set_aside(self.asset, self.partition, key, log=self.log)
        if part is not None:
            self.parts[name] = part
        return part

    def order_parts(self, names: Iterable[str]) -> None:
        """Put the parts into this order, in whichever they were made by several threads; others stay before them."""
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        self.parts = dict(sorted(self.parts.items(), key=lambda item: places.get(item[0], -1)))


def write_result(draft: Draft, write: Write, ready: Path) -> None:
    """Have a writer fill a draft, and make of it a folder that is whole, with its manifest, at `ready`."""
    shutil.rmtree(draft.path, ignore_errors=True)
    draft.path.mkdir(parents=True)
    draft.scratch.mkdir(exist_ok=True)
    try:
        summary = write(draft)
        write_json(draft.path / MANIFEST, _manifest(draft, summary))
        flush_folder(draft.path)
        ready.parent.mkdir()
        draft.path.rename(ready)
    except BaseException:  # interruptions too: no half-written draft stays
        _discard(draft)
        raise
    shutil.rmtree(draft.scratch, ignore_errors=True)  # removing a file's other links changes its times


def _discard(draft: Draft) -> None:
    shutil.rmtree(draft.path, ignore_errors=True)
    for folder in (draft.scratch, draft.scratch.parent):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _manifest(draft: Draft, summary: Summary) -> dict[str, Any]:
    files = folder_hashes(draft.path)
    parts = {name: {"key": part.key, "data_version": part.data_version} for name, part in draft.parts.items()}
    return sealed(
        {
            "asset": draft.asset,
            "partition": draft.partition,
            "key": draft.key.digest,
            "made_from": draft.key.as_json(),
            "data_version": content_version(files, parts),
            "files": files,
            "sizes": folder_sizes(draft.path),
            "parts": parts,
            "summary": without_nan(summary),
            "provenance": draft.provenance,
            "environment": environment(),
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
            "process": os.getpid(),
        }
    )
