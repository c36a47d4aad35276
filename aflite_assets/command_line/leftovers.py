"""Leftover results and runs of datasets without a YAML file: lines for `aflite status`, and a prompt for `aflite
prune`.
"""

import os
import sys
from collections.abc import Iterator, Mapping

from aflite_assets.command_line.terminal import size, write_lines
from aflite_assets.results.locks import occupant
from aflite_assets.results.store import ResultStore
from aflite_assets.wording import counted


def find_leftovers(store: ResultStore) -> dict[str, str]:
    """Describe the results, queued runs and listed partitions of datasets without a YAML file, by dataset.

    Datasets that a process is running are left out. Dagster's instance is examined if `DAGSTER_HOME` is set.
    """
    from aflite_assets.specs.registry import load_registry

    made = store.datasets()
    registry = load_registry(made=made)
    queued: Mapping[str, list[str]] = {}
    listed: frozenset[str] = frozenset()
    if os.environ.get("DAGSTER_HOME"):
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


def confirmed() -> bool:
    """Return True if the user confirms on the terminal that the leftovers may be deleted."""
    if not sys.stdin.isatty():
        kept = "kept, because there is no terminal for a confirmation; `aflite prune --yes` removes the leftovers"
        write_lines(sys.stdout, [kept])
        return False
    sys.stdout.write("Remove all leftovers permanently? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
