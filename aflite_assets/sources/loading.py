"""From a source spec to one Arrow table per split, as the source has it; columns get their meaning in `raw_table`."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.home import cache_folder
from aflite_assets.results.files import file_sha256
from aflite_assets.sources.images import IMAGE_TYPE
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


def content_fingerprint(source: SourceSpec) -> dict[str, str]:
    """sha256 of every file of a source by its path; empty for sources that need no file.

    Raises:
        DataError: a file or folder is missing.
    """
    _require_files(source)
    return {str(path): file_sha256(path) for path in source.files()}


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
    options: dict[str, Any] = {}
    if source.format == "csv":
        options = {"sep": source.delimiter, "quoting": 0 if source.quoted else 3, "keep_default_na": False}
    builder = {"parquet": "parquet", "csv": "csv", "jsonl": "json"}[source.format]
    return _load_dataset(builder, split, data_files=list(names), **options)


def _image_table(split: str, folder: Path) -> pa.Table:
    from datasets import Image

    table = _load_dataset(
        "imagefolder",
        split,
        transform=lambda data: data.cast_column("image", Image(decode=False)),
        data_dir=str(folder),
    )
    if "label" not in table.column_names:
        raise DataError(f"split {split!r}: {str(folder)!r} has no folder of images per class; make one per class")
    paths = [Path(image["path"]) for image in table["image"].to_pylist()]
    images = [{"bytes": None, "path": str(path), "sha256": file_sha256(path)} for path in paths]
    return pa.table(
        {
            "image": pa.array(images, IMAGE_TYPE),
            "label": [path.relative_to(folder).parts[0] for path in paths],
            "path": [path.relative_to(folder).as_posix() for path in paths],
        }
    )


def _load_dataset(builder: str, split: str, *, transform: Any = None, **options: Any) -> pa.Table:
    from datasets import load_dataset

    with _quiet():
        try:
            data = load_dataset(builder, split="train", cache_dir=str(cache_folder("datasets")), **options)
        except Exception as error:  # the library raises whatever its readers do
            cause = error.__cause__ or error
            place = options.get("data_files", options.get("data_dir"))
            raise DataError(
                f"split {split!r} cannot be read as {builder} from {place}: "
                f"{type(cause).__name__}: {str(cause)[:500]}; check the format, delimiter and quoting in the spec"
            ) from error
    return (transform(data) if transform else data).with_format("arrow")[:]


@contextmanager
def _quiet() -> Iterator[None]:
    from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            enable_progress_bars()


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
        array: np.ndarray = np.load(name, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise DataError(
            f"split {split!r}: {name!r} is no plain .npy file ({error}); save numbers, not objects"
        ) from error
    if array.ndim != dimensions or array.dtype.kind not in "iuf":
        raise DataError(
            f"split {split!r}: {name!r} holds {array.ndim} dimensions of {array.dtype}; "
            f"it must hold numbers in {dimensions} dimension{'s' if dimensions > 1 else ''}"
        )
    return array


def content_hash(*values: Any) -> str:
    """16 hexadecimal digits of a row's content; equal content gives equal digits."""
    digest = hashlib.sha256()
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:16]
