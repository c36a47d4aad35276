"""Inputs of `aflite scan` and `aflite fix`: the rows to scan, the dataset or file they come from, and a hash of its
content.
"""

import argparse
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aflite_assets.command_line.scanning.bare_files import (
    METADATA,
    BareFile,
    Roles,
    read_bare,
    refuse_options,
)
from aflite_assets.errors import DataError
from aflite_assets.results.files import file_sha256
from aflite_assets.scan.cues import ScanResult
from aflite_assets.scan.rows import ScanRows, rows_of_examples
from aflite_assets.scan.scan import ScanSettings, scan_rows
from aflite_assets.wording import counted

if TYPE_CHECKING:
    from aflite_assets.command_line.preview.data_preview import ChallengePreviews, DataPreview
    from aflite_assets.specs.dataset import DatasetSpec


@dataclass(frozen=True, eq=False)
class ScanInput:
    """Rows to scan, sentences on how columns were interpreted, and names of columns that are declared as irrelevant.

    `bare`: the data file, or None if FILE is a dataset. `dataset`: the dataset, or None if FILE is a data file.
    """

    rows: ScanRows
    understood: tuple[str, ...]
    irrelevant: tuple[str, ...]
    bare: BareFile | None = None
    dataset: "DatasetInput | None" = None

    def scan(self, *, seed: int) -> ScanResult:
        """Scan the rows for cues, with as many threads as available cores."""
        from aflite_assets.processors import available_cores

        settings = ScanSettings(irrelevant=self.irrelevant, threads=available_cores())
        return scan_rows(self.rows, settings=settings, seed=seed)


@dataclass(frozen=True, eq=False)
class DatasetInput:
    """A dataset file, and the data read according to this file.

    `row_ids`: id of each scanned row, int64; -1 in challenge sets.
    """

    path: Path
    spec: "DatasetSpec"
    data: "DataPreview"
    challenges: "ChallengePreviews"
    row_ids: np.ndarray


def is_dataset(file: str) -> bool:
    """Return True if FILE is a dataset's YAML file or the name of a registered dataset.

    A dataset comes before a folder or file of the same name.
    """
    from aflite_assets.command_line.specs_by_name import is_dataset_name

    path = Path(file)
    if path.suffix in (".yaml", ".yml"):
        return True
    return not path.suffix and (not path.exists() or is_dataset_name(file))


def read_input(options: argparse.Namespace) -> ScanInput:
    """Read the rows of FILE.

    Raises:
        AfliteError: FILE cannot be scanned. The error message states the reason.
    """
    return _read_dataset(options) if is_dataset(options.file) else _read_bare(Path(options.file), options)


def _read_bare(path: Path, options: argparse.Namespace) -> ScanInput:
    read = read_bare(path, roles_of(options))
    _require_columns(options.irrelevant, read.rows)
    return ScanInput(read.rows, read.understood, tuple(options.irrelevant), bare=read)


def _require_columns(irrelevant: Sequence[str], rows: ScanRows) -> None:
    for name in irrelevant:
        if name not in rows.columns and name not in rows.texts:
            known = ", ".join([*rows.texts, *rows.columns])
            raise DataError(
                f"`--irrelevant` names {name!r}, which is not a column that the scan reads; name one of: {known}"
            )


def roles_of(options: argparse.Namespace) -> Roles:
    """Return the roles of columns that the options give."""
    return Roles(
        label=options.label,
        texts=tuple(options.text),
        group=options.group,
        subset=options.subset,
        skipped=tuple(options.skip),
        delimiter=options.delimiter,
        encoding=options.encoding,
        guesses_texts=getattr(options, "guesses_texts", True),
    )


def _read_dataset(options: argparse.Namespace) -> ScanInput:
    from aflite_assets.command_line.preview.data_preview import preview_challenges, preview_data
    from aflite_assets.command_line.specs_by_name import same_name_note, spec_of
    from aflite_assets.specs.columns import subset_name, text_names

    spec = spec_of(options.file)
    roles = roles_of(options)
    refuse_options(
        {"label": roles.label, "text": roles.texts, "group": roles.group, "subset": roles.subset,
         "skip": roles.skipped, "delimiter": roles.delimiter},
        f"{options.file!r} is a dataset, whose own file names its columns",
    )  # fmt: skip
    data = preview_data(spec)
    columns = spec.columns
    challenges = preview_challenges(spec, data)
    examples = data.raw.examples
    rows = rows_of_examples(
        examples,
        others={one.name: one.raw.examples for one in challenges.read},
        feature_names=columns.features if isinstance(columns.features, tuple) else (),
        scale=data.raw.scale,
        text_names=text_names(spec.source, columns),
        subset=subset_name(spec.source),
    )
    _require_columns(options.irrelevant, rows)
    ids = [examples.in_split(split).row_ids for split in rows.set_names if split in set(data.rows or {})]
    row_ids = np.concatenate(ids) if ids else examples.row_ids
    row_ids = np.append(row_ids, np.full(len(rows) - len(row_ids), -1))
    understood = [_sets_read(spec.name, data, challenges)]
    understood += filter(None, [same_name_note(options.file)])
    if not data.complete:
        understood.append("The source is large, so that only its first rows were read.")
    understood += [f"Challenge set {name} is missing: {why}." for name, why in challenges.missing.items()]
    declared = (*spec.irrelevant, *spec.planted, *options.irrelevant)
    dataset = DatasetInput(Path(options.file), spec, data, challenges, row_ids)
    return ScanInput(rows, tuple(understood), declared, dataset=dataset)


def _sets_read(name: str, data: "DataPreview", challenges: "ChallengePreviews") -> str:
    """Return a sentence on the number of scanned train rows, and on the other sets on which cues are measured."""
    splits = data.raw.examples.table["split"].to_numpy(zero_copy_only=False)
    counts = {split: int((splits == split).sum()) for split in (data.rows or dict.fromkeys(splits))}
    read = sum(data.raw.source_rows.values())
    others = {split: rows for split, rows in counts.items() if split != "train"}
    others |= {one.name: len(one.raw.examples) for one in challenges.read}
    compared = ", ".join(f"{other} ({rows:,})" for other, rows in others.items()) or "none"
    return f"Scanned: train of {name}, {counts.get('train', 0):,} of {counted(read, 'row')}. Compared: {compared}."


def content_hash(file: str) -> str:
    """Return a hash of the content of FILE: a table's bytes, a folder's images, or a dataset's source and columns.

    Two scans with equal hashes and equal options find the same cues under the same numbers.

    Raises:
        AfliteError: a file of the dataset is missing.
    """
    if is_dataset(file):
        return _hash_of_dataset(file)
    path = Path(file)
    if not path.is_dir():
        return file_sha256(path)
    return _hash_of(f"{inside}\0{file_sha256(path / inside)}" for inside in _files_below(path))


def _files_below(folder: Path) -> list[str]:
    from aflite_assets.data.formats.image_folders import image_paths

    images = [path.as_posix() for path in image_paths(folder)]
    return [*images, *(name for name in METADATA if (folder / name).is_file())]


def _hash_of(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _hash_of_dataset(file: str) -> str:
    from aflite_assets.command_line.specs_by_name import spec_of
    from aflite_assets.data.loading import content_fingerprint

    spec = spec_of(file)
    fields = spec.model_dump_json(include={"source", "columns", "labels", "unlabelled", "holdout", "limit", "seed"})
    return _hash_of([fields, repr(sorted(content_fingerprint(spec.source).items()))])
