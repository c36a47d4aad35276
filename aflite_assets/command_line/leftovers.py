"""Leftover results and runs of datasets without a YAML file: lines for `aflite status`, and a prompt for `aflite
prune`.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aflite_assets.command_line.terminal import size, write_lines
from aflite_assets.results.locks import occupant
from aflite_assets.results.store import ResultStore
from aflite_assets.wording import counted

if TYPE_CHECKING:
    from aflite_assets.automation.leftovers import InstanceLeftovers


@dataclass(frozen=True)
class Leftovers:
    """Leftovers of datasets without a YAML file.

    `words`: a description of the leftovers by dataset. `instance`: the leftovers in Dagster's instance, or None if
    `DAGSTER_HOME` is not set.
    """

    words: Mapping[str, str]
    instance: "InstanceLeftovers | None"


def find_leftovers(store: ResultStore) -> Leftovers:
    """Find results, queued runs and listed partitions of datasets without a YAML file.

    Datasets that a process is running are left out.
    """
    from aflite_assets.specs.registry import load_registry

    made = store.datasets()
    registry = load_registry(made=made)
    instance = None
    if os.environ.get("DAGSTER_HOME"):
        # Imported here: Dagster takes seconds.
        from aflite_assets.automation import leftovers

        instance = leftovers.find_leftovers(registry)
    queued, listed = ({}, frozenset()) if instance is None else (instance.queued, instance.listed)
    words = {}
    for name in sorted({*registry.without_file(made), *queued, *listed}):
        parts = [
            f"{size(store.size(name))} of results" if name in made else "",
            counted(len(queued[name]), "queued run") if name in queued else "",
            "a partition that Dagster lists" if name in listed else "",
        ]
        if occupant(store.locks_folder, name) is None:
            words[name] = ", ".join(filter(None, parts))
    return Leftovers(words, instance)


def leftover_lines(found: Leftovers) -> Iterator[str]:
    """Yield a heading, and one line for each dataset with leftovers. Yields nothing if there are no leftovers."""
    if found.words:
        yield "leftovers of datasets without a YAML file (`aflite prune` removes them after a confirmation):"
        yield from (f"  {name}: {words}" for name, words in found.words.items())


def confirmed() -> bool:
    """Return True if the user confirms on the terminal that the leftovers may be deleted."""
    if not sys.stdin.isatty():
        kept = "kept, because there is no terminal for a confirmation; `aflite prune --yes` removes the leftovers"
        write_lines(sys.stdout, [kept])
        return False
    sys.stdout.write("Remove all leftovers permanently? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
