"""The origin of the scanned rows: their source, the columns that a copy must keep, and the YAML file of the copy."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from aflite_assets.command_line.fixing.answer_origins import origin_of_answers
from aflite_assets.command_line.scanning.bare_files import METADATA, BareFile, Roles, table_format
from aflite_assets.command_line.scanning.inputs import DatasetInput, ScanInput
from aflite_assets.diagnostics.numbers import as_numbers
from aflite_assets.diagnostics.properties.artefacts import is_identifier
from aflite_assets.errors import DataError
from aflite_assets.fixing.copying import WrittenCopy
from aflite_assets.fixing.feature_files import column_name
from aflite_assets.fixing.folders import MetadataFolder
from aflite_assets.fixing.plan import ID, Changes, Origin
from aflite_assets.fixing.spec_file import first_content, fixed_content
from aflite_assets.scan.rows import ScanRows
from aflite_assets.specs.columns import text_names
from aflite_assets.specs.sources import (
    FeatureSource,
    ImageFolderSource,
    MultipleChoiceSource,
    PreferenceSource,
    TableSource,
    as_tuple,
)

_TRAIN = "train"


def origin_of(read: ScanInput, path: Path, roles: Roles) -> Origin:
    """Return the origin of the scanned rows. `path` and `roles` describe a data file without a YAML file.

    Raises:
        DataError: `aflite fix` cannot write sources of the origin's kind.
    """
    if read.dataset is not None:
        return _plain(_origin_of_dataset(read.dataset))
    assert read.bare is not None
    return _plain(_origin_of_bare(read.bare, path.absolute(), roles))


def _plain(origin: Origin) -> Origin:
    """Raise an error if the origin has compressed files, which `aflite fix` cannot write.

    Otherwise return the origin.
    """
    files = origin.source.files() if isinstance(origin.source, TableSource) else []
    packed = [file for file in files if file.suffix.lower() == ".gz"]
    if packed:
        raise DataError(
            f"{packed[0].name!r} is compressed, and `aflite fix` cannot write compressed files; run `gunzip -k "
            f"{packed[0].name}` and fix the decompressed file"
        )
    return origin


def _origin_of_bare(bare: BareFile, path: Path, roles: Roles) -> Origin:
    rows = bare.rows
    if rows.answers:
        assert bare.source is not None
        return origin_of_answers(
            bare.source, [*rows.texts], source_rows={_TRAIN: len(rows)}, row_ids=np.arange(len(rows))
        )
    names = {name: name for name in (*rows.texts, *rows.columns)}
    needed = {roles.label or "label": "the label"} | ({roles.group: "the group"} if roles.group else {})
    inputs = frozenset(rows.texts)
    if not rows.texts and rows.images is None:
        inputs = frozenset(rows.columns)
    return Origin(
        source=_bare_source(path, roles),
        names=names,
        needed=needed,
        source_rows={_TRAIN: len(rows)},
        row_ids=np.arange(len(rows)),
        inputs=inputs,
    )


def _bare_source(path: Path, roles: Roles) -> TableSource | ImageFolderSource | MetadataFolder:
    if not path.is_dir():
        form = table_format(path, roles).model_dump(exclude_unset=True)
        return TableSource.model_validate({**form, "splits": {_TRAIN: str(path)}})
    metadata = next((path / name for name in METADATA if (path / name).is_file()), None)
    if metadata is not None:
        return MetadataFolder(path, metadata, table_format(metadata, roles))
    return ImageFolderSource.model_validate({"format": "image_folder", "splits": {_TRAIN: str(path)}})


def _origin_of_dataset(dataset: DatasetInput) -> Origin:
    spec = dataset.spec
    source = spec.source
    if isinstance(source, PreferenceSource | MultipleChoiceSource):
        texts = [*text_names(source, spec.columns).values()]
        counts = dataset.data.raw.source_rows
        return origin_of_answers(source, texts, source_rows=counts, row_ids=dataset.row_ids)
    if not isinstance(source, TableSource | ImageFolderSource | FeatureSource):
        raise DataError(
            f"{dataset.path.name!r} has a source of format `{source.format}`, which `aflite fix` cannot write; save "
            "the rows as CSV, JSON lines or Parquet, and fix that file"
        )
    columns = spec.columns
    features = columns.features if isinstance(columns.features, tuple) else ()
    names = {ID: columns.id} if columns.id is not None else {}
    if isinstance(source, FeatureSource):
        features = tuple(map(column_name, range(dataset.data.raw.examples.features.shape[1])))
    # A text comes last, so that no column of another meaning takes its name.
    names |= {name: name for name in (*columns.attributes, *features, *text_names(source, columns).values())}
    unread = "" if dataset.data.complete else "the source is large, so that only its first rows were read"
    is_numbered = isinstance(source, FeatureSource) and bool(spec.challenge_sets)
    same_width = "a feature of the challenge sets too, whose files stay as they are"
    return Origin(
        source=source,
        names=names,
        needed=_needed(dataset) | (dict.fromkeys(features, same_width) if is_numbered else {}),
        source_rows=dataset.data.raw.source_rows,
        row_ids=dataset.row_ids,
        inputs=frozenset(features),
        unread=f"`limit` in {dataset.path.name!r} leaves most rows unread" if spec.limit else unread,
    )


def _needed(dataset: DatasetInput) -> dict[str, str]:
    """Return the columns that the dataset file requires, each with a phrase that describes the column's role."""
    spec, columns = dataset.spec, dataset.spec.columns
    named = {
        columns.text: "a text",
        columns.text_pair: "a text",
        columns.image: "the image",
        columns.label: "the label",
    }
    needed = {name: what for name, what in named.items() if name is not None}
    needed |= dict.fromkeys(as_tuple(columns.group or ()), "a group")
    needed |= dict.fromkeys(as_tuple(columns.annotators or ()), "a column of annotators")
    return needed | dict.fromkeys(spec.annotations.match if spec.annotations else (), "a column that annotations match")


def content_of_copy(
    read: ScanInput, path: Path, roles: Roles, origin: Origin, changes: Changes, copied: WrittenCopy
) -> Mapping[str, object] | None:
    """Return the content of the copy's YAML file, or None if no YAML file can describe the copy."""
    if read.dataset is not None:
        return fixed_content(path, copied.source, changes.dropped, of_questions=bool(origin.answers))
    assert read.bare is not None
    rows = read.bare.rows
    if origin.answers:
        return None  # aflite scan --filter-file writes one
    columns = [name for name in rows.columns if name not in changes.dropped]
    match origin.source:
        case MetadataFolder():
            return None
        case ImageFolderSource():
            source = {"format": "image_folder", **copied.source}
        case TableSource():
            if rows.images is not None:
                return None
            form = origin.source.model_dump(exclude_defaults=True)
            source = {"format": origin.source.format, **form, **copied.source}
    features: list[str] = []
    if not rows.texts and rows.images is None:
        numbers = {name: as_numbers(rows.columns[name].values) for name in columns}
        incomplete = incomplete_columns(rows)
        features = [
            name
            for name, one in numbers.items()
            if one is not None and name not in incomplete and not is_identifier(name, one)
        ]
        columns = [name for name in columns if name not in features]
        if not features:
            return None
    return first_content(
        path.stem,
        source,
        label=roles.label or "label",
        texts=tuple(rows.texts),
        features=tuple(features),
        columns=tuple(columns),
        group=roles.group,
        has_images=rows.images is not None,
        has_unlabelled=bool((rows.labels < 0).any()),
    )


def incomplete_columns(rows: ScanRows) -> tuple[str, ...]:
    """Return the numeric columns with missing values, which models cannot read as features."""
    numbers = {name: as_numbers(column.values) for name, column in rows.columns.items()}
    with np.errstate(over="ignore"):
        return tuple(
            name for name, one in numbers.items() if one is not None and not np.isfinite(one.astype(np.float32)).all()
        )


def copied_file(origin: Origin, copied: WrittenCopy, folder: Path, spec_name: str | None) -> Path:
    """Return the path to scan in a copy.

    The path is a YAML file if the original has a YAML file, else a table or an image folder.
    """
    if spec_name is not None:
        return folder / spec_name
    match origin.source:
        case MetadataFolder():
            return folder / "images"
        case _:
            splits = copied.source["splits"]
            assert isinstance(splits, dict)
            return folder / str(splits[_TRAIN])
