"""The command `aflite compare`, which compares two analysis results."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aflite_assets.command_line.specs_by_name import is_dataset_name
from aflite_assets.command_line.terminal import escaped, indented, table, write_lines
from aflite_assets.errors import StoreError
from aflite_assets.results.opening import open_store
from aflite_assets.results.records import MANIFEST, PublishedResult
from aflite_assets.results.store import ResultStore

if TYPE_CHECKING:
    from aflite_assets.analysis.comparisons.versions import VersionComparison

_REPORT, _ANALYSIS = "benchmark_report", "analysis"

_DESCRIPTION = """\
Compares two results: significant differences in accuracy, rows that only one of the two filters removed, and
differences in settings and data. A and B are datasets, or folders of published reports. If only A is given, the last
two results of the dataset are compared. A dataset comes before a folder of the same name, which is given as ./NAME.
"""


def add_command(commands: Any) -> None:
    """Add `compare` to the command line's subparsers."""
    parser = commands.add_parser("compare", help="compare two results", description=_DESCRIPTION)
    parser.add_argument("old", metavar="A", help="a dataset, or the folder of a report")
    parser.add_argument("new", metavar="B", nargs="?", help="a second one (default: the newest result of A)")
    parser.add_argument("--json", action="store_true", help="print JSON, with all numbers and rows")
    parser.set_defaults(command=_compare)


def _compare(options: argparse.Namespace) -> None:
    from aflite_assets.analysis.tidy import to_json
    from aflite_assets.stages.report.versions import compare_results, earlier_result

    store = open_store()
    new = result_named(options.new or options.old, store)
    old = earlier_result(store, new) if options.new is None else result_named(options.old, store)
    if old is None:
        raise StoreError(
            f"the dataset {options.old!r} has only one analysis, so there is no earlier analysis to compare with; "
            f"change the dataset and run `aflite refresh {new.partition}`, or name a second dataset"
        )
    compared = compare_results(old, new)
    write_lines(sys.stdout, [json.dumps(to_json(compared), indent=1)] if options.json else comparison_lines(compared))


def result_named(name: str, store: ResultStore) -> PublishedResult:
    """Return the result of the stage `analysis` for a dataset (by name) or for a report (by folder).

    A dataset comes before a folder of the same name, which is given as `./NAME`.

    Raises:
        SpecError: no dataset has the name `name`.
        StoreError: the dataset has no result of `analysis`, or the folder is not a published report with a stored
            analysis.
    """
    from aflite_assets.specs.registry import load_registry

    is_known = name in store.datasets() or is_dataset_name(name)
    if os.sep in name or (Path(name).is_dir() and not is_known):
        return _of_folder(Path(name).absolute())
    if name not in store.datasets():
        name = load_registry()[name].name
    if store.current_key(_ANALYSIS, name) is None:
        raise StoreError(f"the dataset {name!r} has no analysis in {store.place}; run `aflite refresh {name}` first")
    return store.current(_ANALYSIS, name)


def _of_folder(folder: Path) -> PublishedResult:
    """Return the result of the stage `analysis` on which the report in a folder is based."""
    place = folder.parent if folder.name == "report.html" else folder
    if not (place / MANIFEST).is_file() or place.parent.parent.name not in (_REPORT, _ANALYSIS):
        raise StoreError(
            f"{folder} is not a published report; give the name of a dataset, or a report folder as printed by `aflite "
            "open NAME --print`"
        )
    given = PublishedResult(place.parent.parent.name, place.parent.name, place.name, place)
    if given.asset == _ANALYSIS:
        return given
    wanted = given.manifest["made_from"]["inputs"][_ANALYSIS]
    for one in ResultStore(place.parents[2]).results(_ANALYSIS, given.partition):
        if one.data_version == wanted:
            return one
    raise StoreError(
        f"the analysis behind the report in {place} is no longer in the store; compare another report, or run `aflite "
        f"refresh {given.partition}`"
    )


def comparison_lines(compared: "VersionComparison") -> Iterator[str]:
    """Yield the comparison of two results as lines for a terminal."""
    from aflite_assets.reports.sentences.versions import comparison_line, row_lines
    from aflite_assets.reports.tables.version_tables import version_tables

    for line in (comparison_line(compared), *row_lines(compared)):
        yield from indented(escaped(line))
    for one in version_tables(compared):
        head = (*one.headings, *(column.plain for column in one.columns))
        rows = [(*row.headings, *(" ".join((cell.text, *cell.small)) for cell in row.cells)) for row in one.rows]
        yield ""
        yield escaped(one.title)
        yield from table([tuple(map(escaped, row)) for row in (head, *rows)])
        yield from indented(escaped(one.caption))
