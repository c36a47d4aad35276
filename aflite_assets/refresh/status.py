"""How one dataset stands: its stages in letters, when it was last looked at and last made, its size on the disk."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aflite_assets.errors import StoreError
from aflite_assets.refresh.plan import DatasetPlan, StagePlan
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore

LETTERS: Mapping[str, str] = {
    "F": "found",
    "f": "found, not current",
    "M": "to be made",
    "a": "depends on a stage before it",
    "w": "waits for a file",
    "R": "refused",
    ".": "never made",
}
"""A stage's state in one letter."""


@dataclass(frozen=True)
class DatasetStatus:
    """One dataset's line: `letters` a letter per stage in order, times in UTC or None, `size` in bytes."""

    dataset: str
    letters: str
    looked: datetime | None
    made: datetime | None
    size: int


def dataset_status(plan: DatasetPlan, store: ResultStore, state: RefreshState) -> DatasetStatus:
    """How a planned dataset stands.

    Raises:
        StoreError: the notes about refreshes cannot be read.
    """
    look = state.last_look(plan.dataset)
    made = [time for stage in plan.stages if (time := _published(store, stage)) is not None]
    return DatasetStatus(
        plan.dataset,
        "".join(_letter(stage) for stage in plan.stages),
        None if look is None else look.at,
        max(made, default=None),
        sum(folder_size(folder) for folder in store.root.glob(f"*/{plan.dataset}") if folder.is_dir()),
    )


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder; those that go while they are counted are left out."""
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


def _letter(stage: StagePlan) -> str:
    if stage.state == "found":
        return "F" if stage.current else "f"
    if not stage.made_before and stage.state != "refused":
        return "."
    return {"made": "M", "after": "a", "waiting": "w", "refused": "R"}[stage.state]


def _published(store: ResultStore, stage: StagePlan) -> datetime | None:
    if not stage.made_before:
        return None
    try:
        return datetime.fromisoformat(store.current(stage.stage, stage.dataset).manifest["published"])
    except (StoreError, FileNotFoundError):
        return None
