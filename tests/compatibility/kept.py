"""What was kept of earlier versions: keys of many datasets and a whole store, and how each is computed now."""

import hashlib
import json
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import yaml

from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import BUNDLED, load_spec, parse_spec
from aflite_assets.stages.pipeline import STAGES, stage_key
from aflite_assets.stages.shared.content_hashes import CONTENT_FIELDS, FieldContents

HERE = Path(__file__).parent
KEYS, STORE, NUMBERS = HERE / "keys.json", HERE / "store.tar.xz", HERE / "numbers.json.xz"
CHANGES = HERE / "changes.yaml"
REPORT = "report.json"


class KnownContents(FieldContents):
    """Contents of files and of the hub that need neither: each field's is its name."""

    def of(self, fields: Iterable[str]) -> dict[str, Any]:
        """A content for each field that has one."""
        unset = {field for field in ("distance_encoder", "forgettables", "sample") if not getattr(self._spec, field)}
        return {field: {"content": field} for field in fields if field in CONTENT_FIELDS and field not in unset}


def small_specs(name: str = "specs.yaml") -> Iterator[DatasetSpec]:
    """The datasets of one of this folder's files."""
    for content in yaml.safe_load((HERE / name).read_text(encoding="utf-8")):
        yield parse_spec(content)


def all_specs() -> Iterator[DatasetSpec]:
    """Those of all files here, then the bundled ones."""
    yield from small_specs()
    yield from small_specs("kept_specs.yaml")
    for path in sorted(BUNDLED.glob("*.yaml")):
        yield load_spec(path)


def stage_keys(spec: DatasetSpec) -> dict[str, str]:
    """A hash of every stage's key, as if each stage before it had a result whose version is its name.

    Folders of this machine, which paths in a dataset's file may be relative to, are left out of the hash.
    """
    hashes = {}
    for name, stage in STAGES.items():
        inputs = {one: _named_result(one, spec) for one in stage.input_names}
        key = stage_key(stage, spec, inputs, contents=KnownContents(spec))
        text = json.dumps(key.as_json(), separators=(",", ":")).replace(str(BUNDLED), "<bundled>")
        hashes[name] = hashlib.sha256(text.encode()).hexdigest()[:20]
    return hashes


def _named_result(stage: str, spec: DatasetSpec) -> PublishedResult:
    summary = {"nothing_asked": True} if STAGES[stage].settings.is_disabled(spec) else {}
    return cast(PublishedResult, SimpleNamespace(data_version=stage, summary=summary))


def unpack_store(folder: Path) -> Path:
    """The kept store's results below a folder."""
    with tarfile.open(STORE) as archive:
        # Pythons before 3.11.4 have no filters.
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **safely)
    return folder / "results"
