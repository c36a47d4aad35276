"""An analysis as files, and back: a Parquet file per tidy table, a JSON file per other part."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from aflite_assets.analysis.analysis import TABLES, Analysis
from aflite_assets.analysis.inputs.records import EvidenceTable
from aflite_assets.analysis.json_values import to_json
from aflite_assets.errors import DataError

TABLES_FOLDER, EVIDENCE_FOLDER = "tables", "evidence"
EVIDENCE_FILE = "evidence.json"

FILES: Mapping[str, str] = {one.name: f"{one.name}.json" for one in fields(Analysis) if one.name != "tables"} | {
    "verdicts": "verdict.json"
}
"""The file of each part of an analysis except its tables."""


def write_analysis(analysis: Analysis, folder: Path) -> None:
    """Write every part into an existing folder: `tables/<name>.parquet` and the `FILES`."""
    (folder / TABLES_FOLDER).mkdir()
    for table, _ in TABLES:
        pq.write_table(table.to_arrow(analysis.of(table)), folder / TABLES_FOLDER / f"{table.name}.parquet")
    for name, file in FILES.items():
        text = json.dumps(to_json(getattr(analysis, name)), indent=1, allow_nan=False)
        (folder / file).write_text(text, encoding="utf-8")


def read_analysis(folder: Path) -> Analysis:
    """Read what `write_analysis` wrote.

    Raises DataError if another version of this code wrote it.
    """
    try:
        return _read(folder)
    except (ValidationError, FileNotFoundError) as error:
        raise DataError(
            f"{folder} was written by another version ({str(error).splitlines()[0]}); materialise analysis again"
        ) from error


def _read(folder: Path) -> Analysis:
    hints = get_type_hints(Analysis)
    parts: dict[str, Any] = {
        name: TypeAdapter(hints[name]).validate_json((folder / file).read_bytes()) for name, file in FILES.items()
    }
    tables = {
        table.name: table.from_arrow(pq.read_table(folder / TABLES_FOLDER / f"{table.name}.parquet"))
        for table, _ in TABLES
    }
    return Analysis(tables=tables, **parts)


def write_evidence(evidence: Sequence[EvidenceTable], folder: Path) -> None:
    """Write each table of statistics as `evidence/<number>.parquet`, and their titles and captions."""
    (folder / EVIDENCE_FOLDER).mkdir()
    for number, one in enumerate(evidence):
        pq.write_table(one.table, folder / EVIDENCE_FOLDER / f"{number:02d}.parquet")
    titles = [{"title": one.title, "caption": one.caption} for one in evidence]
    (folder / EVIDENCE_FILE).write_text(json.dumps(titles, indent=1), encoding="utf-8")


def read_evidence(folder: Path) -> tuple[EvidenceTable, ...]:
    """Read what `write_evidence` wrote."""
    titles = json.loads((folder / EVIDENCE_FILE).read_text(encoding="utf-8"))
    return tuple(
        EvidenceTable(**one, table=pq.read_table(folder / EVIDENCE_FOLDER / f"{number:02d}.parquet"))
        for number, one in enumerate(titles)
    )
