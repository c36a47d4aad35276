"""Bytes that work on several nodes moves, and from which size it pays: formulas, and the numbers that go into them.

`python -m benchmarks.cluster --model` prints it. Numbers of this file that are measured name the command; every other
one is an assumption. What comes out is modelled: no run on more than one machine is behind it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

GIGABIT = 1e9 / 8
"""Bytes per second."""

LINKS = {"1 Gb/s": GIGABIT, "25 Gb/s": 25 * GIGABIT}
NODES = (2, 8, 64)
CORES = (4, 16)
SIZES = {"550k x 1,024": 550_000, "5M x 1,024": 5_000_000, "50M x 1,024": 50_000_000}


@dataclass(frozen=True)
class Machine:
    """A node, and the driver's machine: assumed. Each reads shared storage by its own link, which is all that limits.

    `start_up`: seconds until all workers have answered, once for a stage. `page_cache`: bytes of files that stay in a
    node's memory; a larger file is read anew in every pass.
    """

    link: float
    cores: int = CORES[1]
    start_up: float = 20.0
    page_cache: float = 48 * 2**30


@dataclass(frozen=True)
class Filter:
    """A filter of `rows` that ends with `kept` of them, in slices of equal size; float32 features in one mapped file.

    `passes`: how often an iteration reads the pool: gradients, and one count of predictions (`docs/engine.md`: 8 to 22
    gradients on the tables' features). `counts_classes` follows `algorithm.tally` and the stages' memory limit.
    """

    rows: int
    width: int = 1024
    classes: int = 3
    partitions: int = 64
    iterations: int = 33
    kept: float = 182 / 550
    passes: int = 13

    @property
    def counts_classes(self) -> bool:
        """Whether predictions are counted by class: up to a sixteenth of the memory limit of 1 GiB."""
        return 4 * self.rows * self.classes <= 2**30 // 16

    @property
    def outputs(self) -> int:
        """Weight vectors of a classifier."""
        return 1 if self.classes == 2 else self.classes

    def pool(self, iteration: int) -> float:
        """Rows that enter an iteration."""
        return self.rows * (1 - (1 - self.kept) * iteration / self.iterations)

    def feature_bytes(self, rows: float) -> float:
        """Bytes of some rows' features."""
        return 4 * self.width * rows


@dataclass(frozen=True)
class Costs:
    """Seconds of one core, per row of the pool: CPU time, measured on two cores beside other work (load 9 to 20).

    `passes`, per column too: what a share of an iteration's partitions costs whatever its size, since the pool is read
    and converted in every pass. `partition`, per column too: what each partition adds. Both are the line through 64,
    32, 8 and 1 partitions, 4.11, 2.81, 1.83 and 1.27 s: `python -m benchmarks.cluster --rows 150000 --width 1024
    --shares 1 2 8 64`, a pool that is read in blocks, as all pools of over 131,000 such rows are. `driver`: what the
    loop does in one thread, without a cluster too: draws, scores, the slice. `added`: adding up the answer of one more
    worker. Both by `--rows 5000000 --loop 1 8`, 7.3 and 7.7 s; at 550,000 rows a row takes half of that.
    """

    passes: float = 8.8e-9
    partition: float = 2.8e-10
    driver: float = 1.5e-6
    added: float = 0.01e-6


@dataclass(frozen=True)
class IterationBytes:
    """Bytes of one iteration: to each node, and from all of them to the driver."""

    pool: float
    start: float
    counts: float
    classifiers: float

    def through_driver(self, nodes: int) -> float:
        """All that passes the driver's link."""
        return nodes * (self.pool + self.start + self.counts) + self.classifiers


def iteration_bytes(filtering: Filter, pool: float) -> IterationBytes:
    """Return what an iteration on `pool` rows moves.

    Row numbers int64, sent once per node; the start float64. Back from each worker, whatever its share, per row: right
    predictions int64, sums of probabilities float64, predictions by class int32. Classifiers are float32, padded to 16
    columns, with the gradients that each took; their number does not depend on the nodes.
    """
    padded = -(-filtering.width // 16) * 16
    by_class = 4 * filtering.classes if filtering.counts_classes else 0
    return IterationBytes(
        pool=8 * pool,
        start=8 * filtering.outputs * (filtering.width + 1),
        counts=(8 + 8 + by_class) * pool,
        classifiers=filtering.partitions * (4 * filtering.outputs * (padded + 1) + 8),
    )


def reads_of_features(filtering: Filter, machine: Machine) -> float:
    """Bytes of features that each node reads from shared storage in a run, one machine alone too."""
    whole = filtering.feature_bytes(filtering.rows)
    if whole <= machine.page_cache:
        return whole
    pools = sum(filtering.feature_bytes(filtering.pool(number)) for number in range(filtering.iterations))
    return whole + filtering.passes * pools


def filter_seconds(filtering: Filter, machine: Machine, costs: Costs, nodes: int) -> float:
    """Return a whole run; `nodes` 0: by one machine alone, with the same cores, without a cluster."""
    workers = max(1, nodes)
    share = -(-filtering.partitions // workers)
    seconds = machine.start_up if nodes else 0.0
    seconds += reads_of_features(filtering, machine) / machine.link
    # The driver reads the features too, before any worker does.
    seconds += filtering.feature_bytes(filtering.rows) / machine.link if nodes else 0.0
    for number in range(filtering.iterations):
        pool = filtering.pool(number)
        fits = pool * filtering.width * (costs.passes + costs.partition * share) / machine.cores
        seconds += fits + driver_seconds(costs, pool, nodes)
        if nodes:
            seconds += iteration_bytes(filtering, pool).through_driver(nodes) / machine.link
    return seconds


def driver_seconds(costs: Costs, pool: float, nodes: int) -> float:
    """Return what one thread does in an iteration while the others wait."""
    return pool * (costs.driver + costs.added * max(0, nodes - 1))


@dataclass(frozen=True)
class Extraction:
    """Features of `rows` by an encoder of `encoder_bytes`; `rate`: rows per second of one GPU, one to a node; assumed.

    `raw_bytes`: a row of the raw table's Parquet file.
    """

    rows: int
    width: int = 1024
    rate: float = 1000.0
    raw_bytes: float = 150.0
    encoder_bytes: float = 1.4e9


@dataclass(frozen=True)
class ExtractionBytes:
    """Bytes of an extraction: what each node reads, what all write, and what the driver reads and writes afterwards."""

    row_ids: float
    raw: float
    encoder: float
    shards: float
    joined: float


def extraction_bytes(extraction: Extraction) -> ExtractionBytes:
    """Row ids int64 and the whole raw table to each worker; shards hold float32 features and one float32 a row."""
    rows, features = extraction.rows, 4 * extraction.width * extraction.rows
    return ExtractionBytes(
        row_ids=8 * rows,
        raw=extraction.raw_bytes * rows,
        encoder=extraction.encoder_bytes,
        shards=features + 4 * rows,
        joined=features + 4 * rows + features,
    )


def extraction_seconds(extraction: Extraction, machine: Machine, nodes: int) -> float:
    """Return a whole extraction; `nodes` 0: by one machine with one GPU, which writes its file as it goes."""
    moved = extraction_bytes(extraction)
    seconds = extraction.rows / extraction.rate / max(1, nodes) + (moved.raw + moved.encoder) / machine.link
    if not nodes:
        return max(seconds, 4 * extraction.width * extraction.rows / machine.link)
    writing = moved.shards / nodes / machine.link
    encoding = max(seconds, writing)
    # Row ids leave by the driver's link; it then reads every shard and writes the one file.
    return machine.start_up + encoding + (nodes * moved.row_ids + moved.joined) / machine.link


def pays_from(alone: Callable[[int], float], spread: Callable[[int], float], *, times: float = 1.0) -> int | None:
    """Return the fewest rows, of 10^4 to 10^9 in steps of a tenth of a decade, for spreading to be `times` as fast."""
    sizes = [round(10 ** (4 + step / 10)) for step in range(51)]
    return next((rows for rows in sizes if alone(rows) >= times * spread(rows)), None)


def tables(costs: Costs | None = None) -> str:
    """All tables, as Markdown."""
    given = costs or Costs()
    return "\n\n".join([_bytes_table(), _seconds_table(given), _pays_table(given)])


def _bytes_table() -> str:
    lines = [
        "| | " + " | ".join(SIZES) + " |",
        "|---|" + "--:|" * len(SIZES),
    ]
    filters = [Filter(rows) for rows in SIZES.values()]
    first = [iteration_bytes(each, each.pool(0)) for each in filters]
    extractions = [extraction_bytes(Extraction(rows)) for rows in SIZES.values()]
    machine = Machine(GIGABIT)
    rows: list[tuple[str, Sequence[float]]] = [
        ("features", [each.feature_bytes(each.rows) for each in filters]),
        ("filter: row numbers of the pool, to each node", [each.pool for each in first]),
        ("filter: start, to each node", [each.start for each in first]),
        ("filter: counts, from each node", [each.counts for each in first]),
        ("filter: classifiers, from all nodes", [each.classifiers for each in first]),
        *[
            (f"filter: by the driver's link, {nodes} nodes", [each.through_driver(nodes) for each in first])
            for nodes in NODES
        ],
        ("filter: features read by each node in the whole run", [reads_of_features(each, machine) for each in filters]),
        ("extraction: row ids, to each node", [each.row_ids for each in extractions]),
        ("extraction: raw table, read by each node", [each.raw for each in extractions]),
        ("extraction: shards, written by all nodes", [each.shards for each in extractions]),
        ("extraction: read and written by the driver", [each.joined for each in extractions]),
    ]
    lines += [f"| {name} | " + " | ".join(map(_size, values)) + " |" for name, values in rows]
    return "\n".join(lines)


def _seconds_table(costs: Costs) -> str:
    lines = ["| | one machine | the driver's part of it |" + "".join(f" {nodes} nodes |" for nodes in NODES)]
    lines.append("|---|" + "--:|" * (2 + len(NODES)))
    for link, speed in LINKS.items():
        for cores in CORES:
            for name, rows in SIZES.items():
                filtering, machine = Filter(rows), Machine(speed, cores=cores)
                pools = map(filtering.pool, range(filtering.iterations))
                serial = sum(driver_seconds(costs, pool, 0) for pool in pools)
                seconds = [filter_seconds(filtering, machine, costs, nodes) for nodes in (0, *NODES)]
                alone = f"{_time(seconds[0])} | {serial / seconds[0]:.0%}"
                lines.append(f"| filter, {name}, {cores} cores a node, {link} | {alone} |{_faster(seconds)}")
    for link, speed in LINKS.items():
        for name, rows in SIZES.items():
            seconds = [extraction_seconds(Extraction(rows), Machine(speed), nodes) for nodes in (0, *NODES)]
            lines.append(f"| extraction, {name}, {link} | {_time(seconds[0])} | |{_faster(seconds)}")
    return "\n".join(lines)


def _pays_table(costs: Costs) -> str:
    lines = ["| | link | faster than one machine from | 1.5 times as fast from |", "|---|---|--:|--:|"]
    for link, speed in LINKS.items():
        works: dict[str, Callable[[int, int], float]] = {
            f"filter, {cores} cores a node": partial(_filter_of, Machine(speed, cores=cores), costs) for cores in CORES
        }
        works["extraction"] = partial(_extraction_of, Machine(speed))
        for name, seconds in works.items():
            for nodes in NODES:
                found = [pays_from(partial(seconds, 0), partial(seconds, nodes), times=at) for at in (1.0, 1.5)]
                lines.append(f"| {name}, {nodes} nodes | {link} | " + " | ".join(map(_rows, found)) + " |")
    return "\n".join(lines)


def _filter_of(machine: Machine, costs: Costs, nodes: int, rows: int) -> float:
    return filter_seconds(Filter(rows), machine, costs, nodes)


def _extraction_of(machine: Machine, nodes: int, rows: int) -> float:
    return extraction_seconds(Extraction(rows), machine, nodes)


def _faster(seconds: Sequence[float]) -> str:
    return "".join(f" {_time(each)} ({seconds[0] / each:.1f}x) |" for each in seconds[1:])


def _size(count: float) -> str:
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count / 1e3:.3g} kB"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _rows(count: int | None) -> str:
    if count is None:
        return "no size"
    return f"{count / 1e6:.2g}M rows" if count >= 1e6 else f"{count / 1e3:.0f}k rows"
