"""Arguments and printed text of the commands `aflite prune`, `pin`, `unpin` and `pins`, and the leftovers that `aflite
status` names too.

The package `results` deletes the results.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from aflite_assets.command_line.terminal import escaped, size, table, write_lines
from aflite_assets.errors import InvalidInputError, StoreError
from aflite_assets.paths import dagster_home, old_kernels
from aflite_assets.results.locks import occupant
from aflite_assets.results.opening import open_store
from aflite_assets.results.pins import Pin, pin, read_pins, unpin
from aflite_assets.results.prune import KEEP, Pruned, prune
from aflite_assets.results.store import ResultStore
from aflite_assets.wording import counted, did_you_mean

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
    command = commands.add_parser("prune", help="remove results that are no longer needed", description=_PRUNE)
    command.set_defaults(command=_prune)
    keep = f"number of refreshes per dataset that are kept (default: {KEEP})"
    command.add_argument("--keep", type=_count, default=KEEP, metavar="N", help=keep)
    older = "remove only results older than this age, for example 30d, 12h or 2w"
    command.add_argument("--older-than", type=age, metavar="AGE", help=older)
    command.add_argument("--dry-run", action="store_true", help="list what would be removed, and remove nothing")
    command.add_argument("--yes", action="store_true", help="remove leftovers of deleted datasets without confirmation")
    command = commands.add_parser("pin", help="protect a result from `aflite prune`", description=_PIN)
    command.set_defaults(command=_pin)
    command.add_argument("name", metavar="NAME[.STAGE]", help="a dataset, or a stage: digits.published_dataset")
    command.add_argument("--note", default="", help="reason for the pin, which `aflite pins` prints")
    unpinning = "Removes the protection that `aflite pin` set."
    command = commands.add_parser("unpin", help="remove pins", description=unpinning)
    command.set_defaults(command=_unpin)
    command.add_argument("name", metavar="NAME[.STAGE]", help="a dataset, or one of its stages")
    command = commands.add_parser("pins", help="list the pinned results", description="Lists every pinned result.")
    command.set_defaults(command=_pins)


def age(text: str) -> timedelta:
    """Parse an age from the command line, in hours, days or weeks.

    Raises:
        argparse.ArgumentTypeError: the text is not an age such as "30d".
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([dhw])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age; write an age such as 30d, 12h or 2w")
    try:
        return timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        raise argparse.ArgumentTypeError(f"{text!r} is too long an age; write an age such as 30d, 12h or 2w") from None


def prune_lines(pruned: Pruned, *, dry_run: bool) -> Iterator[str]:
    """Yield lines about the results that were removed (by kind), kept (by reason), in use or damaged."""
    kinds = pruned.by_kind()
    if not kinds:
        yield "nothing to remove"
    yield from _counts("would be removed" if dry_run else "removed", kinds)
    yield from _counts("would be kept" if dry_run else "kept", pruned.kept)
    yield from (f"in use, left alone: {escaped(line)}" for line in pruned.in_use)
    yield from (f"damaged, left alone: {escaped(line)}" for line in pruned.damaged)


def find_leftovers(store: ResultStore) -> dict[str, str]:
    """Describe the results, queued runs and listed partitions of datasets without a YAML file, by dataset.

    Datasets that a process is running are left out. Dagster's instance is examined if `DAGSTER_HOME` is set.
    """
    from aflite_assets.specs.registry import load_registry

    made = store.datasets()
    registry = load_registry(made=made)
    queued: Mapping[str, list[str]] = {}
    listed: frozenset[str] = frozenset()
    if (home := dagster_home()) and home.is_dir():
        # Imported here: Dagster takes seconds.
        from aflite_assets.automation import leftovers

        in_dagster = leftovers.find_leftovers(registry)
        queued, listed = in_dagster.queued, in_dagster.listed
    words = {}
    for name in sorted({*registry.without_file(made), *queued, *listed}):
        parts = [
            f"{size(store.size(name))} of results" if name in made else "",
            counted(len(queued[name]), "queued run") if name in queued else "",
            "a partition that Dagster lists" if name in listed else "",
        ]
        if occupant(store.locks_folder, name) is None:
            words[name] = ", ".join(filter(None, parts))
    return words


def leftover_lines(found: Mapping[str, str]) -> Iterator[str]:
    """Yield a heading, and one line for each dataset with leftovers. Yields nothing if there are no leftovers."""
    if found:
        yield "leftovers of datasets without a YAML file (`aflite prune` removes them after a confirmation):"
        yield from (f"  {name}: {words}" for name, words in found.items())


def _confirmed() -> bool:
    """Return True if the user confirms on the terminal that the leftovers may be deleted."""
    if not sys.stdin.isatty():
        kept = "kept, because there is no terminal for a confirmation; `aflite prune --yes` removes the leftovers"
        write_lines(sys.stdout, [kept])
        return False
    sys.stdout.write("Remove all leftovers permanently? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


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
    store = open_store()
    left = find_leftovers(store)
    write_lines(sys.stdout, leftover_lines(left))
    deleted = list(left) if left and (options.dry_run or options.yes or _confirmed()) else []
    limits = {"keep": options.keep, "older_than": options.older_than, "dry_run": options.dry_run}
    pruned = prune(store, caches=old_kernels(), deleted=deleted, **limits)
    if not options.dry_run and deleted and (home := dagster_home()) and home.is_dir():
        from aflite_assets.automation import leftovers
        from aflite_assets.specs.registry import load_registry

        leftovers.remove_leftovers(deleted, leftovers.find_leftovers(load_registry(made=store.datasets())))
    write_lines(sys.stdout, prune_lines(pruned, dry_run=options.dry_run))


def _pin(options: argparse.Namespace) -> None:
    store = open_store()
    partition, stage = _named(options.name)
    found = (asset for asset, dataset, _ in store.partitions() if dataset == partition)
    made = [asset for asset in found if store.current_key(asset, partition) is not None]  # not those that only failed
    stages = [stage] if stage else made or ["published_dataset"]  # whose error says what is missing
    results = [store.current(asset, partition) for asset in stages]
    write_lines(sys.stdout, _pin_lines(pin(store, results, note=options.note)))


def _unpin(options: argparse.Namespace) -> None:
    removed = unpin(open_store(), *_named(options.name))
    if not removed:
        raise StoreError(f"no result of {options.name!r} is pinned; run `aflite pins` to list all pinned results")
    write_lines(sys.stdout, [f"unpinned: {pin.asset} of {pin.partition}, {pin.key}" for pin in removed])


def _pins(_: argparse.Namespace) -> None:
    pins = read_pins(open_store())
    write_lines(sys.stdout, _pin_lines(pins) if pins else ["nothing is pinned"])


def _pin_lines(pins: Iterable[Pin]) -> list[str]:
    rows = [(pin.partition, pin.asset, pin.key, pin.pinned, escaped(pin.note)) for pin in pins]
    return table([("dataset", "stage", "key", "pinned", "note"), *rows])


def _named(name: str) -> tuple[str, str | None]:
    from aflite_assets.stages.pipeline import STAGES

    partition, _, stage = name.partition(".")
    if stage and stage not in STAGES:
        raise InvalidInputError(
            f"there is no stage {stage!r}{did_you_mean(stage, STAGES)} (received {name!r}); name one of the stages "
            f"{', '.join(STAGES)}, or give only the name of the dataset"
        )
    return partition, stage or None
