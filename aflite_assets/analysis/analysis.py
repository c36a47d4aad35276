"""The numbers of one report: facts, tidy tables, evidence and verdicts. The numbers are computed once, written to files
and read back.

Each table has a module of its own, which computes the rows and defines the dataclass of a row.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from aflite_assets.analysis import filtering
from aflite_assets.analysis.comparisons.attributes import ATTRIBUTE_ACCURACIES, attribute_accuracies
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Lack, deciding_lack, differences
from aflite_assets.analysis.comparisons.edited_copies import EDITS, set_edits
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, FALLS, Fall, challenge_falls, fall_terms
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict, filtering_verdicts
from aflite_assets.analysis.comparisons.leanings import LEANINGS, property_leanings
from aflite_assets.analysis.facts import DatasetFacts, dataset_facts
from aflite_assets.analysis.inputs.cues import CUES, PLANTED, SIMILARITIES, FilteringCue, MeanSimilarity
from aflite_assets.analysis.inputs.learning_curve import WARMUP_CURVE, curve_points
from aflite_assets.analysis.inputs.records import RANKING_OVERLAP, BenchmarkData, EvidenceTable, Training
from aflite_assets.analysis.rows import measured
from aflite_assets.analysis.scores import score_tables
from aflite_assets.analysis.scores.judges import Judging, judging
from aflite_assets.analysis.tidy import TidyTable, record_of, to_json
from aflite_assets.checks import CheckOutcome
from aflite_assets.errors import DataError
from aflite_assets.scan.cues import ScanFacts
from aflite_assets.studies import parts

_Record = TypeVar("_Record")

TABLES: tuple[tuple[TidyTable[object], Callable[[BenchmarkData], Iterable[object]]], ...] = (
    (score_tables.TRAININGS, lambda data: (record_of(Training, cell) for cell in data.cells)),
    (score_tables.SCORES, score_tables.seed_scores),
    (score_tables.ACCURACIES, lambda data: score_tables.score_table(data).values()),
    (DIFFERENCES, differences),
    (FALLS, fall_terms),
    (measured.DATA_MAPS, measured.data_map_means),
    (measured.ANSWER_PICKS, measured.answer_picks),
    (measured.ANNOTATORS, measured.annotator_agreement),
    (RANKING_OVERLAP, lambda data: (row for pair in data.rankings.values() for row in pair.overlaps)),
    (filtering.ITERATIONS, lambda data: chain.from_iterable(map(filtering.filter_table, data.filtered))),
    (
        filtering.CLASS_SHARES,
        lambda data: (row for one in data.filtered for row in filtering.class_shares(one, len(data.label_names))),
    ),
    (filtering.PREDICTABILITY, lambda data: chain.from_iterable(map(filtering.predictability_counts, data.filtered))),
    (filtering.PREDICTABILITY_BY_ITERATION, lambda data: data.score_bins),
    (
        measured.LENGTHS,
        lambda data: (
            row for f in data.filtered for row in measured.length_shares(data.examples, f, data.source.named)
        ),
    ),
    (
        SIMILARITIES,
        lambda data: (record_of(MeanSimilarity, s) for each in data.similarities.values() for s in chain(*each)),
    ),
    (WARMUP_CURVE, lambda data: curve_points(data.warmup_curves)),
    (PLANTED, lambda data: data.planted),
    (LEANINGS, property_leanings),
    (CHALLENGE_FALLS, challenge_falls),
    (EDITS, set_edits),
    (ATTRIBUTE_ACCURACIES, attribute_accuracies),
    (CUES, lambda data: (FilteringCue(**vars(c), representation=r) for r, each in data.cues.items() for c in each)),
    *chain.from_iterable(parts("analysis.analysis", tuple)),
)
"""Every tidy table, in the order of publication, with the function that makes its records."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """The numbers of one report: `tables` by name, and one verdict per filtering, with the most informative verdict
    first.

    `scan`: the cues that predict the label by themselves; None if the rows were not scanned. `undecided`: the reason
    why no comparison can decide whether filtering helps, or None if at least one comparison can.
    """

    facts: DatasetFacts
    tables: Mapping[str, tuple[object, ...]]
    verdicts: tuple[FilteringVerdict, ...]
    judging: Judging
    undecided: Lack | None
    checks: tuple[CheckOutcome, ...]
    scan: ScanFacts | None

    def of(self, table: TidyTable[_Record], representation: str | None = None) -> tuple[_Record, ...]:
        """Return the records of a table, or only the records of one filtering if `representation` is given."""
        records: tuple[Any, ...] = self.tables.get(table.name, ())
        return records if representation is None else tuple(r for r in records if r.representation == representation)

    def falls(self, representation: str, *, challenge: bool = False) -> tuple[Fall, ...]:
        """Return the falls in accuracy of one filtering, one per evaluator and natural test set. If `challenge` is
        True, return the falls on challenge sets instead.
        """
        by_set = groupby(self.of(FALLS, representation), attrgetter("test_set", "evaluator"))
        found = (tuple(terms) for _, terms in by_set)
        return tuple(fall for fall in found if self.facts.test_set[fall[0].test_set].challenge == challenge)


def analyse(data: BenchmarkData) -> Analysis:
    """Compute all numbers that a report states. Raises DataError if predictions do not match the rows of their test
    set.
    """
    return Analysis(
        facts=dataset_facts(data),
        tables={table.name: tuple(make(data)) for table, make in TABLES},
        verdicts=filtering_verdicts(data),
        judging=judging(data),
        undecided=deciding_lack(data),
        checks=data.checks,
        scan=data.scan,
    )


TABLES_FOLDER, EVIDENCE_FOLDER = "tables", "evidence"
EVIDENCE_FILE = "evidence.json"

FILES: Mapping[str, str] = {one.name: f"{one.name}.json" for one in fields(Analysis) if one.name != "tables"} | {
    "verdicts": "verdict.json"
}
"""The file name of each part of an analysis except its tables."""


def write_analysis(analysis: Analysis, folder: Path) -> None:
    """Write the analysis into an existing folder: each table as `tables/<name>.parquet`, and the files named in
    `FILES`.
    """
    (folder / TABLES_FOLDER).mkdir()
    for table, _ in TABLES:
        pq.write_table(table.to_arrow(analysis.of(table)), folder / TABLES_FOLDER / f"{table.name}.parquet")
    for name, file in FILES.items():
        text = json.dumps(to_json(getattr(analysis, name)), indent=1, allow_nan=False)
        (folder / file).write_text(text, encoding="utf-8")


def read_analysis(folder: Path) -> Analysis:
    """Read the analysis that `write_analysis` wrote. Raises DataError if another version of this code wrote the
    files.
    """
    try:
        return _read(folder)
    except (ValidationError, FileNotFoundError) as error:
        raise DataError(
            f"{folder} was written by another version of this code ({str(error).splitlines()[0]}); materialise "
            "`analysis` again"
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
    """Write each table of statistics as `evidence/<number>.parquet`, and the titles and captions of all tables as one
    JSON file.
    """
    (folder / EVIDENCE_FOLDER).mkdir()
    for number, one in enumerate(evidence):
        pq.write_table(one.table, folder / EVIDENCE_FOLDER / f"{number:02d}.parquet")
    titles = [{"title": one.title, "caption": one.caption} for one in evidence]
    (folder / EVIDENCE_FILE).write_text(json.dumps(titles, indent=1), encoding="utf-8")


def read_evidence(folder: Path) -> tuple[EvidenceTable, ...]:
    """Read the tables of statistics that `write_evidence` wrote."""
    titles = json.loads((folder / EVIDENCE_FILE).read_text(encoding="utf-8"))
    return tuple(
        EvidenceTable(**one, table=pq.read_table(folder / EVIDENCE_FOLDER / f"{number:02d}.parquet"))
        for number, one in enumerate(titles)
    )
