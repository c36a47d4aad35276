"""The same draws for other tools: columns that they read, files for tools with an environment of their own, judgement.

    python -m benchmarks.detection_real.other_tools export FOLDER --draws 4    # then run tool_runs.py on the folder
    python -m benchmarks.detection_real.other_tools auc FOLDER --draws 20      # more draws for the single columns
    python -m benchmarks.detection_real.other_tools table FOLDER

Other tools name properties and no rows. So a cue counts as named if the property that was planted is among the first
two by the tool's own score, whatever the score is; that is kinder than what the scan is held to. `NAMES` lists which
names count. A cue of a kind for which a tool has no property counts as missed, and the table says "cannot".
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from aflite_assets.scan.rows import ScanRows, TableColumn
from benchmarks.detection_kinds import Drawn
from benchmarks.detection_real.cells import CELLS, Cell

CHOSEN = (("50/50", 0.3), ("50/50", 0.6), ("95/5", 0.6), ("real", 0.6))
"""Settings in which other tools are run."""

TOOLS = ("column AUC", "deepchecks", "Datalab")
FIRST = 2
SIGNS = ".,;:!?'\"-()\u2019\u2014\u201c\u201d"

NAMES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "leaking id": {
        "column AUC": frozenset({"record_no"}),
        "deepchecks": frozenset({"record_no"}),
    },
    "missing pattern": {"column AUC": frozenset({"planted column"}), "deepchecks": frozenset({"planted column"})},
    "position": {"column AUC": frozenset({"row"}), "deepchecks": frozenset({"row"})},
    "typography": {
        "column AUC": frozenset({"count of .", "count of \u2019", "count of \u2014"}),
        "deepchecks": frozenset({"% Special Characters", "% Punctuation"}),
    },
    "source phrase": {},
    "length": {"column AUC": frozenset({"characters", "words"}), "deepchecks": frozenset({"Text Length"})},
    "image corner": {},
    "compression": {"column AUC": frozenset({"bytes"})},
}
"""Per kind and tool the names that count; a tool that is missing has no such property."""

CANNOT = {("texts", "position", "deepchecks"), ("pairs", "position", "deepchecks")}
"""Kinds for which a tool has a property in one input only: deepchecks tests the index of tables alone."""


def simple_columns(rows: ScanRows) -> dict[str, np.ndarray]:
    """Return what anyone would try first, float64: columns, row number, lengths, counts of signs, bytes."""
    columns = {name: _numbers(column) for name, column in rows.columns.items()}
    columns["row"] = rows.order
    if rows.texts:
        texts = [text or "" for text in rows.texts[list(rows.texts)[-1]]]
        measures: dict[str, Callable[[str], int]] = {"characters": len, "words": lambda text: len(text.split())}
        for sign in SIGNS:
            measures[f"count of {sign}"] = lambda text, sign=sign: text.count(sign)  # type: ignore[misc]
        columns |= {
            name: np.array([measure(text) for text in texts], dtype=float) for name, measure in measures.items()
        }
    if rows.images is not None:
        columns["bytes"] = np.array([len(one["bytes"].as_py()) for one in rows.images], dtype=float)
    return columns


def _numbers(column: TableColumn) -> np.ndarray:
    """Return numbers as they are, and other values by how often each stands."""
    try:
        return np.array([np.nan if value is None else float(value) for value in column.values])
    except ValueError:
        _, codes, counts = np.unique(np.array(column.values, dtype=object), return_inverse=True, return_counts=True)
        return np.asarray(counts[codes] + codes / 1e6, dtype=np.float64)


def ranked_by_auc(columns: Mapping[str, np.ndarray], is_class: np.ndarray) -> list[tuple[str, float]]:
    """Return columns with max(AUC, 1 - AUC) for the class, the largest first; a missing value is the smallest."""
    from sklearn.metrics import roc_auc_score

    found = []
    for name, values in columns.items():
        area = roc_auc_score(is_class, np.nan_to_num(values, nan=-1e300))
        found.append((name, max(area, 1 - area)))
    return sorted(found, key=lambda item: -item[1])


def planted_columns(drawn: Drawn) -> set[str]:
    """Return the two columns that carriers lack, those with the most missing values."""
    gone = {
        name: int(np.isnan(column.values).sum())
        for name, column in drawn.rows.columns.items()
        if isinstance(column.values, np.ndarray) and column.role == "column"
    }
    return set(sorted(gone, key=lambda name: -gone[name])[:2])


def names_planted(tool: str, kind: str, ranked: Sequence[str], planted: set[str]) -> bool:
    """Return True if one of the first names is that of the planted property."""
    right = NAMES[kind].get(tool, frozenset())
    if "planted column" in right:
        right = frozenset(planted)
    return bool(right & set(ranked[:FIRST]))


def can_name(tool: str, cell: Cell) -> bool:
    """Return True if the tool has a property that is the planted one."""
    return tool in NAMES[cell.kind.name] and (cell.kind.input, cell.kind.name, tool) not in CANNOT


def chosen_draws(draws: int) -> Iterator[tuple[Cell, int]]:
    """Yield the draws that other tools get, the same as the scan's."""
    for cell in CELLS:
        if (cell.labels, cell.strength) in CHOSEN:
            for number in range(draws):
                yield cell, number


def rank_draws(folder: Path, draws: int, *, with_files: bool) -> None:
    """Rank the columns of each draw by AUC, and write its rows as CSV with images beside it if `with_files`.

    Draws that the folder has are left alone.
    """
    for cell, number in chosen_draws(draws):
        own = folder / f"{CELLS.index(cell):03d}_{number:03d}"
        if (own / "draw.json").exists():
            continue
        own.mkdir(parents=True, exist_ok=True)
        drawn = cell.draw(number)
        if with_files:
            _write_rows(own, drawn.rows)
        told = {
            "input": cell.kind.input, "kind": cell.kind.name, "labels": cell.labels, "strength": cell.strength,
            "number": number, "planted": sorted(planted_columns(drawn)) if cell.kind.name == "missing pattern" else [],
            "column AUC": ranked_by_auc(simple_columns(drawn.rows), drawn.rows.labels == 1)[:5],
            "tools": [tool for tool in TOOLS if can_name(tool, cell)],
        }  # fmt: skip
        (own / "draw.json").write_text(json.dumps(told), encoding="utf-8")


def _write_rows(folder: Path, rows: ScanRows) -> None:
    import pyarrow as pa
    from pyarrow import csv

    columns = {name: pa.array(column.values) for name, column in rows.columns.items()}
    table = pa.table({"label": rows.labels, "row": rows.order, **columns, **rows.texts})
    csv.write_csv(table, folder / "rows.csv")
    if rows.images is not None:
        (folder / "images").mkdir(exist_ok=True)
        for place, image in enumerate(rows.images):
            (folder / "images" / f"{place:05d}.jpg").write_bytes(image["bytes"].as_py())


def table(folder: Path) -> Iterator[str]:
    """Yield a Markdown table: a row per kind and setting, a column per tool."""
    told = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*/draw.json"))]
    found = [
        _with_results(one, path.parent) for one, path in zip(told, sorted(folder.glob("*/draw.json")), strict=True)
    ]
    yield "| input | kind | labels, strength | " + " | ".join(TOOLS) + " |"
    yield "|---|---|---|" + "--:|" * len(TOOLS)
    for cell in CELLS:
        own = [one for one in found if _is_of(one, cell)]
        if own:
            setting = f"{cell.labels}, {100 * cell.strength:.0f} %"
            shown = [_counted(tool, cell, own) for tool in TOOLS]
            yield f"| {cell.kind.input} | {cell.kind.name} | {setting} | " + " | ".join(shown) + " |"


def _with_results(told: dict[str, object], folder: Path) -> dict[str, object]:
    for tool in TOOLS[1:]:
        path = folder / f"{tool}.json"
        if path.exists():
            told[tool] = json.loads(path.read_text(encoding="utf-8"))
    return told


def _is_of(told: Mapping[str, object], cell: Cell) -> bool:
    own = (cell.kind.input, cell.kind.name, cell.labels, cell.strength)
    return (told["input"], told["kind"], told["labels"], told["strength"]) == own


def _counted(tool: str, cell: Cell, draws: Sequence[Mapping[str, object]]) -> str:
    if not can_name(tool, cell):
        return "cannot"
    run = [one for one in draws if tool in one]
    hits = 0
    for one in run:
        ranked, planted = one[tool], one["planted"]
        assert isinstance(ranked, list)
        assert isinstance(planted, list)
        hits += names_planted(tool, cell.kind.name, [name for name, score in ranked if score > 0], set(planted))
    return f"{hits} of {len(run)}" if run else "not run"


def main() -> None:
    """Rank, export or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("export", "auc", "table"))
    parser.add_argument("folder", type=Path, help="where the draws are written")
    parser.add_argument("--draws", type=int, default=6, help="draws of each cell")
    options = parser.parse_args()
    if options.what == "table":
        print(*table(options.folder), sep="\n")
    else:
        rank_draws(options.folder, options.draws, with_files=options.what == "export")


if __name__ == "__main__":
    main()
