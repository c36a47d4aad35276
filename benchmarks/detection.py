"""How often the scan names a planted cue, and how often it finds a false artefact where there is none.

    python -m benchmarks.detection nulls --draws 100
    python -m benchmarks.detection planted --strength 0.6 --draws 50

Prints a line per kind: how often, of how many draws, the rate with its exact 95 % bounds (Clopper and Pearson), and
seconds per scan. A cue is named if the rows of one of the first two cues overlap with its carriers by at least half
(Jaccard). A false artefact is any artefact, or all artefacts together at least 5 points over chance. Draw i of a kind
depends on the seed, the kind and i alone.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from zlib import crc32

import numpy as np

from aflite_assets.scan.cues import ScanResult
from aflite_assets.scan.merging import jaccard
from aflite_assets.scan.scan import ScanSettings, scan_rows
from benchmarks.detection_kinds import NULLS, PLANTED, Drawn

LEAST_OVERLAP = 0.5
"""Jaccard similarity of a cue's rows and the planted carriers from which the cue is named."""

FIRST = 2
"""Cues that are looked at."""


def is_named(result: ScanResult, carriers: np.ndarray) -> bool:
    """Return True if one of the first cues has about the rows of the planted one. `carriers`: bool of shape (rows,)."""
    return any(
        jaccard(result.carriers[:, place], carriers) >= LEAST_OVERLAP for place in range(len(result.cues))[:FIRST]
    )


def has_artefact(result: ScanResult) -> bool:
    """Return True if the scan would end with the exit code of an artefact."""
    return bool(result.artefacts) or result.is_spread


def bounds(hits: int, draws: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a rate."""
    from scipy.stats import binomtest

    interval = binomtest(hits, draws).proportion_ci(0.95)
    return float(interval.low), float(interval.high)


def scanned(drawn: Drawn, seed: int) -> ScanResult:
    """Scan one draw."""
    return scan_rows(drawn.rows, settings=ScanSettings(irrelevant=drawn.irrelevant), seed=seed)


def count_hits(
    draw: Callable[[np.random.Generator], Drawn], is_hit: Callable[[ScanResult, Drawn], bool], *, seed: int, draws: int
) -> tuple[int, float]:
    """Return how many draws are hits, and seconds per scan."""
    hits, seconds = 0, 0.0
    for number in range(draws):
        drawn = draw(np.random.default_rng([seed, number]))
        started = time.perf_counter()
        result = scanned(drawn, number)
        seconds += time.perf_counter() - started
        hits += is_hit(result, drawn)
    return hits, seconds / draws


def lines(options: argparse.Namespace) -> Iterator[str]:
    """Yield a line per kind as soon as it is counted."""
    kinds = NULLS if options.what == "nulls" else PLANTED
    for name, make in kinds.items():
        if options.kind and name not in options.kind:
            continue
        draw = make if options.what == "nulls" else lambda rng, make=make: make(rng, options.strength)
        is_hit = (
            (lambda result, drawn: has_artefact(result))
            if options.what == "nulls"
            else (lambda result, drawn: is_named(result, drawn.carriers))
        )
        hits, seconds = count_hits(draw, is_hit, seed=options.seed + crc32(name.encode()), draws=options.draws)
        low, high = bounds(hits, options.draws)
        yield (
            f"{name:26s} {hits:4d} of {options.draws}  {100 * hits / options.draws:5.1f} % "
            f"[{100 * low:.1f}, {100 * high:.1f}]  {seconds:.1f} s"
        )


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("nulls", "planted"))
    parser.add_argument("--strength", type=float, default=0.6, help="share of the class that carries the planted cue")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", help="only this kind; may be repeated")
    for line in lines(parser.parse_args()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
