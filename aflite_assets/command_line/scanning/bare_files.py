"""Reading of rows to scan from a file (CSV, JSON lines or Parquet) or a folder of images that has no YAML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import numpy as np
import pyarrow as pa

from aflite_assets.command_line.scanning.choice_files import (
    choice_hint,
    choice_rows,
    choice_source,
    inputs_of,
    understood_choices,
    unread_columns,
)
from aflite_assets.data.formats.answers import ANSWER, DROPPED, GROUP, LABEL, OWN_COLUMNS, TEXT
from aflite_assets.data.formats.encoding_fit import open_text
from aflite_assets.data.formats.image_folders import image_paths, image_table
from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.data.images import IMAGE_SUFFIXES, IMAGE_TYPE
from aflite_assets.data.raw_table.labels import read_labels
from aflite_assets.data.raw_table.table import group_numbers, implied_columns, refuse_amounts
from aflite_assets.data.raw_table.values import as_texts, is_bytes, is_number, plain
from aflite_assets.diagnostics.numbers import as_numbers
from aflite_assets.errors import DataError, MissingDataError
from aflite_assets.scan.rows import Role, ScanRows, TableColumn
from aflite_assets.specs.columns import ColumnsSpec, subset_name, text_names
from aflite_assets.specs.sources import ChoiceSource, TableFormat, as_tuple
from aflite_assets.wording import counted, did_you_mean, quoted_list

FORMATS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
"""Formats by a file's ending."""

TEXT_NAMES = frozenset({"text", "sentence", "sentence1", "sentence2", "premise", "hypothesis", "question", "answer",
                        "review", "comment", "body", "title", "content", "prompt", "response", "passage"})  # fmt: skip
"""Names of columns that hold texts, however short."""

_WORDS_OF_TEXT = 3.0
"""Words of a column's values, on average, from which they are texts."""

_ONE_SET = "all rows"
METADATA = ("metadata.csv", "metadata.jsonl")
"""Names of metadata files of a folder of images."""

_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True, kw_only=True)
class Roles:
    """Roles of the columns of a data file without a YAML file, as given on the command line.

    If a role is not given, the program guesses the columns with this role. `guesses_texts`: whether texts are guessed;
    a cleaned copy must be read as its original was, even if it has fewer rows to guess from.
    """

    label: str | None = None
    texts: tuple[str, ...] = ()
    group: str | None = None
    subset: str | None = None
    skipped: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str = "utf-8"
    guesses_texts: bool = True


@dataclass(frozen=True, eq=False)
class BareFile:
    """Rows of a data file, and sentences on how the file's columns were interpreted.

    `source`: the source of preferences or questions, or None for other data files. `names_images`: whether a table
    names image files beside it.
    """

    rows: ScanRows
    understood: tuple[str, ...]
    source: ChoiceSource | None = None
    names_images: bool = False


def read_bare(path: Path, roles: Roles) -> BareFile:
    """Read a table file, or a folder of images with a folder per class or with a metadata file.

    Raises:
        MissingDataError: there is no such file or folder.
        DataError: the file does not match its ending, a column is missing, or there is no label.
    """
    if path.is_dir():
        refuse_options({"subset": roles.subset}, f"{path.name!r} is a folder of images")
        return _read_images(path, roles)
    if not path.exists():
        raise MissingDataError(f"{str(path)!r} does not exist; give a dataset's YAML file, a table file or a folder")
    form = table_format(path, roles)
    table = read_table_file(form, path)
    source = None if roles.label or roles.texts else choice_source(table, form, path)
    if source is not None:
        return _from_choices(table, _with_subset(table, source, roles, path), roles, path)
    if roles.subset is not None:
        raise DataError(
            f"`--subset` is {roles.subset!r}, but {path.name!r} is not read as preferences or questions; leave it out"
        )
    named = _image_names(table, roles)
    return _from_table(table, roles, path) if named is None else _beside_images(table, named, roles, path)


def refuse_options(given: Mapping[str, str | tuple[str, ...] | None], why: str) -> None:
    """Raise an error if an option has a value that the scan of FILE would ignore. `why`: a clause with the reason."""
    for option, value in given.items():
        if value:
            raise DataError(f"`--{option}` is {', '.join(as_tuple(value))!r}, but {why}; leave `--{option}` out")


def table_format(path: Path, roles: Roles) -> TableFormat:
    """Return the format of a table file. The format depends on the file's ending and on the options in `roles`.

    Raises:
        DataError: the file's ending is not that of a known format.
    """
    compressed = path.suffix.lower() == ".gz"
    ending = "".join(path.suffixes[-1 - compressed :]).lower()
    form = FORMATS.get(ending.removesuffix(".gz"))
    if form is None or (compressed and form == "parquet"):
        known = f"give a file that ends in {', '.join(FORMATS)}, or a text file that also ends in .gz"
        remedy = f"decompress the file first with `gunzip -k {path.name}`" if compressed else known
        raise DataError(f"{path.name!r} ends in {ending!r}, which is not a supported format; {remedy}")
    settings: dict[str, object] = {"format": form}
    if form != "parquet":
        settings["encoding"] = roles.encoding
    if form in ("csv", "tsv"):
        settings["delimiter"] = roles.delimiter or (_delimiter(path) if form == "csv" else None)
    return TableFormat.model_validate(settings)


def _delimiter(path: Path) -> str:
    """Return the delimiter that yields the most columns in the first line."""
    with open_text(path, "utf-8", newline="\n", errors="replace") as file:
        first = file.readline(2**20)
    return max(_DELIMITERS, key=first.count)


def _from_table(table: pa.Table, roles: Roles, path: Path, images: pa.ChunkedArray | None = None) -> BareFile:
    if not table.num_rows:
        raise DataError(f"{path.name!r} has no rows; give a file with at least one row")
    hint = "" if roles.label else choice_hint(table, table_format(path, roles), path)
    label = _named(table, roles.label or "label", path, option="--label", hint=hint)
    for name in (*roles.texts, *roles.skipped, *([roles.group] if roles.group else [])):
        _named(table, name, path, option="an option")
    labels = read_labels({_ONE_SET: table[label]}, names=None, unlabelled=(None,))
    refuse_amounts(label, labels.names, remedy="name a column of classes with --label")
    groups = group_numbers({_ONE_SET: table}, roles.group)
    rows = ScanRows(
        labels=labels.numbers[_ONE_SET],
        label_names=labels.names,
        sets=np.zeros(table.num_rows, dtype=np.int64),
        set_names=(_ONE_SET,),
        order=np.arange(table.num_rows, dtype=np.float64),
        groups=groups.get(_ONE_SET),
        images=images,
    )
    return _with_columns(rows, table, roles, label)


def _image_names(table: pa.Table, roles: Roles) -> str | None:
    """Return the column of texts that all end as image files do, if there is one that is not left out."""
    for name in table.column_names:
        column = plain(table[name])
        if name in roles.skipped or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        values = column.to_pylist()
        if values and all(value and Path(value).suffix.lower() in IMAGE_SUFFIXES for value in values):
            return name
    return None


def _beside_images(table: pa.Table, column: str, roles: Roles, path: Path) -> BareFile:
    """Read a table that names image files, from the folder with the table's own name, or from the table's folder."""
    own = path.parent / path.name.split(".")[0]
    for folder in (own, path.parent):
        if all(_is_inside(folder, name) for name in table[column].to_pylist()):
            return replace(_with_images(table, column, folder, roles, path), names_images=True)
    raise MissingDataError(
        f"the column {column!r} of {path.name!r} names images, but not all of them are in {str(own)!r} or in "
        f"{str(path.parent)!r}; put them there, or leave the column out with `--skip {column}`"
    )


def _is_inside(folder: Path, name: str) -> bool:
    """Return whether a file of this name is in the folder; a table from somebody else could name any file."""
    inside = PurePath(name)
    try:
        return not inside.is_absolute() and ".." not in inside.parts and (folder / inside).is_file()
    except OSError:  # such as a name that is too long for any file
        return False


def _with_subset(table: pa.Table, source: ChoiceSource, roles: Roles, path: Path) -> ChoiceSource:
    if roles.subset is None:
        return source
    return source.model_copy(update={"subset": _named(table, roles.subset, path, option="--subset")})


def _from_choices(table: pa.Table, source: ChoiceSource, roles: Roles, path: Path) -> BareFile:
    """Read preferences or questions, with one row per answer."""
    for option, names in (("--group", as_tuple(roles.group or ())), ("--skip", roles.skipped)):
        for name in names:
            _named(table, name, path, option=option)
    made = choice_rows(table, source, path)
    if roles.group is not None and roles.group not in made.column_names:
        why = f"{roles.group!r} is a column of questions or answers, which are grouped without the option"
        refuse_options({"group": roles.group}, why)
    columns = implied_columns(source, ColumnsSpec(), {_ONE_SET: made})
    labels = read_labels({_ONE_SET: made[LABEL]}, names=None, unlabelled=DROPPED)
    linked = (*as_tuple(columns.group or ()), *([] if roles.group is None else [roles.group]))
    questions = group_numbers({_ONE_SET: made}, GROUP)[_ONE_SET]
    rows = ScanRows(
        labels=labels.numbers[_ONE_SET],
        label_names=labels.names,
        sets=np.zeros(made.num_rows, dtype=np.int64),
        set_names=(_ONE_SET,),
        order=np.arange(made.num_rows, dtype=np.float64),
        groups=group_numbers({_ONE_SET: made}, linked)[_ONE_SET],
        answers=True,
        questions=questions if columns.question is not None or roles.group is not None else None,
        answers_listed=columns.question is None,
        subset=subset_name(source),
    )
    texts = text_names(source, columns)
    others = [name for name in made.column_names if name not in (*OWN_COLUMNS, *inputs_of(source), *roles.skipped)]
    shown = made.select([TEXT, ANSWER, *others]).rename_columns([texts["text"], texts["text_pair"], *others])
    read = _with_columns(rows, shown, replace(roles, texts=tuple(texts.values()), group=None, skipped=()), LABEL)
    known = labels.numbers[_ONE_SET] >= 0
    lines = [understood_choices(source, made), unread_columns(table, source, path)]
    lines.append(f"{counted(len(np.unique(questions[known])), 'question')} read.")
    dropped = counted(int((~known).sum()), "answer")
    lines += [] if known.all() else [f"{dropped} of ties, or equal to a right answer, left out."]
    return BareFile(read.rows, tuple(filter(None, lines)), source)


def _named(table: pa.Table, name: str, path: Path, *, option: str, hint: str = "") -> str:
    """Return the name of a column, or raise an error if the column does not exist.

    `hint`: the end of the error message. By default, the error message names the option to use.
    """
    if name not in table.column_names:
        columns = quoted_list(table.column_names, most=30, length=80)
        raise DataError(
            f"{path.name!r} has no column {name!r} (its columns are [{columns}])"
            + (hint or did_you_mean(name, table.column_names) or f"; name one of these columns with `{option}`")
        )
    return name


def _with_columns(rows: ScanRows, table: pa.Table, roles: Roles, label: str) -> BareFile:
    """Add all other columns of the table to the rows, as texts, images, attributes or numbers."""
    texts: dict[str, Sequence[str | None]] = {}
    others: dict[str, np.ndarray | Sequence[str | None]] = {}
    images, left_out = rows.images, list(roles.skipped)
    for name in table.column_names:
        column = plain(table[name])
        if name in (label, *roles.skipped) or (name == roles.group and not _reads_text(name, column, roles)):
            continue
        if _is_image(column.type) and images is None:
            images = _image_column(column)
        elif pa.types.is_nested(column.type) or is_bytes(column.type):
            left_out.append(name)
        elif is_number(column.type) and not pa.types.is_boolean(column.type):
            others[name] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        else:
            (texts if _reads_text(name, column, roles) else others)[name] = as_texts(column)
    role: Role = "attribute" if texts or images is not None else "column"
    columns = {name: TableColumn(role, values) for name, values in others.items()}
    completed = replace(rows, texts=texts, columns=columns, images=images)
    return BareFile(completed, tuple(_understood(completed, label, roles, left_out)))


def _is_image(kind: pa.DataType) -> bool:
    return pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0


def _image_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of images that are stored as bytes.

    Paths are ignored, because a path in a file from somebody else could name any file.
    """
    values = [{"bytes": (one or {}).get("bytes") or b"", "path": None, "sha256": None} for one in column.to_pylist()]
    return pa.chunked_array([pa.array(values, IMAGE_TYPE)])


def _reads_text(name: str, column: pa.ChunkedArray, roles: Roles) -> bool:
    if roles.texts or not roles.guesses_texts:
        return name in roles.texts
    return _is_text(name, as_texts(column))


def _is_text(name: str, values: Sequence[str | None]) -> bool:
    known = [value for value in values if value][:2_000]
    if not known or as_numbers(known) is not None:
        return False
    words = sum(len(value.split()) for value in known) / len(known)
    return len(set(known)) > 0.1 * len(known) and (words >= _WORDS_OF_TEXT or name.lower() in TEXT_NAMES)


def _understood(rows: ScanRows, label: str, roles: Roles, left_out: Sequence[str]) -> list[str]:
    unlabelled = int((rows.labels < 0).sum())
    inputs = [
        f"texts {quoted_list(rows.texts, most=4, length=40)}" if rows.texts else "",
        "images" if rows.images is not None else "",
        f"{counted(len(rows.columns), 'other column')}" if rows.columns else "",
    ]
    read = ", ".join(filter(None, inputs)) or "no column"
    lines = [f"Label: {label!r}, {counted(len(rows.label_names), 'value')}. Read: {read}."]
    lines += [f"{counted(unlabelled)} without a label left out."] if unlabelled else []
    lines += [f"Not read: {quoted_list(left_out, most=10, length=40)}."] if left_out else []
    if roles.group is not None:
        untested = "" if roles.group in rows.texts else "; that column is not tested as a property"
        lines.append(f"Groups: {quoted_list([roles.group], most=1, length=40)}{untested}.")
    else:
        lines.append("No groups: name the column of rows that belong together with --group if there is one.")
    return lines


def _read_images(folder: Path, roles: Roles) -> BareFile:
    metadata = next((folder / name for name in METADATA if (folder / name).is_file()), None)
    if metadata is not None:
        return _with_metadata(folder, metadata, roles)
    refuse_options(
        {"label": roles.label, "text": roles.texts, "group": roles.group, "skip": roles.skipped},
        f"{str(folder)!r} has no metadata.csv with columns",
    )
    table = image_table(_ONE_SET, str(folder))
    labels = read_labels({_ONE_SET: table["label"]}, names=None, unlabelled=())
    rows = ScanRows(
        labels=labels.numbers[_ONE_SET],
        label_names=labels.names,
        sets=np.zeros(table.num_rows, dtype=np.int64),
        set_names=(_ONE_SET,),
        order=np.arange(table.num_rows, dtype=np.float64),
        images=table["image"],
        ids=table["path"].to_pylist(),
        ordered_by_reader=True,
    )
    return BareFile(rows, (f"Label: the folder of each image, {len(labels.names)} classes.",))


def _with_metadata(folder: Path, metadata: Path, roles: Roles) -> BareFile:
    """Read a folder with a metadata file that has a column `file_name`, a label column and possibly other columns."""
    table = read_table_file(table_format(metadata, roles), metadata)
    names = table[_named(table, "file_name", metadata, option="that name")].to_pylist()
    known = {path.as_posix() for path in image_paths(folder)}
    missing = [name for name in names if name not in known]
    if missing:
        raise DataError(
            f"{metadata.name!r} lists {counted(len(missing), 'image')} missing from {str(folder)!r} (first: "
            f"{missing[0]!r}); correct the column `file_name`"
        )
    return _with_images(table, "file_name", folder, roles, metadata)


def _with_images(table: pa.Table, column: str, folder: Path, roles: Roles, path: Path) -> BareFile:
    """Read a table with the names of images in a folder; all other columns become attributes."""
    names = table[column].to_pylist()
    files = [{"bytes": None, "path": str(folder / name), "sha256": ""} for name in names]
    images = pa.chunked_array([pa.array(files, IMAGE_TYPE)])
    read = _from_table(table.drop_columns([column]), roles, path, images)
    rows = replace(read.rows, ids=names)
    return BareFile(rows, (f"{counted(len(names), 'image')} of {str(folder)!r}, by {path.name!r}.", *read.understood))
