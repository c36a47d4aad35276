"""Keeps the keys and results of today: `python -m tests.compatibility`, after a change that is meant to move them."""

import json
import lzma
import shutil
import tarfile
import tempfile
from pathlib import Path

from aflite_assets.results import ResultStore
from aflite_assets.stages.pipeline import run_pipeline
from tests.compatibility.kept import KEYS, REPORT, REPORTS, STORE, all_specs, small_specs, stage_keys


def keep_keys() -> None:
    """Write the hashes of all stages' keys."""
    keys = {spec.name: stage_keys(spec) for spec in all_specs()}
    KEYS.write_text(json.dumps(keys, indent=1) + "\n", encoding="utf-8")


def keep_store(folder: Path) -> None:
    """Make the datasets of `kept_specs.yaml`, and pack their results without pages, which hold others' scripts."""
    store = ResultStore(folder / "results")
    reports = {}
    for spec in small_specs("kept_specs.yaml"):
        made = run_pipeline(spec, store=store)
        reports[spec.name] = json.loads(made["benchmark_report"].result.file(REPORT).read_text(encoding="utf-8"))
    REPORTS.write_bytes(lzma.compress(json.dumps(reports).encode()))
    for name in ("benchmark_report", ".locks", ".trash", "refreshes"):
        shutil.rmtree(store.root / name, ignore_errors=True)
    with tarfile.open(STORE, "w:xz") as archive:
        archive.add(store.root, arcname="results", filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    keep_keys()
    with tempfile.TemporaryDirectory() as folder:
        keep_store(Path(folder))
