"""The command `aflite scan`: arguments, input and exit codes."""

import argparse
import sys
from pathlib import Path
from typing import Any

from aflite_assets.command_line.scanning.arguments import (
    REFUSED,
    add_input_arguments,
    command_of,
    options_of,
    run_or_refuse,
)
from aflite_assets.command_line.terminal import write_lines
from aflite_assets.errors import DataError

NOTHING, ARTEFACT, CANNOT_TELL = 0, 1, REFUSED
"""Exit codes. That of an artefact is also that of right answers which are found without the question.

Wrong usage is 2 as in other commands, and so is a file that is refused: nothing is known of it.
"""

_SCAN = """\
Looks for cues that predict the label by themselves: record numbers, missing values, typography, order, file formats,
words, lengths, patches in images. The scan takes about a minute and trains no neural model. FILE is a dataset's YAML
file, a CSV, TSV, JSON lines or Parquet file, or a folder of images (with a folder per class, or with a metadata.csv
that has the columns file_name and label). Preferences (columns chosen and rejected) and questions with answers are
recognised by their column names. For preferences and questions, the scan also reports how often the right answer is
found without reading the question. Cues are chosen on one half of the rows and tested on the other half.
Exit codes: 0 if no artefact is found (there may be candidates); 1 if an artefact is found, or if a rule or model finds
right answers without the question at least 5 points more often than chance; 2 if there are too few rows, FILE is
refused, or the arguments are wrong.
"""


def add_command(commands: Any) -> None:
    """Add `scan` to the command line's subparsers."""
    scan = commands.add_parser("scan", help="find cues that predict the label by themselves", description=_SCAN)
    add_input_arguments(scan)
    scan.add_argument("--json", action="store_true", help="print the result as JSON")
    scan.add_argument("--html", metavar="PAGE", help="also write the result as one HTML page")
    scan.add_argument(
        "--filter-file", metavar="YAML", help="for preferences and questions: also write a dataset file for filtering"
    )
    scan.set_defaults(command=_scan)


def _scan(options: argparse.Namespace) -> int:
    return run_or_refuse(_scanned, options)


def _scanned(options: argparse.Namespace) -> int:
    from aflite_assets.command_line.scanning.filter_file import write_filter_file
    from aflite_assets.command_line.scanning.inputs import content_hash, read_input
    from aflite_assets.command_line.scanning.scan_page import result_page
    from aflite_assets.command_line.scanning.scan_text import result_json, result_lines

    read = read_input(options)
    result = read.scan(seed=options.seed)
    fixing, scanning = command_of("fix", options), "" if read.bare is None else command_of("scan", options)
    if options.html:
        page = result_page(result, read.rows, read.understood, title=Path(options.file).name, fix=fixing, scan=scanning)
        _write_page(Path(options.html), page)
    written = Path(options.filter_file) if options.filter_file else None
    if written:
        write_filter_file(written, read, result, title=Path(options.file).name)
    if options.json:
        scanned = {"file": options.file, "options": options_of(options), "content": content_hash(options.file)}
        lines = [result_json(result, read.understood, scanned=scanned)]
    else:
        lines = result_lines(result, read.understood, fix=fixing, scan=scanning, rows=read.rows)
        lines += [] if written is None else ["", f"The dataset's file {str(written)!r} is written."]
        if written and options.group:
            lines.append("It cannot name --group, so rows of one group can be in the training and in the test set.")
    write_lines(sys.stdout, lines)
    if result.verdict == "cannot tell":
        return CANNOT_TELL
    return ARTEFACT if result.verdict == "artefact" or result.tells_without_question else NOTHING


def _write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"`--html` is {str(path)!r}, which cannot be written ({error.strerror}); name another file"
        ) from error
