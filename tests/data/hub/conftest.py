"""A hub served from folders, and the processes that read from it: one that reaches it, one that reaches nobody."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[3]
ONE = "a" * 40

CARD = """---
configs:
- config_name: pairs
  default: true
  data_files:
  - {split: train, path: "pairs/train-*.parquet"}
  - {split: dev_r1, path: pairs/dev.parquet}
- config_name: other
  data_files:
  - {split: train, path: other.parquet}
dataset_info:
- config_name: pairs
  features:
  - {name: text, dtype: string}
  - name: label
    dtype: {class_label: {names: {'0': entailment, '1': neutral}}}
  - name: annotators
    list: {class_label: {names: {'0': entailment, '1': neutral}}}
  splits:
  - {name: train, num_examples: 4, num_bytes: 9}
  - {name: dev_r1, num_examples: 1, num_bytes: 9}
---
# A card
"""


class Worker:
    """The process that reads from the hub, and what it said."""

    def __init__(self, root: Path | str, home: Path, said: Path) -> None:
        environment = {
            **os.environ,
            "AFLITE_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "HF_HUB_OFFLINE": "0",
            "HF_UPDATE_DOWNLOAD_COUNTS": "0",
            "HF_HUB_DISABLE_XET": "1",
            "PYTHONWARNINGS": "error",
        }
        for name in ("HF_HOME", "HF_TOKEN", "HF_DATASETS_CACHE", "HF_HUB_CACHE"):
            environment.pop(name, None)
        self.said = said
        with said.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.data.hub.hub_worker", str(root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                cwd=home.parent,
            )

    def do(self, what: str, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **request}).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self.said.read_text()
        outcome: dict[str, Any] = json.loads(answer)
        return outcome

    def load(self, source: dict[str, Any], **request: Any) -> dict[str, list[dict[str, Any]]]:
        outcome = self.do("load", source={"format": "hub", **source}, **request)
        assert "result" in outcome, outcome.get("trace")
        return {split: table["rows"] for split, table in outcome["result"].items()}

    def refusal(self, what: str, *, error: str = "DataError", **request: Any) -> str:
        outcome = self.do(what, **request)
        assert outcome.get("error") == error, outcome
        return str(outcome["message"])

    def stop(self) -> None:
        # Left to itself it takes seconds to end, for its libraries' threads.
        with self._process:
            self._process.kill()


class Hub:
    """The hub's repositories as folders, and the worker that reads them."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "hub", folder / "home"
        self.root.mkdir()
        self.home.mkdir()
        self.worker = Worker(self.root, self.home, folder / "said.txt")
        self.card = CARD

    def publish(
        self,
        id: str,
        files: Mapping[str, bytes | str],
        *,
        commit: str = ONE,
        refs: dict[str, str] | None = None,
        kind: str = "dataset",
        **access: Any,
    ) -> None:
        repository = self.root / f"{kind}s" / id
        for name, content in files.items():
            path = repository / "commits" / commit / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        (repository / "refs.json").write_text(json.dumps(refs or {"main": commit}))
        (repository / "access.json").write_text(json.dumps(access))

    def requests(self, id: str) -> list[dict[str, Any]]:
        lines = (self.root / "requests.jsonl").read_text().splitlines()
        return [request for request in map(json.loads, lines) if f"/{id}/" in request["path"]]

    def kept(self, id: str) -> set[str]:
        """The names of a dataset's files in the caches of the worker; empty ones only note what the hub lacks."""
        name = id.replace("/", "--")
        files = [path for path in self.home.rglob("*") if name in path.as_posix() and path.is_file()]
        return {path.name for path in files if path.stat().st_size}


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    hub = Hub(tmp_path_factory.mktemp("hub"))
    pairs = [{"text": "a", "label": 0, "annotators": [0, 1]}, {"text": "b", "label": -1, "annotators": None}]
    more = [{"text": "c", "label": None, "annotators": []}, {"text": "d", "label": 7, "annotators": [1]}]
    hub.publish(
        "me/pairs",
        {
            "README.md": CARD,
            "pairs/train-1.parquet": _parquet(pa.Table.from_pylist(more)),
            "pairs/train-0.parquet": _parquet(pa.Table.from_pylist(pairs)),
            "pairs/dev.parquet": _parquet(pa.table({"text": ["e"], "label": [1], "annotators": [[0]]})),
            "other.parquet": _parquet(pa.table({"question": ["q"], "n": pa.array([3], pa.int32())})),
        },
        refs={"main": ONE, "v1.0": ONE},
    )
    yield hub
    hub.worker.stop()


@pytest.fixture(scope="module")
def without_hub(hub: Hub) -> Iterator[Worker]:
    """A worker with the same caches for whom nobody answers."""
    worker = Worker("--without-hub", hub.home, hub.root.parent / "said_without.txt")
    yield worker
    worker.stop()


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=2)
    return sink.getvalue()
