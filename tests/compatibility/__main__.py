"""The command that keeps keys and results of today and compares numbers: `python -m tests.compatibility --help`."""

import argparse
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aflite_assets.errors import AfliteError
from aflite_assets.paths import configure_libraries
from aflite_assets.results import ResultStore
from aflite_assets.stages.pipeline import run_pipeline
from tests.compatibility.collected import SUFFIX, Collected, collect, present_commit, read_collected, write_collected
from tests.compatibility.compared import compare, read_changes
from tests.compatibility.kept import CHANGES, KEYS, NUMBERS, STORE, all_specs, small_specs, stage_keys, unpack_store
from tests.compatibility.pinned import chosen_specs, make_runs


def keep_keys() -> None:
    """Write the hashes of all stages' keys."""
    keys = {spec.name: stage_keys(spec) for spec in all_specs()}
    KEYS.write_text(json.dumps(keys, indent=1) + "\n", encoding="utf-8")


def keep_store(folder: Path) -> None:
    """Make the datasets of `kept_specs.yaml`, and pack their results without pages, which hold others' scripts."""
    store = ResultStore(folder / "results")
    for spec in small_specs("kept_specs.yaml"):
        run_pipeline(spec, store=store)
    for name in ("benchmark_report", ".locks", ".trash", "refreshes"):
        shutil.rmtree(store.root / name, ignore_errors=True)
    with tarfile.open(STORE, "w:xz") as archive:
        archive.add(store.root, arcname="results", filter=_anonymous)


def keep_numbers(folder: Path) -> None:
    """Write the numbers of the kept store's reports, rendered by the present code."""
    store = ResultStore(unpack_store(folder))
    kept = {spec.name: collect(spec, store) for spec in small_specs("kept_specs.yaml")}
    write_collected(Collected(present_commit(), kept), NUMBERS)


def collect_numbers(folder: Path, target: Path, names: Sequence[str]) -> None:
    """Write the numbers of the named pinned datasets, of all by default, a file each."""
    store = ResultStore(folder / "results")
    for spec in chosen_specs(folder, names):
        leaves = collect(spec, store)
        write_collected(Collected(present_commit(), {spec.name: leaves}), target / f"{spec.name}{SUFFIX}")
        _say(f"{spec.name}: {len(leaves):,} values")


def compare_numbers(options: argparse.Namespace) -> int:
    """Write how two collections differ; return 1 if they do beyond what is listed."""
    before, after = read_collected(options.before), read_collected(options.after)
    outcome = compare(before, after, read_changes(options.changes), tolerance=options.tolerance)
    _say(f"before: commit {before.commit}; after: commit {after.commit}")
    _say(outcome.text(words=options.words, numerals=options.numerals))
    return 1 if outcome.failures(words=options.words, numerals=options.numerals) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "compare":
            return compare_numbers(options)
        if options.command == "runs":
            make_runs(options.folder, options.names, log=_say)
        elif options.command == "collect":
            collect_numbers(options.folder, options.target, options.names)
        else:
            _keep(numbers_alone=options.command == "keep-numbers")
    except AfliteError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _keep(*, numbers_alone: bool) -> None:
    if not numbers_alone:
        keep_keys()
        with tempfile.TemporaryDirectory() as folder:
            keep_store(Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        keep_numbers(Path(folder))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.compatibility", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("keep", help="keep the keys, the store and its numbers of today")
    commands.add_parser("keep-numbers", help="keep the numbers that the present code makes of the kept store")
    runs = commands.add_parser("runs", help="make the pinned datasets below a folder, or find them again")
    collecting = commands.add_parser("collect", help="write what the present code reports of stored results")
    for one in (runs, collecting):
        one.add_argument("folder", type=Path, help="where the results are")
    collecting.add_argument("target", type=Path, help="folder of the files that are written, one per dataset")
    for one in (runs, collecting):
        one.add_argument("names", nargs="*", help="pinned datasets; default: all")
    comparing = commands.add_parser("compare", help="compare two files or folders of collected numbers")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument(
        "--changes", type=Path, default=CHANGES, help="what is meant to change; default: %(default)s"
    )
    comparing.add_argument("--tolerance", type=float, default=0.0, help="of numbers, relative; default: none")
    comparing.add_argument("--words", action="store_true", help="fail if a text differs")
    comparing.add_argument("--numerals", action="store_true", help="fail if a text has other numbers in it")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(f"{line.rstrip()}\n")
    sys.stdout.flush()


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    configure_libraries()
    sys.exit(main())
