"""Cleaned copies of image folders: a folder per class, or a flat folder with a label or metadata file."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from aflite_assets.data.formats.image_folders import image_table
from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.fixing.images import ImageChanges, changed_image
from aflite_assets.fixing.tables import TableChange, write_table
from aflite_assets.processors import available_cores
from aflite_assets.specs.sources import LabelledFolder, TableFormat

FILE_NAME = "file_name"
"""The column of a metadata file with the image paths, relative to the folder of the metadata file."""

LABELS = "labels.txt"


@dataclass(frozen=True)
class MetadataFolder:
    """A folder of images, and its file `metadata`, which has the format `form` and one row per image."""

    folder: Path
    metadata: Path
    form: TableFormat


@dataclass(frozen=True)
class CopiedImages:
    """Copied images of a split: the number of images written, and the paths of images that cannot be decoded."""

    written: int
    undecodable: tuple[str, ...]


def copy_folder(
    split: str,
    place: str | LabelledFolder,
    to: Path,
    changes: ImageChanges,
    *,
    rows: np.ndarray | None,
    rng: np.random.Generator,
) -> CopiedImages:
    """Copy the images of a split into the folder `to`; a flat folder gets a label file (`LABELS`) with its images.

    Args:
        split: the name of the split.
        place: the original folder, with a folder per class or a label file.
        to: a folder that does not exist yet.
        changes: the changes to every image.
        rows: positions of the kept images, in the order of their paths; None for all images.
        rng: random generator for new file names.

    Raises:
        DataError: the folder does not have the declared layout.
    """
    table = image_table(split, place)
    paths, labels = table["path"].to_pylist(), table["label"].to_pylist()
    kept = np.arange(len(paths)) if rows is None else rows
    folder = Path(place.folder if isinstance(place, LabelledFolder) else place)
    parents = {path: "" if isinstance(place, LabelledFolder) else PurePosixPath(path).parts[0] for path in paths}
    names = _new_names([paths[row] for row in kept.tolist()], parents, changes, rng)
    lost = _write_images(folder, to, names, changes)
    if isinstance(place, LabelledFolder):
        lines = [f"{names[paths[row]]}\t{labels[row]}\n" for row in kept.tolist() if paths[row] not in lost]
        (to / LABELS).write_text("".join(lines), encoding="utf-8")
    return CopiedImages(len(names) - len(lost), tuple(lost))


def copy_metadata_folder(
    place: MetadataFolder,
    to: Path,
    changes: ImageChanges,
    table: TableChange,
    *,
    rng: np.random.Generator,
) -> CopiedImages:
    """Copy the images listed in the metadata file, and write a metadata file with the new names.

    Images that are not listed are left out.

    Raises:
        DataError: the metadata file does not match its declared format, or cannot be written in this format.
    """
    read = read_table_file(place.form, place.metadata)
    rows = np.arange(read.num_rows) if table.rows is None else table.rows
    paths = read[FILE_NAME].to_pylist()
    kept = [paths[row] for row in rows.tolist()]
    names = _new_names(list(dict.fromkeys(kept)), dict.fromkeys(kept, ""), changes, rng)
    lost = set(_write_images(place.folder, to, names, changes))
    rows = np.array([row for row in rows.tolist() if paths[row] not in lost], dtype=np.int64)
    renamed: Mapping[str, Callable[[str], str]] = {FILE_NAME: lambda name: names.get(name, name)}
    change = TableChange({**table.texts, **renamed}, table.dropped, rows, table.weights)
    write_table(place.form, [place.metadata], to / place.metadata.name, change)
    return CopiedImages(len(names) - len(lost), tuple(sorted(lost)))


def _new_names(
    paths: Sequence[str], parents: Mapping[str, str], changes: ImageChanges, rng: np.random.Generator
) -> dict[str, str]:
    """Return a new path for each image; no two images share a path.

    `parents`: for each image, the folder of its new path if the image is renamed.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    digits = len(str(max(len(paths) - 1, 0)))
    for path, number in zip(paths, rng.permutation(len(paths)).tolist(), strict=True):
        old = PurePosixPath(path)
        suffix = changes.extension or old.suffix
        new = PurePosixPath(parents[path], f"{number:0{digits}}{suffix}") if changes.is_renamed else old
        new = new.with_suffix(suffix)
        while str(new) in taken:  # 1.png and 1.jpg would get the same name
            new = new.with_name(f"{new.stem}_{old.suffix.removeprefix('.')}{suffix}")
        taken.add(str(new))
        names[path] = str(new)
    return names


def _write_images(folder: Path, to: Path, names: Mapping[str, str], changes: ImageChanges) -> list[str]:
    """Write the images under their new names. The function leaves out images that cannot be decoded, and returns the
    paths of these images.
    """
    for parent in {str(PurePosixPath(name).parent) for name in names.values()} | {"."}:
        (to / parent).mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), ThreadPoolExecutor(available_cores()) as pool:
        warnings.simplefilter("ignore")  # Pillow warns about unusual but readable files
        written = pool.map(partial(_write_image, folder, to, changes), names.items(), chunksize=16)
        return [path for path, is_written in zip(names, written, strict=True) if not is_written]


def _write_image(folder: Path, to: Path, changes: ImageChanges, name: tuple[str, str]) -> bool:
    content = changed_image((folder / name[0]).read_bytes(), changes)
    if content is None:
        return False
    (to / name[1]).write_bytes(content)
    return True
