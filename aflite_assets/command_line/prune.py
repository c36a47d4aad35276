"""Arguments and printed text of the commands `aflite prune`, `pin`, `unpin` and `pins`.

The package `results` deletes the results.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from aflite_assets.command_line.leftovers import confirmed, find_leftovers, leftover_lines
from aflite_assets.command_line.terminal import escaped, size, table, write_lines
from aflite_assets.wording import did_you_mean

if TYPE_CHECKING:
    from aflite_assets.results import ResultStore
    from aflite_assets.results.pins import Pin
    from aflite_assets.results.prune import Pruned

_UNITS = {"d": "days", "h": "hours", "w": "weeks"}

_PRUNE = """\
Removes old results. A result is kept if it is current, pinned, in use by a process, used by one of the last refreshes,
or an input of a kept result. Also removes unused parts, trained weights, records, unfinished work and damaged folders
that are older than a week, and compiled code of older versions. If the command is killed, the remaining results stay
complete, and the next prune continues. For datasets whose YAML file was deleted, everything that is not pinned is
removed after a confirmation, including queued runs and partitions in Dagster.
"""
_PIN = """\
Protects the current results of a dataset, or of one of its stages, from `aflite prune`, even when newer results
become current. Pin folders that you have shared or cited. A pin protects a folder and its parts, but not the
inputs from which the result was computed.
"""


def add_commands(commands: Any) -> None:
    """Add `prune`, `pin`, `unpin` and `pins` to the command line's subparsers."""
    prune = commands.add_parser("prune", help="remove results that are no longer needed", description=_PRUNE)
    prune.add_argument(
        "--keep",
        type=_count,
        default=None,
        metavar="N",
        help="number of refreshes per dataset that are kept (default: 3)",
    )
    prune.add_argument(
        "--older-than",
        type=age,
        metavar="AGE",
        help="remove only results older than this age, for example 30d, 12h or 2w",
    )
    prune.add_argument("--dry-run", action="store_true", help="list what would be removed, and remove nothing")
    prune.add_argument(
        "--yes", action="store_true", help="remove the leftovers of deleted datasets without a confirmation"
    )
    prune.set_defaults(command=_prune)
    pin = commands.add_parser("pin", help="protect a result from `aflite prune`", description=_PIN)
    pin.add_argument("name", metavar="NAME[.STAGE]", help="a dataset, or one of its stages: digits.published_dataset")
    pin.add_argument("--note", default="", help="reason for the pin, which `aflite pins` prints")
    pin.set_defaults(command=_pin)
    unpin = commands.add_parser(
        "unpin", help="remove pins", description="Removes the protection that `aflite pin` set."
    )
    unpin.add_argument("name", metavar="NAME[.STAGE]", help="a dataset, or one of its stages")
    unpin.set_defaults(command=_unpin)
    pins = commands.add_parser("pins", help="list the pinned results", description="Lists every pinned result.")
    pins.set_defaults(command=_pins)


def age(text: str) -> timedelta:
    """Parse an age from the command line, in hours, days or weeks.

    Raises:
        argparse.ArgumentTypeError: the text is not an age such as "30d".
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([dhw])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age; write an age such as 30d, 12h or 2w")
    return timedelta(**{_UNITS[match[2]]: float(match[1])})


def prune_lines(pruned: "Pruned", *, dry_run: bool) -> Iterator[str]:
    """Yield lines about the results that were removed (by kind), kept (by reason), in use or damaged."""
    kinds = pruned.by_kind()
    if not kinds:
        yield "nothing to remove"
    yield from _counts("would be removed" if dry_run else "removed", kinds)
    yield from _counts("would be kept" if dry_run else "kept", pruned.kept)
    yield from (f"in use, left alone: {escaped(line)}" for line in pruned.in_use)
    yield from (f"damaged, left alone: {escaped(line)}" for line in pruned.damaged)


def _counts(head: str, counts: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Yield a table of the numbers and sizes of results, with a total. Yields nothing without results."""
    if counts:
        rows = [(kind, str(count), size(total)) for kind, (count, total) in counts.items()]
        together = [sum(column) for column in zip(*counts.values(), strict=True)]
        yield f"{head}:"
        rows.append(("total", str(together[0]), size(together[1])))
        yield from (f"  {line}" for line in table(rows, numbers=(1, 2)))


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of refreshes; give a whole number of at least 0")
    return int(text)


def _prune(options: argparse.Namespace) -> None:
    from aflite_assets.paths import old_kernels
    from aflite_assets.results.prune import KEEP, prune

    store = _store()
    left = find_leftovers(store)
    if options.dry_run:
        write_lines(sys.stdout, list(leftover_lines(left)))
    is_removed = bool(left.words) if options.dry_run else confirmed(left, is_agreed=options.yes)
    deleted = list(left.words) if is_removed else []
    pruned = prune(
        store,
        keep=KEEP if options.keep is None else options.keep,
        older_than=options.older_than,
        dry_run=options.dry_run,
        caches=old_kernels(),
        deleted=deleted,
    )
    if not options.dry_run and deleted and left.instance is not None:
        from aflite_assets.automation.leftovers import remove_leftovers

        remove_leftovers(deleted, left.instance)
    write_lines(sys.stdout, list(prune_lines(pruned, dry_run=options.dry_run)))


def _pin(options: argparse.Namespace) -> None:
    from aflite_assets.results.pins import pin

    store = _store()
    partition, stage = _named(options.name)
    stages = [stage] if stage else [asset for asset, dataset, _ in store.partitions() if dataset == partition]
    results = [store.current(asset, partition) for asset in stages]
    if not results:
        results = [store.current("published_dataset", partition)]  # which says what is missing
    write_lines(sys.stdout, _pin_lines(pin(store, results, note=options.note)))


def _unpin(options: argparse.Namespace) -> None:
    from aflite_assets.errors import StoreError
    from aflite_assets.results.pins import unpin

    partition, stage = _named(options.name)
    gone = unpin(_store(), partition, stage)
    if not gone:
        raise StoreError(f"no result of {options.name!r} is pinned; run `aflite pins` to list all pinned results")
    write_lines(sys.stdout, [f"unpinned: {pin.asset} of {pin.partition}, {pin.key}" for pin in gone])


def _pins(_: argparse.Namespace) -> None:
    from aflite_assets.results.pins import read_pins

    pins = read_pins(_store())
    write_lines(sys.stdout, _pin_lines(pins) if pins else ["nothing is pinned"])


def _pin_lines(pins: "list[Pin]") -> list[str]:
    rows = [(pin.partition, pin.asset, pin.key, pin.pinned, escaped(pin.note)) for pin in pins]
    return table([("dataset", "stage", "key", "pinned", "note"), *rows])


def _named(name: str) -> tuple[str, str | None]:
    from aflite_assets.errors import InvalidInputError
    from aflite_assets.stages.pipeline import STAGES

    partition, _, stage = name.partition(".")
    if stage and stage not in STAGES:
        raise InvalidInputError(
            f"there is no stage {stage!r}{did_you_mean(stage, STAGES)} (received {name!r}); name one of the stages "
            f"{', '.join(STAGES)}, or give only the name of the dataset"
        )
    return partition, stage or None


def _store() -> "ResultStore":
    from aflite_assets.results.opening import open_store

    return open_store()
