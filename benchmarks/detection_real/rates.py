"""Run the scan on planted real data and on data without a cue, and print how often it is right.

    python -m benchmarks.detection_real.rates planted rates.jsonl --draws 6
    python -m benchmarks.detection_real.rates planted rates.jsonl --draws 40 --labels 50/50 --strength 0.6
    python -m benchmarks.detection_real.rates nulls rates.jsonl --draws 100
    python -m benchmarks.detection_real.rates table rates.jsonl

Draws that the file already has are not run again, so a longer run goes on where a shorter one ended. Kinds are in
`plants` and `detection_kinds`, what counts as named and as a false artefact in `detection`.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from benchmarks.detection import bounds, has_artefact, is_named, scanned
from benchmarks.detection_kinds import NULLS
from benchmarks.detection_real.cells import (
    CELLS,
    LABELS,
    STRENGTHS,
    Cell,
    Record,
    add_record,
    is_within_reach,
    of_cell,
    read_records,
)
from benchmarks.detection_real.plants import KINDS


def scan_draw(cell: Cell, number: int) -> Record:
    """Scan one draw of a cell."""
    drawn = cell.draw(number)
    started = time.perf_counter()
    result = scanned(drawn, number)
    seconds = time.perf_counter() - started
    assert drawn.carriers is not None
    return Record(
        cell.kind.input, cell.kind.name, cell.labels, cell.strength, number, cell.dataset(number),
        is_named(result, drawn.carriers), is_within_reach(drawn), round(seconds, 2),
        [cue.name for cue in result.cues[:3]],
    )  # fmt: skip


def scan_null(kind: str, number: int) -> Record:
    """Scan one draw without a cue."""
    drawn = NULLS[kind](np.random.default_rng([crc32(kind.encode()), number]))
    started = time.perf_counter()
    result = scanned(drawn, number)
    seconds = time.perf_counter() - started
    names = [cue.name for cue in result.artefacts[:3]] or (["all artefacts together"] if result.is_spread else [])
    return Record("nulls", kind, "", 0.0, number, "", has_artefact(result), None, round(seconds, 2), names)


def run_planted(store: Path, cells: Sequence[Cell], draws: int) -> None:
    """Scan the draws of these cells that the store lacks, in rounds over all cells."""
    known = {record.key for record in read_records(store)}
    for number in range(draws):
        for cell in cells:
            key = (cell.kind.input, cell.kind.name, cell.labels, cell.strength, number)
            if key not in known:
                add_record(store, scan_draw(cell, number))


def run_nulls(store: Path, draws: int, kinds: Sequence[str]) -> None:
    """Scan the draws without a cue that the store lacks."""
    known = {record.key for record in read_records(store)}
    for number in range(draws):
        for kind in NULLS:
            if ("nulls", kind, "", 0.0, number) not in known and (not kinds or kind in kinds):
                add_record(store, scan_null(kind, number))


def planted_table(records: Sequence[Record], labels: str) -> Iterator[str]:
    """Yield a Markdown table of one setting of labels: a row per kind, a column per strength."""
    yield "| input | kind | " + " | ".join(f"{100 * strength:.0f} %" for strength in STRENGTHS) + " |"
    yield "|---|---|" + "--:|" * len(STRENGTHS)
    for kind in KINDS:
        shown = [_shown(of_cell(records, Cell(kind, labels, strength))) for strength in STRENGTHS]
        yield f"| {kind.input} | {kind.name} | " + " | ".join(shown) + " |"


def _shown(records: Sequence[Record]) -> str:
    """Return "38 of 40 [83]": named, draws, lower bound in per cent; and how many were out of reach."""
    if not records:
        return "not run"
    hits = sum(record.hit for record in records)
    beyond = sum(not record.within_reach for record in records)
    low, _ = bounds(hits, len(records))
    return f"{hits} of {len(records)} [{100 * low:.0f}]" + (f", {beyond} out of reach" if beyond else "")


def null_table(records: Sequence[Record]) -> Iterator[str]:
    """Yield a Markdown table of false artefacts."""
    yield "| kind | false artefacts | upper bound | seconds |"
    yield "|---|--:|--:|--:|"
    for kind in NULLS:
        own = [record for record in records if (record.input, record.kind) == ("nulls", kind)]
        if own:
            hits = sum(record.hit for record in own)
            _, high = bounds(hits, len(own))
            seconds = float(np.median([record.seconds for record in own]))
            yield f"| {kind} | {hits} of {len(own)} | {100 * high:.1f} % | {seconds:.1f} |"


def missed(records: Sequence[Record]) -> Iterator[str]:
    """Yield a line for each draw that went wrong."""
    for one in records:
        if one.hit == (one.input == "nulls"):
            reach = "" if one.within_reach is not False else " (out of reach)"
            yield (
                f"{one.input} {one.kind} {one.labels} {one.strength} {one.dataset} #{one.number}{reach}: "
                f"{list(one.first)}"
            )


def chosen_cells(options: argparse.Namespace) -> list[Cell]:
    """Return the cells that the options name; all of them without."""
    return [
        cell
        for cell in CELLS
        if (not options.kind or cell.kind.name in options.kind)
        and (not options.labels or cell.labels in options.labels)
        and (not options.strength or cell.strength in options.strength)
    ]


def main() -> None:
    """Run or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("planted", "nulls", "table", "missed"))
    parser.add_argument("store", type=Path, help="file of records, JSON lines")
    parser.add_argument("--draws", type=int, default=20, help="draws of each cell, or of each kind without a cue")
    parser.add_argument("--kind", action="append", default=[], help="only this kind; may be repeated, as all of these")
    parser.add_argument("--labels", action="append", default=[], choices=LABELS, help="only this setting of labels")
    parser.add_argument("--strength", action="append", default=[], type=float, help="only this strength")
    options = parser.parse_args()
    if options.what == "planted":
        run_planted(options.store, chosen_cells(options), options.draws)
    elif options.what == "nulls":
        run_nulls(options.store, options.draws, options.kind)
    elif options.what == "missed":
        for line in missed(read_records(options.store)):
            print(line)
    else:
        records = read_records(options.store)
        for labels in LABELS:
            print(f"\nLabels {labels}\n", *planted_table(records, labels), sep="\n")
        print("", *null_table(records), sep="\n")


if __name__ == "__main__":
    main()
