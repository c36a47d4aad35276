"""`aflite compare`: what differs between two results of a dataset, or between two datasets, as lines and as JSON."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from aflite_assets.analysis.between_results import AccuracyChange, CueChange, Differences, SideChange
from aflite_assets.command_line.terminal import escaped
from aflite_assets.errors import StoreError
from aflite_assets.results.opening import open_store
from aflite_assets.results.records import PublishedResult
from aflite_assets.results.store import ResultStore
from aflite_assets.text import DASH, count, percent, short, signed_points

_DESCRIPTION = """\
Compares two results: the last two of one dataset, or the current ones of two. Says which accuracies moved beyond their
95 % intervals, which cues came or went, which rows changed sides, and which settings, files and code differ. Exits with
0 if nothing moved, and 1 if something did.
"""
_ASSET = "analysis"
_MOST_SHOWN = 12


def add_command(commands: Any) -> None:
    """Add `compare` to the command line's subparsers."""
    parser = commands.add_parser("compare", help="what differs between two results", description=_DESCRIPTION)
    parser.add_argument("dataset", metavar="NAME", help="the dataset")
    parser.add_argument("other", metavar="OTHER", nargs="?", help="another dataset (default: the result before)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.set_defaults(command=_compare)


def two_results(store: ResultStore, dataset: str, other: str | None) -> tuple[PublishedResult, PublishedResult]:
    """Return the results to compare, the earlier one or that of `dataset` first.

    Raises:
        StoreError: there are no two of them.
    """
    current = store.current(_ASSET, dataset)
    if other is not None:
        return current, store.current(_ASSET, other)
    before = [
        one
        for one in store.results(_ASSET, dataset)
        if one.key != current.key and one.manifest["published"] <= current.manifest["published"]
    ]
    if not before:
        raise StoreError(
            f"{dataset!r} has one result in {store.place}, so there is none before it to compare with; name another "
            f"dataset: aflite compare {dataset} OTHER"
        )
    return max(before, key=lambda one: str(one.manifest["published"])), current


def _compare(options: argparse.Namespace) -> int:
    from aflite_assets.analysis.between_results import between_results
    from aflite_assets.refresh.changes import made_differently

    store = open_store()
    first, second = two_results(store, options.dataset, options.other)
    found = between_results(first.path, second.path)
    made = made_differently(store, first, second)
    if options.json:
        told = asdict(found) | {"made_differently": {name: list(map(str, each)) for name, each in made.items()}}
        sys.stdout.write(json.dumps(told, indent=2, allow_nan=True) + "\n")
    else:
        for line in comparison_lines(found, first, second):
            sys.stdout.write(f"{line}\n")
        same = "Both were made from the same settings, files and code."
        sys.stdout.write("\nMade differently:\n" if made else f"\n{same}\n")
        for stage, changes in made.items():
            sys.stdout.write("".join(f"  {stage}: {escaped(str(one))}\n" for one in changes))
    sides = any(one.returned or one.left for one in found.sides)
    return int(bool(found.moved or found.changed_cues or sides or found.verdicts[0] != found.verdicts[1]))


def comparison_lines(found: Differences, first: PublishedResult, second: PublishedResult) -> Iterator[str]:
    """Yield the lines of a comparison; the first says what was found."""
    names = _named(first), _named(second)
    moved, tested = found.moved, len(found.accuracies)
    by_chance = f"about {round(tested / 20)} would by chance" if tested >= 20 else "one in twenty would by chance"
    numbers = f"{count(len(moved))} of {count(tested)} accuracies moved"
    verdict = "the verdict is the same" if found.verdicts[0] == found.verdicts[1] else "the verdict is another one"
    yield f"{verdict[:1].upper()}{verdict[1:]}; {numbers} beyond their 95 % intervals ({by_chance})."
    codes = [one or "nothing filtered" for one in found.verdicts]
    yield f"First: {names[0]}, {codes[0]}. Second: {names[1]}, {codes[1]}."
    if moved:
        yield "\nAccuracies that moved (%), the furthest first:"
        yield from map(_accuracy_line, moved[:_MOST_SHOWN])
        if len(moved) > _MOST_SHOWN:
            yield f"  and {count(len(moved) - _MOST_SHOWN)} more (--json has all)"
    if found.changed_cues:
        yield "\nCues (balanced accuracy in %):"
        yield from map(_cue_line, found.changed_cues[:_MOST_SHOWN])
        if len(found.changed_cues) > _MOST_SHOWN:
            yield f"  and {count(len(found.changed_cues) - _MOST_SHOWN)} more (--json has all)"
    if found.sides:
        yield "\nRows on either side of the filter:"
        yield from map(_side_line, found.sides)


def _named(result: PublishedResult) -> str:
    return f"{result.partition} of {result.manifest['published'][:16].replace('T', ' ')}"


def _accuracy_line(one: AccuracyChange) -> str:
    gap = one.difference
    points = f"{'+' if gap.difference > 0 else ''}{signed_points(gap.difference)} points"
    interval = f"[{signed_points(gap.low)}, {signed_points(gap.high)}]"
    trained = f"{one.train_set}{f' ({one.representation})' if one.representation else ''}"
    rows = "" if one.paired else ", other test rows"
    numbers = f"{percent(one.first)} -> {percent(one.second)}, {points} {interval}{rows}"
    return escaped(f"  {one.evaluator} trained on {trained}, on {one.test_set}: {numbers}")


def _cue_line(one: CueChange) -> str:
    numbers = [DASH if each is None else percent(each) for each in (one.first, one.second)]
    kind = "artefact" if one.is_artefact else "candidate"
    name, label = short(one.name, 80), short(one.label, 40)
    return escaped(f"  {one.state}: “{name}” for “{label}” ({kind}), {' -> '.join(numbers)}")


def _side_line(one: SideChange) -> str:
    if not one.shared:
        return escaped(f"  {one.representation}: no row is in both, so sides cannot be compared")
    return escaped(
        f"  {one.representation}: of {count(one.shared)} rows in both, {count(one.returned)} are kept now and were "
        f"removed, {count(one.left)} are removed now and were kept; {count(one.kept)} were kept by both"
    )
