"""The numbers of a report that the present code renders from stored results: pages, tables, metrics and metadata."""

import json
import lzma
import math
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.assets.display.numbers import filter_numbers, grid_numbers, report_numbers
from aflite_assets.errors import InvalidInputError
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.tracking import table_metrics
from aflite_assets.tracking.protocol import TrackedRun, Tracker
from tests.compatibility.flat import IDENTITY, Leaves, flattened, records
from tests.compatibility.kept import HERE, REPORT
from tests.compatibility.pinned import rendered

SUFFIX = ".json.xz"
_LAYOUTS = "layouts.json"
_REPORT_STAGE = "benchmark_report"
_LEFT_OUT = ("manifest.json", "report.html", "tables.json")
"""Files whose numbers are collected from others: pages, and the Markdown of what `layouts.json` holds."""


@dataclass(frozen=True)
class Collected:
    """Values by path of each dataset, and the commit of the checkout that rendered them."""

    commit: str
    datasets: Mapping[str, Leaves]


@dataclass(frozen=True)
class _Run(TrackedRun):
    """A run that keeps the metrics and the tables that are logged to it, under the names of its children."""

    path: str
    logged: Leaves

    def log_metrics(self, metrics: Mapping[str, float], *, step: int | None = None) -> None:
        """Keep the numbers."""
        at = "" if step is None else f"[step={step}]"
        self.logged.update({f"{self.path}.{name}{at}": float(value) for name, value in metrics.items()})

    def log_table(self, name: str, table: pa.Table) -> None:
        """Keep the rows."""
        self.logged.update(flattened(table.to_pylist(), f"{self.path}.{name}"))

    @contextmanager
    def child(self, name: str, *, title: str | None = None, tags: Mapping[str, str] | None = None) -> Iterator["_Run"]:
        """Give a run whose values stand under its name."""
        yield _Run(f"{self.path}.{name}", self.logged)


@dataclass(frozen=True)
class Recorder(Tracker):
    """A tracker that keeps numbers in memory, as `mlflow.<stage>.<metric>`."""

    logged: Leaves = field(default_factory=dict)

    @contextmanager
    def run(self, asset: str, partition: str, key: str) -> Iterator[_Run]:
        """Give a run whose values stand under the stage's name."""
        yield _Run(f"mlflow.{asset}", self.logged)


def collect(spec: DatasetSpec, store: ResultStore) -> Leaves:
    """Return the values of everything that the present code reports of a dataset's stored results, by path.

    Nothing is trained: the stored stages are read, the others are run anew (`pinned.rendered`).

    Raises:
        StoreError: a stored result is missing or damaged.
        InvalidInputError: rows cannot be told apart, or a result holds a file that this module does not know.
    """
    tracker = Recorder()
    with rendered(spec, store, tracker) as results:
        return values_of(results, tracker, store)


def values_of(results: Mapping[str, PublishedResult], tracker: Recorder, store: ResultStore) -> Leaves:
    """Return the values of results that were run anew, of what they logged, and of what is shown of stored results.

    Raises:
        StoreError, InvalidInputError: as in `collect`.
    """
    report = results[_REPORT_STAGE]
    filtered, models, evidence = (
        store.current(stage, report.partition) for stage in ("filtered_sets", "evaluator_models", "bias_evidence")
    )
    leaves = {place: leaf for stage, one in results.items() for place, leaf in _of_result(stage, one).items()}
    leaves |= flattened(report_numbers(results["analysis"]), f"dagster.{_REPORT_STAGE}")
    leaves |= flattened(filter_numbers(filtered), "dagster.filtered_sets")
    leaves |= flattened(grid_numbers(models), "dagster.evaluator_models")
    return dict(sorted((leaves | tracker.logged | _evidence_metrics(evidence)).items()))


def _of_result(stage: str, result: PublishedResult) -> Leaves:
    """Return the summary and all files of one rendered result; those of the report have no stage in their paths."""
    under = "" if stage == _REPORT_STAGE else f"{stage}."
    leaves = flattened(result.summary, f"summary.{stage}")
    for path in sorted(path for path in result.path.rglob("*") if path.is_file()):
        name = path.relative_to(result.path).as_posix()
        leaves |= _of_file(name, path, under)
    return leaves


def _of_file(name: str, path: Path, under: str) -> Leaves:
    stem, _, ending = name.rpartition(".")
    if name in _LEFT_OUT or ending == "png":
        return {}
    if name == REPORT:
        return flattened(json.loads(path.read_text(encoding="utf-8")), under.removesuffix("."))
    if name == _LAYOUTS:
        return _layouts(json.loads(path.read_text(encoding="utf-8")), f"{under}layouts")
    if ending == "json":
        return flattened(json.loads(path.read_text(encoding="utf-8")), f"{under}files.{stem}")
    if ending != "parquet":
        raise InvalidInputError(f"nothing collects {name!r}; say in tests/compatibility/collected.py how it is read")
    table = pq.read_table(path)
    place = f"{under}files.{stem.replace('/', '.')}"
    return flattened(table.to_pylist(), place) if name.startswith("tables/") else _digests(table, place)


def _layouts(layouts: Mapping[str, Sequence[Mapping[str, Any]]], path: str) -> Leaves:
    """Return the tables that Dagster shows, with rows by their headings."""
    leaves: Leaves = {}
    for name, tables in layouts.items():
        for table in tables:
            place = f"{path}.{name}[{table['title']}]" if table["title"] else f"{path}.{name}"
            columns = [column or f"column {number}" for number, column in enumerate(table["columns"])]
            rows = [dict(zip(columns, row, strict=True)) for row in table["rows"]]
            leaves |= records(rows, place, columns[: table["numbers_from"]])
            leaves |= flattened(table["notes"], f"{place}.notes")
    return leaves


def _digests(table: pa.Table, path: str) -> Leaves:
    """Return a hash per column of a table that has a row per row of the dataset: a number for numbers, else a text.

    Of fractions nine digits are hashed, so that another processor's rounding does not change the hash.
    """
    kinds = {column.name: column.type for column in table.schema}
    keys = [name for name, kind in kinds.items() if name in IDENTITY and not pa.types.is_nested(kind)]
    ordered = table.sort_by([(name, "ascending") for name in keys]) if keys else table
    leaves: Leaves = {f"{path}.rows": table.num_rows}
    for name, kind in kinds.items():
        text = json.dumps(_rounded(ordered[name].to_pylist()), default=str)
        digest = sha256(text.encode()).hexdigest()[:12]
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        leaves[f"{path}.{name}"] = int(digest, 16) if is_number else digest
    return leaves


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return f"{value:.9g}" if isinstance(value, float) else value


def _evidence_metrics(result: PublishedResult) -> Leaves:
    """Return the metrics that the tables of evidence become; they are computed anew from the stored tables."""
    index = json.loads(result.file("evidence.json").read_text(encoding="utf-8"))
    leaves: Leaves = {}
    for entry in index["tables"]:
        metrics = table_metrics(entry["title"], pq.read_table(result.file(entry["file"])))
        leaves |= {f"mlflow.{result.asset}.{name}": value for name, value in metrics.items()}
    return leaves


def present_commit() -> str:
    """Return the commit of this checkout, with `-dirty` after it if files were changed since."""
    described = subprocess.run(
        ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"],
        cwd=HERE, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return described.stdout.strip()


def write_collected(collected: Collected, path: Path) -> None:
    """Write a file whose bytes depend on nothing but the commit and the values."""
    content = {"commit": collected.commit, "datasets": collected.datasets}
    text = json.dumps(content, indent=0, sort_keys=True, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME))


def read_collected(path: Path) -> Collected:
    """Read a file, or all files of a folder as one.

    Raises:
        InvalidInputError: there is no such file, it cannot be read, or two files of a folder hold the same dataset.
    """
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise InvalidInputError(f"{path} holds no file *{SUFFIX}; collect one there first")
    commits, datasets = dict[str, None](), dict[str, Leaves]()
    for file in files:
        try:
            content = json.loads(lzma.decompress(file.read_bytes()))
            commit, found = content["commit"], content["datasets"]
        except (OSError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(f"{file} cannot be read ({error!r}); collect it again") from error
        twice = sorted(datasets.keys() & found.keys())
        if twice:
            raise InvalidInputError(f"{file} holds {twice}, which another file of {path} holds too; delete one")
        commits[commit] = None
        datasets |= found
    return Collected(", ".join(commits), datasets)


def is_missing(value: object) -> bool:
    """Return True for null and NaN, which both say that there is no number."""
    return value is None or (isinstance(value, float) and math.isnan(value))
