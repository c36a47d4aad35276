"""Cells of the measurement (kind, labels, strength), and records of draws: JSON lines, so that they add up."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from aflite_assets.scan.scan import CUTS, FEWEST_CARRIERS, LEAST_BALANCED
from aflite_assets.scan.statistics.cuts import draw_cut
from aflite_assets.scan.statistics.effects import measure_effects
from benchmarks.detection_kinds import Drawn
from benchmarks.detection_real.plants import KINDS, Kind
from benchmarks.detection_real.real_rows import MORE_ROWS, SMALL

STRENGTHS = (0.3, 0.6, 0.9)
LARGER = "95/5 of more rows"
"""The setting of labels whose draws have up to `MORE_ROWS` rows, and leave the small datasets out."""

LABELS: dict[str, float | None] = {"50/50": 0.5, "80/20": 0.2, "95/5": 0.05, LARGER: 0.05, "real": None}
"""Names of the settings of labels, and the share of class 1; None keeps the real labels."""


@dataclass(frozen=True)
class Cell:
    """One cell; `draw` number n takes the datasets of the kind in turn and depends on the cell and n alone."""

    kind: Kind
    labels: str
    strength: float

    def dataset(self, number: int) -> str:
        """Return the name of the dataset of draw `number`, from 0."""
        names = [name for name in self.kind.datasets if self.labels != LARGER or name not in SMALL]
        return names[number % len(names)]

    def draw(self, number: int) -> Drawn:
        """Return draw `number`, from 0."""
        name = f"{self.kind.input} {self.kind.name} {self.labels} {self.strength}"
        rng = np.random.default_rng([crc32(name.encode()), number])
        most = MORE_ROWS if self.labels == LARGER else None
        return self.kind.draw(rng, self.dataset(number), self.strength, LABELS[self.labels], most)


CELLS = tuple(Cell(kind, labels, strength) for kind in KINDS for labels in LABELS for strength in STRENGTHS)


@dataclass(frozen=True)
class Record:
    """One scanned draw.

    `hit`: the cue was named, or a false artefact was found. `within_reach`: the cue's own rows reach the scan's
    bounds, None without a cue. `seconds`: time of the scan. `first`: names of the first three cues.
    """

    input: str
    kind: str
    labels: str
    strength: float
    number: int
    dataset: str
    hit: bool
    within_reach: bool | None
    seconds: float
    first: Sequence[str]

    @property
    def key(self) -> tuple[object, ...]:
        """Return what no two records share."""
        return (self.input, self.kind, self.labels, self.strength, self.number)


def read_records(store: Path) -> list[Record]:
    """Return the records of a file; an empty list if it does not exist."""
    if not store.exists():
        return []
    return [Record(**json.loads(line)) for line in store.read_text(encoding="utf-8").splitlines()]


def add_record(store: Path, record: Record) -> None:
    """Append one record to the file."""
    with store.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(record), ensure_ascii=False) + "\n")


def is_within_reach(drawn: Drawn) -> bool:
    """Return True if a scan that knew the carriers would report them: its bounds for effects hold on halves.

    What chance leaves of a cue can be below the bounds. Such a draw counts as a miss, and this tells why.
    """
    from scipy.sparse import csc_array

    labels, has = drawn.rows.labels, np.asarray(drawn.carriers)
    rows = np.arange(len(labels))
    found = []
    for number in range(CUTS):
        tested = draw_cut(rows, labels, rows, np.random.default_rng(number)).tested_on
        effects = measure_effects(csc_array(has[tested, None].astype(np.float64)), labels[tested] == 1, tested)
        found.append((float(effects.low[0]), float(effects.carriers[0])))
    low, carriers = np.median(np.array(found), axis=0).tolist()
    return bool(low >= LEAST_BALANCED and carriers >= FEWEST_CARRIERS)


def of_cell(records: Iterable[Record], cell: Cell) -> list[Record]:
    """Return the records of one cell."""
    own = (cell.kind.input, cell.kind.name, cell.labels, cell.strength)
    return [one for one in records if (one.input, one.kind, one.labels, one.strength) == own]
