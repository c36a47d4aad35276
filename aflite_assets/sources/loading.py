"""From a source spec to one Arrow table per split, as the source has it; columns get their meaning in `raw_table`."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.results.files import file_sha256
from aflite_assets.sources.files import read_table_file
from aflite_assets.sources.images import IMAGE_SUFFIXES, IMAGE_TYPE
from aflite_assets.sources.source_specs import (
    CirclesSource,
    DigitsSource,
    FeatureFiles,
    FeatureSource,
    ImageFolderSource,
    SourceSpec,
    TableSource,
    as_tuple,
)
from aflite_assets.sources.synthetic import circles, digits, list_column


def content_fingerprint(source: SourceSpec) -> dict[str, str | int]:
    """How many files a source has, and one sha256 over their paths and contents; empty for one that needs no file.

    Raises:
        DataError: a file or folder is missing.
    """
    _require_files(source)
    hashes = [f"{path}\0{file_sha256(path)}" for path in source.files()]
    if not hashes:
        return {}
    return {"files": len(hashes), "sha256": hashlib.sha256("\n".join(hashes).encode()).hexdigest()}


def load_source(source: SourceSpec) -> dict[str, pa.Table]:
    """Every split of a source as a table with the source's own columns.

    Image folders give `image`, `label` (the folder's name) and `path`; feature files give `features`, `label` and
    optionally `group`.

    Raises:
        DataError: a file is missing or cannot be read as its format.
    """
    _require_files(source)
    match source:
        case CirclesSource():
            return circles(source)
        case DigitsSource():
            return digits(source)
        case FeatureSource():
            return {split: _feature_table(split, files) for split, files in source.splits.items()}
        case ImageFolderSource():
            return {split: _image_table(split, Path(folder)) for split, folder in source.splits.items()}
        case TableSource():
            return {split: _file_table(source, split, as_tuple(names)) for split, names in source.splits.items()}


def _require_files(source: SourceSpec) -> None:
    if isinstance(source, ImageFolderSource):
        for split, folder in source.splits.items():
            if not Path(folder).is_dir():
                raise DataError(f"split {split!r}: folder {folder!r} does not exist; correct the path in the spec")
    for path in source.files():
        if not path.is_file():
            raise DataError(f"file {str(path)!r} does not exist; correct the path in the spec")


def _file_table(source: TableSource, split: str, names: tuple[str, ...]) -> pa.Table:
    tables = [read_table_file(source, Path(name)) for name in names]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(
            f"split {split!r}: its files {list(names)} do not fit together ({error}); give them the same columns"
        ) from error


def _image_table(split: str, folder: Path) -> pa.Table:
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file())
    inside = [path.relative_to(folder) for path in paths]
    stray = [path for path in inside if len(path.parts) == 1]
    if stray or not paths:
        found = f"image {str(stray[0])!r} stands outside of them" if stray else "there is no image"
        raise DataError(
            f"split {split!r}: {str(folder)!r} must hold a folder of images per class, but {found} "
            f"(images end in {', '.join(sorted(IMAGE_SUFFIXES))})"
        )
    images = [{"bytes": None, "path": str(path), "sha256": file_sha256(path)} for path in paths]
    return pa.table(
        {
            "image": pa.array(images, IMAGE_TYPE),
            "label": [path.parts[0] for path in inside],
            "path": [path.as_posix() for path in inside],
        }
    )


def _feature_table(split: str, files: FeatureFiles) -> pa.Table:
    features = _array(split, files.features, dimensions=2)
    columns = {"label": _array(split, files.labels, dimensions=1)}
    if files.groups is not None:
        columns["group"] = _array(split, files.groups, dimensions=1)
    for name, values in columns.items():
        if len(values) != len(features):
            raise DataError(
                f"split {split!r}: {len(features)} feature rows but {len(values)} values of {name}; "
                "the files must list the same rows in the same order"
            )
    return pa.table({"features": list_column(features), **columns})


def _array(split: str, name: str, *, dimensions: int) -> np.ndarray:
    try:
        # Reads the .npy format only, and never a pickle.
        array = np.lib.format.open_memmap(name, mode="r")
    except ValueError as error:
        raise DataError(
            f"split {split!r}: {name!r} is no plain .npy file ({error}); save numbers, not objects"
        ) from error
    if array.ndim != dimensions or array.dtype.kind not in "biuf":
        raise DataError(
            f"split {split!r}: {name!r} holds {array.ndim} dimensions of {array.dtype}; "
            f"it must hold numbers in {dimensions} dimension{'s' if dimensions > 1 else ''}"
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)
