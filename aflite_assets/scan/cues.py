"""Records and tables of the results of a scan."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
import pyarrow as pa

from aflite_assets.diagnostics.properties.artefacts import Reason
from aflite_assets.diagnostics.record_tables import table_of
from aflite_assets.scan.blind.records import OVERLAP, BlindScores
from aflite_assets.scan.statistics.reach import NOT_FOUND
from aflite_assets.scan.surface import SurfaceAccuracy

State = Literal["holds", "weaker", "gone", "reversed", "cannot tell"]
"""Strength of a cue in another set, relative to the scanned rows: equal, weaker, absent, or opposite."""


UNSEEN = frozenset({"order", "copies"})
"""Kinds of properties that a model cannot compute from a single row."""

ALL_TOGETHER = "all artefacts together"
"""Name shown instead of an artefact if no single artefact predicts the label, but one model on all artefacts does."""


@dataclass(frozen=True)
class Elsewhere:
    """Strength of a cue in a set other than the scanned set.

    `balanced`, `low`, `high`: balanced accuracy with a 95 % interval; None if not measured.
    """

    name: str
    rows: int
    state: State
    balanced: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CueProperty:
    """One of the properties that make up a cue.

    `kind` and `name`: kind and name of the property. Kind and name do not depend on the range or negation that the cue
    uses. `source`: the column or text that the property is computed from, or "" if there is no single column.
    """

    kind: str
    name: str
    source: str


@dataclass(frozen=True)
class Cue:
    """A property that predicts a class by itself.

    `name`: a readable name that may contain dataset text and must be escaped. `kind` and `reason`: the kind of the
    property, and why the property is an artefact; `reason` is None for a candidate. `label`: name of the predicted
    class. `rows`: the number of scanned rows with the cue. `share_of_class`, `share_of_rest`: the share of rows that
    have the cue, among the rows of the class and among all other rows. `precision`: among the rows with the cue, the
    share of rows that have the class. `base_rate`: share of all rows that have the class. `balanced`, `low`, `high`:
    balanced accuracy of the cue alone on held-out rows, with a 95 % interval. `p_value`: the p-value of the cue,
    adjusted for all artefacts if the cue is an artefact, else for all candidates. `tested_rows` and `tested_precision`:
    number of held-out rows with the cue, and the share of held-out rows with the cue that have the class. `synonyms`:
    names of cues with nearly the same rows. `explained_by`: number of a stronger cue that explains this cue, or None.
    `properties`: the properties that make up the cue. `same_properties`: properties of cues with nearly the same rows,
    including negations.
    """

    number: int
    name: str
    kind: str
    reason: Reason | None
    label: str
    rows: int
    share_of_class: float
    share_of_rest: float
    precision: float
    base_rate: float
    balanced: float
    low: float
    high: float
    p_value: float
    synonyms: tuple[str, ...] = ()
    explained_by: int | None = None
    elsewhere: tuple[Elsewhere, ...] = ()
    properties: tuple[CueProperty, ...] = ()
    same_properties: tuple[CueProperty, ...] = ()
    tested_rows: int = 0
    tested_precision: float = 0.0

    @property
    def is_artefact(self) -> bool:
        """Whether the cue is an artefact, which cannot be part of the task."""
        return self.reason is not None

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of the properties that make up the cue."""
        return frozenset(one.kind for one in self.properties) or frozenset({self.kind})

    def shares_properties(self, other: "Cue") -> bool:
        """Return True if both cues have the same properties, or a property that nearly the same rows have.

        Ranges are ignored. Cues without known properties are compared by name.
        """
        if not self.properties or not other.properties:
            return self.name == other.name
        own = [set(self.properties), *({one} for one in self.same_properties)]
        return any(each in own for each in (set(other.properties), *({one} for one in other.same_properties)))


def same_cue(cue: Cue, others: Sequence[Cue], *, any_class: bool) -> Cue | None:
    """Return the cue of another scan that is the same cue, perhaps with another range, or None.

    `any_class`: whether the classes may differ. If there are two classes, a range and its negation are the same cue.
    """
    matches = [other for other in others if (any_class or other.label == cue.label) and cue.shares_properties(other)]
    return max(matches, key=lambda other: (other.label == cue.label, other.balanced), default=None)


@dataclass(frozen=True)
class ClassSize:
    """Size of a class among the scanned rows.

    `detectable` and `detectable_artefact`: balanced accuracy of the weakest candidate, and of the weakest artefact,
    that the scan finds in about 80 % of data sets with such rows (module `reach`). The value 1 means that cues of any
    strength can be missed. `detectable` is None if the class has too few rows to be tested. `detectable_artefact` is
    None in such a class, and in results of earlier versions.
    """

    name: str
    rows: int
    detectable: float | None
    detectable_artefact: float | None = None

    @property
    def is_tested(self) -> bool:
        """Whether the class has enough rows to be tested."""
        return self.detectable is not None

    @property
    def reach(self) -> float:
        """Strength from which on cues of every kind are found; 1 if cues of any strength can be missed."""
        return max(self.detectable or NOT_FOUND, self.reach_of_artefacts)

    @property
    def reach_of_artefacts(self) -> float:
        """Strength from which on artefacts are found; 1 if artefacts of any strength can be missed."""
        return self.detectable_artefact or self.detectable or NOT_FOUND


Verdict = Literal["nothing", "candidates", "artefact", "cannot tell"]
"""The strongest finding of a scan."""


@dataclass(frozen=True)
class ScanFacts:
    """Results of a scan without data per row.

    `cues`: the cues, artefacts before candidates and strong cues before weak cues. `surface`: accuracy of one linear
    model on all artefacts, or None. `classes`: sizes of the classes, in class order. `rows`, `units`: numbers of
    scanned rows, and of units (rows that belong together). `properties`: the number of tested properties. `notes`:
    sentences about limits of the scan. `blind`: scores of rules that find right answers without the question; None if
    the rows are not answers to questions. `kinds`: the kinds of the tested properties. `few_groups`: whether the number
    and the sizes of groups, instead of the number of rows, limit which cues can be found.
    """

    cues: tuple[Cue, ...]
    surface: SurfaceAccuracy | None
    classes: tuple[ClassSize, ...]
    rows: int
    units: int
    properties: int
    notes: tuple[str, ...]
    blind: BlindScores | None = field(default=None, kw_only=True)
    kinds: tuple[str, ...] = field(default=(), kw_only=True)
    few_groups: bool = field(default=False, kw_only=True)

    @property
    def artefacts(self) -> tuple[Cue, ...]:
        """The cues that cannot be part of the task."""
        return tuple(cue for cue in self.cues if cue.is_artefact)

    @property
    def candidates(self) -> tuple[Cue, ...]:
        """The cues that may be part of the task."""
        return tuple(cue for cue in self.cues if not cue.is_artefact)

    @property
    def own_artefacts(self) -> tuple[Cue, ...]:
        """The artefacts that no stronger cue explains. Cues of overlap with a question are left out, because overlap
        may be part of the task.
        """
        overlap = {cue.number for cue in self.candidates if self.blind is not None and OVERLAP in cue.kinds}
        return tuple(cue for cue in self.artefacts if cue.explained_by is None or cue.explained_by in overlap)

    @property
    def can_tell(self) -> bool:
        """Whether at least one test is possible, because a class has enough rows or there are enough questions."""
        return self.tests_classes or self.blind is not None

    @property
    def tests_classes(self) -> bool:
        """Whether any class has enough rows to be tested."""
        return bool(self.tested_classes)

    @property
    def tested_classes(self) -> tuple[ClassSize, ...]:
        """The classes that have enough rows to be tested."""
        return tuple(one for one in self.classes if one.is_tested)

    @property
    def reach(self) -> float:
        """Strength from which on cues of every kind are found in every tested class."""
        return max((one.reach for one in self.tested_classes), default=NOT_FOUND)

    @property
    def reach_of_artefacts(self) -> float:
        """Strength from which on artefacts are found in every tested class."""
        return max((one.reach_of_artefacts for one in self.tested_classes), default=NOT_FOUND)

    @property
    def tells_without_question(self) -> bool:
        """Whether a rule or model is reported that finds right answers without the question."""
        return self.blind is not None and bool(self.blind.named)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict of the scan. If a linear model on all artefacts predicts the label, the verdict is
        "artefact", even without a single artefact as a cue.
        """
        if not self.can_tell:
            return "cannot tell"
        blind_artefact = self.blind is not None and self.blind.has_artefact
        if self.artefacts or self.is_spread or blind_artefact:
            return "artefact"
        overlap = self.blind is not None and self.blind.overlap is not None
        return "candidates" if self.candidates or self.tells_without_question or overlap else "nothing"

    @property
    def is_spread(self) -> bool:
        """Whether one model that reads all artefacts predicts the label at least 5 points better than chance."""
        return self.surface is not None and self.surface.low >= self.surface.chance + 0.05


@dataclass(frozen=True, eq=False)
class ScanResult(ScanFacts):
    """Results of a scan, and the rows that have each cue.

    `carriers`: bool of shape (rows, cues), True if the row has the cue, for rows of all sets. `sets`: the name of each
    row's set, object. `row_ids`: the id of each row within its set, int64. `row_units`: the code of each row's unit,
    int64.
    """

    carriers: np.ndarray
    sets: np.ndarray
    row_ids: np.ndarray
    row_units: np.ndarray

    @property
    def facts(self) -> ScanFacts:
        """The results without data per row."""
        return ScanFacts(**{one.name: getattr(self, one.name) for one in fields(ScanFacts)})


SURFACE_CUES = pa.schema(
    {
        "cue": pa.int64(),
        "name": pa.string(),
        "kind": pa.string(),
        "reason": pa.string(),
        "label": pa.string(),
        "rows": pa.int64(),
        "share_of_class": pa.float64(),
        "share_of_rest": pa.float64(),
        "precision": pa.float64(),
        "base_rate": pa.float64(),
        "balanced": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
        "p_value": pa.float64(),
        "tested_rows": pa.int64(),
        "tested_precision": pa.float64(),
        "synonyms": pa.list_(pa.string()),
        "explained_by": pa.int64(),
    }
)
"""One row per cue and class; names, labels and synonyms contain text from the dataset."""

CUE_SETS = pa.schema(
    {
        "cue": pa.int64(),
        "set": pa.string(),
        "rows": pa.int64(),
        "state": pa.string(),
        "balanced": pa.float64(),
        "low": pa.float64(),
        "high": pa.float64(),
    }
)
"""One row per cue and set, for all sets except the scanned set."""


def cue_sets(cues: Sequence[Cue]) -> pa.Table:
    """Return the balanced accuracy of each cue in each set that was not scanned, as a table with the schema
    `CUE_SETS`.
    """
    return table_of([[cue.number, *vars(one).values()] for cue in cues for one in cue.elsewhere], CUE_SETS)


CUE_ROWS = pa.schema({"cue": pa.int64(), "set": pa.string(), "row_id": pa.int64()})
"""One row per pair of a cue and a row that has the cue."""

CUES_WITH_ROWS = 50
"""Maximum number of cues whose rows are published; the first cues are chosen."""


def surface_cues(cues: Sequence[Cue]) -> pa.Table:
    """Return the cues as a table with the schema `SURFACE_CUES`."""
    names = SURFACE_CUES.names[1:]
    records = [[cue.number, *(_plain(getattr(cue, name)) for name in names)] for cue in cues]
    return table_of(records, SURFACE_CUES)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def cue_rows(result: ScanResult) -> pa.Table:
    """Return the pairs of cues and rows with the cue, as a table with the schema `CUE_ROWS`."""
    cues, rows = np.nonzero(result.carriers[:, :CUES_WITH_ROWS].T)
    numbers = np.array([cue.number for cue in result.cues], dtype=np.int64)
    columns = {"cue": numbers[cues], "set": result.sets[rows], "row_id": result.row_ids[rows]}
    return pa.table(columns, schema=CUE_ROWS)
