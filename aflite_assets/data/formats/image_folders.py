"""Reading of image folders as tables, either with one subfolder per class or with a label file, and of single images
that a table names.

Images are not decoded.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path, PurePath

import pyarrow as pa

from aflite_assets.data.formats.encoding_fit import codec_of, misfit
from aflite_assets.data.formats.row_places import BadRowError
from aflite_assets.data.images import IMAGE_SUFFIXES, IMAGE_TYPE
from aflite_assets.errors import DataError
from aflite_assets.results.files import file_sha256
from aflite_assets.specs.sources import LabelledFolder
from aflite_assets.wording import did_you_mean


def image_table(split: str, place: str | LabelledFolder, *, rows: int | None = None) -> pa.Table:
    """Return the images of one split: `image` (path and sha256), `label`, and `path` relative to the folder.

    The rows are sorted by path. Hidden files and files without an image's suffix are ignored. If `rows` is given, only
    the first images of each class are returned, without hashes. At most `rows` images are returned in total, but at
    least one per class.

    Raises:
        DataError: there are no images, images are outside of the class folders, or the label file does not match the
            images.
    """
    folder = Path(place.folder if isinstance(place, LabelledFolder) else place)
    paths = image_paths(folder)
    if not paths:
        raise DataError(
            f"split {split!r}: the folder {str(folder)!r} contains no images (files that end in "
            f"{', '.join(sorted(IMAGE_SUFFIXES))}); correct the path, or create a subfolder of images per class"
        )
    if isinstance(place, LabelledFolder):
        labels = _labels_from_file(split, place, paths)
    else:
        labels = _labels_from_folders(split, folder, paths)
    chosen = range(len(paths)) if rows is None else _first_of_each(labels, rows)
    images = [
        {"bytes": None, "path": str(folder / paths[row]), "sha256": "" if rows else file_sha256(folder / paths[row])}
        for row in chosen
    ]
    return pa.table(
        {
            "image": pa.array(images, IMAGE_TYPE),
            "label": pa.array([labels[row] for row in chosen], pa.string()),
            "path": [paths[row].as_posix() for row in chosen],
        }
    )


def image_paths(folder: Path) -> list[Path]:
    """Return the images in a folder and its subfolders, relative to the folder and sorted.

    Hidden files and folders are ignored. For example, macOS creates a hidden file `._name.jpg`, which is not an image,
    next to each `name.jpg`.

    Raises:
        DataError: the folder contains a link to a folder, whose images would be skipped.
    """
    paths = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts):
            continue
        if path.is_symlink() and path.is_dir():
            raise DataError(
                f"{str(path)!r} is a link to a folder, but links to folders are not followed; copy the folder, or "
                "link its files"
            )
        if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file():
            paths.append(inside)
    return paths


def named_images(split: str, column: str, names: Sequence[str | None], folder: Path) -> pa.ChunkedArray:
    """Return the images with the given names, relative to a folder, as a column of `IMAGE_TYPE` (path and sha256).

    Only images in the folder can be named, because a table from elsewhere could name any file on this computer.

    Raises:
        BadRowError: a name is missing, or there is no such image in the folder.
    """
    known = {path.as_posix() for path in image_paths(folder)}
    inside = ["" if name is None else PurePath(name).as_posix() for name in names]
    row = next((row for row, name in enumerate(inside) if name not in known), None)
    if row is not None:
        near = did_you_mean(inside[row], list(known)[:1000]) or "; correct the name, or the folder in `images`"
        named = f"names {names[row]!r}, but the folder {str(folder)!r} has no such image{near}"
        if not names[row]:
            named = "is empty; write the name of an image, or delete the row"
        raise BadRowError(
            f"split {split!r}: row {row + 1} of column {column!r} {named}",
            place=f"split {split!r}",
            row=row,
        )
    images = [{"bytes": None, "path": str(folder / name), "sha256": file_sha256(folder / name)} for name in inside]
    return pa.chunked_array([pa.array(images, IMAGE_TYPE)])


def _labels_from_folders(split: str, folder: Path, paths: list[Path]) -> list[str]:
    stray = next((path for path in paths if len(path.parts) == 1), None)
    if stray is not None:
        raise DataError(
            f"split {split!r}: the folder {str(folder)!r} must contain a subfolder per class, but the image "
            f"{str(stray)!r} is outside of the subfolders; move the image, or give a label file as `{{folder: ..., "
            "labels: ...}`"
        )
    return [path.parts[0] for path in paths]


def _labels_from_file(split: str, place: LabelledFolder, paths: list[Path]) -> list[str]:
    file = Path(place.labels)
    fields = _label_lines(split, file, encoding=place.encoding)
    if len(fields) == len(paths) and all(len(parts) == 1 for parts in fields):
        _refuse_unclear_order(split, file, paths)
        return [parts[0] for parts in fields]
    names = {key: row for row, path in enumerate(paths) for key in (path.as_posix(), path.name, path.stem)}
    labels: dict[int, str] = {}
    for number, (name, label) in enumerate(_names_and_labels(split, file, fields, names), 1):
        row = names.get(name)
        if row is None and number > 1:
            raise DataError(
                f"split {split!r}: line {number} of {str(file)!r} names {name!r}, but the folder has no such image"
                + (did_you_mean(name, list(names)[:1000]) or "; remove the line or add the image")
            )
        if row is not None and labels.setdefault(row, label) != label:
            raise DataError(
                f"split {split!r}: the label file {str(file)!r} gives the image {name!r} two labels, {labels[row]!r} "
                f"and {label!r}; keep only one label"
            )
    missing = [paths[row].as_posix() for row in range(len(paths)) if row not in labels]
    if missing:
        raise DataError(
            f"split {split!r}: the label file {str(file)!r} has no line for {len(missing)} of {len(paths)} images "
            f"(first: {missing[0]!r}); add a line with the name and label of each image, or, if the folder has images "
            "of other files too, use `format: csv` with `images: FOLDER`"
        )
    return [labels[row] for row in range(len(paths))]


def _label_lines(split: str, file: Path, *, encoding: str) -> list[list[str]]:
    """Return the fields of every non-blank line."""
    try:
        why = misfit(file, encoding)
        if why is not None:
            raise ValueError(f"{why.found}; {why.remedy}")
        lines = file.read_text(encoding=codec_of(file, encoding)).splitlines()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"split {split!r}: label file {str(file)!r} cannot be read as text: {error}") from error
    return [[part for part in re.split(r"[,\t ]+", line.strip()) if part] for line in lines if line.strip()]


def _names_and_labels(
    split: str, file: Path, fields: list[list[str]], images: Collection[str]
) -> list[tuple[str, str]]:
    """Return the name and the label of each line; the first line is a header if its name is not in `images`."""
    short = next((number for number, parts in enumerate(fields, 1) if len(parts) < 2), None)
    if short is not None:
        raise DataError(
            f"split {split!r}: line {short} of {str(file)!r} is {fields[short - 1]}, but every line needs an image's "
            "name and label; separate them by a comma, a tab or spaces, or write only labels in all lines, in the "
            "order of the images' names"
        )
    no_header = [(number, parts) for number, parts in enumerate(fields, 1) if number > 1 or parts[0] in images]
    wordy = next((number for number, parts in no_header if not _are_boxes(parts[2:], label=parts[1])), None)
    if wordy is not None:
        raise DataError(
            f"split {split!r}: line {wordy} of {str(file)!r} has words or numbers after the label "
            f"{fields[wordy - 1][1]!r} that are not bounding boxes; write class names without spaces"
        )
    return [(parts[0], parts[1]) for parts in fields]


def _are_boxes(parts: list[str], *, label: str) -> bool:
    """Return True if the parts after a label are nothing but bounding boxes.

    A bounding box has four numbers, and each further box begins with the same label.
    """
    numbers = [part for place, part in enumerate(parts) if place % 5 != 4]
    return (
        (not parts or len(parts) % 5 == 4)
        and all(re.fullmatch(r"-?[0-9.]+", part) for part in numbers)
        and set(parts[4::5]) <= {label}
    )


def _refuse_unclear_order(split: str, file: Path, paths: list[Path]) -> None:
    """Raise an error for labels without image names if the order of the images is ambiguous, as with img10 and img2."""
    natural = sorted(
        paths,
        key=lambda path: [
            (part.isdigit(), int(part) if part.isdigit() else 0, part)
            for part in re.split(r"([0-9]+)", path.as_posix())
        ],
    )
    other = next((pair for pair in zip(paths, natural, strict=True) if pair[0] != pair[1]), None)
    if other is not None:
        raise DataError(
            f"split {split!r}: the label file {str(file)!r} has no image names, and the order of the images is "
            f"ambiguous (is {str(other[0])!r} or {str(other[1])!r} first?); add the names to the label file, or pad "
            "the numbers in the names with zeros"
        )


def _first_of_each(labels: list[str], rows: int) -> list[int]:
    most = max(1, rows // len(set(labels)))
    seen: Counter[str] = Counter()
    chosen = []
    for row, label in enumerate(labels):
        seen[label] += 1
        if seen[label] <= most:
            chosen.append(row)
    return chosen
