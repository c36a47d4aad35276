"""`aflite scan`: its arguments, what is scanned, and its exit code."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aflite_assets.command_line.terminal import escaped_lines, write_lines
from aflite_assets.errors import AfliteError, DataError

if TYPE_CHECKING:
    from aflite_assets.command_line.scanning.bare_files import BareFile, Roles
    from aflite_assets.scan.cues import ScanResult

NOTHING, ARTEFACT, CANNOT_TELL = 0, 1, 2
"""Exit codes. Wrong usage is 2 as in other commands, and so is a file that is refused: nothing is known of it."""

_SCAN = """\
Looks for cues that tell the label by themselves, in a minute, without a model: record numbers, missing values,
typography, order, file formats, words, lengths, patches in images. FILE is a dataset's YAML file, or a CSV, TSV, JSON
lines or Parquet file, or a folder of images (a folder per class, or a metadata.csv with file_name and the label).
Cues are chosen on one half of the rows and tested on the other. Exits with 0 if no artefact is found (candidates may
be), with 1 if one is, and with 2 if that cannot be told: too few rows, a file that is refused, or wrong usage.
"""


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    scan = commands.add_parser("scan", help="find cues that tell the label by themselves", description=_SCAN)
    scan.add_argument("file", metavar="FILE", help="a dataset's YAML file, a table file or a folder of images")
    scan.add_argument("--label", metavar="COLUMN", help="the column of labels of a table file (default: label)")
    scan.add_argument(
        "--text",
        metavar="COLUMN",
        action="append",
        default=[],
        help="a column of texts; may be repeated (default: guess)",
    )
    scan.add_argument("--group", metavar="COLUMN", help="a column that is equal for rows that belong together")
    scan.add_argument(
        "--irrelevant", metavar="COLUMN", action="append", default=[], help="a column that is no part of the task"
    )
    scan.add_argument("--skip", metavar="COLUMN", action="append", default=[], help="a column to leave out")
    scan.add_argument("--delimiter", metavar="SIGN", help="what separates the columns of a CSV file (default: guess)")
    scan.add_argument("--encoding", default="utf-8", help="of a table file's text (default: utf-8)")
    scan.add_argument("--seed", type=int, default=0, help="decides how rows are cut in two (default: 0)")
    scan.add_argument("--json", action="store_true", help="print JSON")
    scan.add_argument("--html", metavar="PAGE", help="also write one HTML page")
    scan.set_defaults(command=_scan)


def _scan(options: argparse.Namespace) -> int:
    try:
        return _scanned(options)
    except AfliteError as error:
        write_lines(sys.stderr, [escaped_lines(str(error))])
        return CANNOT_TELL


def _scanned(options: argparse.Namespace) -> int:
    from aflite_assets.command_line.scanning.scan_page import result_page
    from aflite_assets.command_line.scanning.scan_text import result_json, result_lines

    path = Path(options.file)
    if path.suffix in (".yaml", ".yml") or (not path.exists() and not path.suffix):
        result, understood = _scan_dataset(options)
    else:
        read = _read_bare(path, options)
        result, understood = _scan_rows(read, options), read.understood
    if options.html:
        _write_page(Path(options.html), result_page(result, understood, title=path.name))
    write_lines(sys.stdout, [result_json(result, understood)] if options.json else result_lines(result, understood))
    return {"artefact": ARTEFACT, "cannot tell": CANNOT_TELL}.get(result.verdict, NOTHING)


def _roles(options: argparse.Namespace) -> "Roles":
    from aflite_assets.command_line.scanning.bare_files import Roles

    return Roles(
        label=options.label,
        texts=tuple(options.text),
        group=options.group,
        skipped=tuple(options.skip),
        delimiter=options.delimiter,
        encoding=options.encoding,
    )


def _read_bare(path: Path, options: argparse.Namespace) -> "BareFile":
    from aflite_assets.command_line.scanning.bare_files import read_bare

    read = read_bare(path, _roles(options))
    for name in options.irrelevant:
        if name not in read.rows.columns and name not in read.rows.texts:
            known = ", ".join([*read.rows.texts, *read.rows.columns])
            raise DataError(f"--irrelevant names {name!r}, which is no column that is read; name one of: {known}")
    return read


def _scan_rows(read: "BareFile", options: argparse.Namespace) -> "ScanResult":
    from aflite_assets.processors import available_cores
    from aflite_assets.scan.scan import ScanSettings, scan_rows

    settings = ScanSettings(irrelevant=tuple(options.irrelevant), threads=available_cores())
    return scan_rows(read.rows, settings=settings, seed=options.seed)


def _scan_dataset(options: argparse.Namespace) -> "tuple[ScanResult, tuple[str, ...]]":
    from aflite_assets.command_line.preview.data_preview import preview_challenges, preview_data
    from aflite_assets.command_line.specs_by_name import spec_of
    from aflite_assets.processors import available_cores
    from aflite_assets.scan.scan import ScanSettings, scan_examples

    spec = spec_of(options.file)
    data = preview_data(spec)
    columns = spec.columns.features
    settings = ScanSettings(
        irrelevant=(*spec.irrelevant, *spec.planted, *options.irrelevant), threads=available_cores()
    )
    challenges = preview_challenges(spec, data)
    result = scan_examples(
        data.raw.examples,
        settings=settings,
        seed=options.seed,
        others={one.name: one.raw.examples for one in challenges.read},
        feature_names=columns if isinstance(columns, tuple) else (),
    )
    others = [*(data.rows or {}), *(one.name for one in challenges.read)]
    compared = ", ".join(name for name in others if name != "train") or "none"
    understood = [f"Scanned: train of {spec.name}. Compared: {compared}."]
    if not data.complete:
        understood.append("The source is large, so that only its first rows were read.")
    understood += [f"Challenge set {name} is missing: {why}." for name, why in challenges.missing.items()]
    return result, tuple(understood)


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DataError(f"--html {str(path)!r} cannot be written ({error.strerror}); name another file") from error
