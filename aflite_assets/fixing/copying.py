"""Cleaned copies of a source in a new folder. All splits get the same changes, and a YAML file is added."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aflite_assets.errors import DataError
from aflite_assets.fixing.feature_files import copy_features
from aflite_assets.fixing.folders import LABELS, CopiedImages, MetadataFolder, copy_folder, copy_metadata_folder
from aflite_assets.fixing.plan import Changes, Origin
from aflite_assets.fixing.tables import TableChange, write_table
from aflite_assets.fixing.weighting import WEIGHT_COLUMN
from aflite_assets.results.files import flush_folder
from aflite_assets.specs.sources import FeatureSource, ImageFolderSource, LabelledFolder, TableSource, as_tuple
from aflite_assets.wording import counted, quoted_list


@dataclass(frozen=True)
class WrittenCopy:
    """A copy that was written.

    `source`: new keys for the section `source` of the YAML file. `phrases`: sentences that state what the copy leaves
    out.
    """

    source: Mapping[str, object]
    phrases: tuple[str, ...]


def require_free(to: Path) -> None:
    """Check that the folder `to` does not exist or is empty.

    Raises:
        DataError: `to` exists and is not an empty folder.
    """
    if to.is_symlink() or (to.exists() and not (to.is_dir() and not any(to.iterdir()))):
        raise DataError(f"`--to` is {str(to)!r}, which exists and is not an empty folder; name a new folder")


def require_outside(to: Path, origin: Origin) -> None:
    """Check that the folder `to` lies outside of the source's image folders.

    A copy inside an image folder would become part of the original.

    Raises:
        DataError: `to` lies below a folder of the source.
    """
    match origin.source:
        case ImageFolderSource():
            folders = origin.source.folders()
        case MetadataFolder():
            folders = [origin.source.folder]
        case _:
            folders = []
    for folder in folders:
        if to.resolve().is_relative_to(folder.resolve()):
            raise DataError(
                f"`--to` is {str(to)!r}, which lies inside the image folder {str(folder)!r}; name a folder outside the "
                "image folder"
            )


@contextmanager
def new_folder(to: Path) -> Iterator[Path]:
    """Yield a temporary folder; rename it to `to` at the end, or delete it if an exception is raised.

    Raises:
        DataError: `to` exists and is not an empty folder, or its parent folder is not writable.
    """
    require_free(to)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{to.name}.", dir=to.parent))
    except OSError as error:
        raise DataError(
            f"`--to` is {str(to)!r}, which cannot be written ({error.strerror}); name another folder"
        ) from error
    try:
        yield aside
        flush_folder(aside)
        aside.chmod(0o755)  # temporary folders are readable only by the owner
        aside.replace(to)
    except OSError as error:
        where = error.filename or str(to)
        raise DataError(
            f"the cleaned copy cannot be written to {str(to)!r} ({error.strerror}: {where}); check that the disk has "
            "free space and that the original files can be read, or name another folder"
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_copy(origin: Origin, changes: Changes, to: Path, *, seed: int) -> WrittenCopy:
    """Write the changed source into the existing folder `to`.

    `seed`: seed for the random new file names of images.

    Raises:
        DataError: the original does not match its declared format, or the format cannot represent the changed rows.
    """
    match origin.source:
        case TableSource():
            return _copy_tables(origin.source, changes, to)
        case ImageFolderSource():
            return _copy_folders(origin.source, changes, to, seed=seed)
        case FeatureSource():
            return _copy_features(origin.source, changes, to)
        case MetadataFolder():
            return _copy_metadata(origin, origin.source, changes, to, seed=seed)


def _copy_tables(source: TableSource, changes: Changes, to: Path) -> WrittenCopy:
    splits: dict[str, object] = {}
    taken: set[str] = set()
    for split, names in source.splits.items():
        paths = [Path(name) for name in as_tuple(names)]
        change = _table_change(changes, split)
        # Shuffled or weighted rows span all files of a split, so these files are joined into one file.
        is_one = change.rows is not None or change.weights is not None
        parts = [paths] if is_one else [[path] for path in paths]
        written = [_free_name(part[0], split, taken) for part in parts]
        for part, name in zip(parts, written, strict=True):
            write_table(source, part, to / name, change)
        splits[split] = written[0] if len(written) == 1 else written
    new: dict[str, object] = {"splits": splits}
    if source.images is not None:
        new["images"] = source.images
    if source.names is not None and (changes.dropped or changes.weights is not None):
        left = [name for name in source.names if name not in changes.dropped]
        new["names"] = left if changes.weights is None else [*left, WEIGHT_COLUMN]
    return WrittenCopy(new, ())


def _table_change(changes: Changes, split: str) -> TableChange:
    rows, weights = (None if given is None else given[split] for given in (changes.rows, changes.weights))
    return TableChange(changes.texts, frozenset(changes.dropped), rows, weights)


def _free_name(path: Path, split: str, taken: set[str]) -> str:
    """Return the name of the file for the copy. If another file has the same name, the split and a number are added."""
    name, number = path.name, 1
    while name in taken:
        number += 1
        name = f"{split}_{number}_{path.name}"
    taken.add(name)
    return name


def _copy_folders(source: ImageFolderSource, changes: Changes, to: Path, *, seed: int) -> WrittenCopy:
    splits: dict[str, object] = {}
    phrases: list[str] = []
    for number, (split, place) in enumerate(source.splits.items()):
        rows = None if changes.rows is None else changes.rows[split]
        rng = np.random.default_rng([seed, 4, number])
        done = copy_folder(split, place, to / split, changes.images, rows=rows, rng=rng)
        phrases += _left_out(done)
        is_flat = isinstance(place, LabelledFolder)
        splits[split] = {"folder": split, "labels": f"{split}/{LABELS}"} if is_flat else split
    return WrittenCopy({"splits": splits}, tuple(phrases))


def _copy_features(source: FeatureSource, changes: Changes, to: Path) -> WrittenCopy:
    splits = {}
    for split, files in source.splits.items():
        change = _table_change(changes, split)
        splits[split] = copy_features(
            split, files, to, dropped=changes.dropped, rows=change.rows, weights=change.weights
        )
    return WrittenCopy({"splits": splits}, ())


def _copy_metadata(origin: Origin, source: MetadataFolder, changes: Changes, to: Path, *, seed: int) -> WrittenCopy:
    (split,) = origin.source_rows
    table = _table_change(changes, split)
    done = copy_metadata_folder(source, to / "images", changes.images, table, rng=np.random.default_rng([seed, 4, 0]))
    return WrittenCopy({}, tuple(_left_out(done)))


def _left_out(done: CopiedImages) -> list[str]:
    if not done.undecodable:
        return []
    names = quoted_list(done.undecodable, most=3, length=60)
    return [f"{counted(len(done.undecodable), 'image')} that cannot be decoded left out: {names}."]
