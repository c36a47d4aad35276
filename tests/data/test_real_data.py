"""The formats met on real data: a folder named by AFLITE_EXAMPLE_DATA."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.data.loading import load_source
from aflite_assets.data.raw_table.table import RawTable, build_raw_table, implied_columns
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import BUNDLED, load_spec
from aflite_assets.specs.sources import SourceSpec, TableSource

pytestmark = pytest.mark.skipif(
    "AFLITE_EXAMPLE_DATA" not in os.environ, reason="AFLITE_EXAMPLE_DATA names no folder of example data"
)


@pytest.fixture
def data() -> Path:
    return Path(os.environ["AFLITE_EXAMPLE_DATA"])


def _build(source: dict[str, Any], **fields: Any) -> RawTable:
    models = {"representations": {"r": {"kind": "identity"}}, "evaluators": {"e": {"kind": "linear"}}}
    spec = DatasetSpec.model_validate({"name": "real", "source": source} | models | fields)
    parsed: SourceSpec = spec.source
    return build_raw_table(
        load_source(parsed),
        columns=implied_columns(parsed, spec.columns),
        label_names=spec.labels,
        unlabelled=spec.unlabelled,
        limit=spec.limit,
        seed=spec.seed,
    )


def test_snli_in_parquet(data: Path) -> None:
    files = {"train": str(data / "snli" / "validation.parquet"), "test": str(data / "snli" / "test.parquet")}
    raw = _build(
        {"format": "parquet", "splits": files},
        columns={"text": "premise", "text_pair": "hypothesis", "group": "premise"},
        labels=["entailment", "neutral", "contradiction"],
        limit={"test": 900},
    )
    assert raw.source_rows == {"train": 9831, "test": 9824}
    assert Counter(raw.examples.in_split("train").labels.tolist()) == {0: 3325, 1: 3231, 2: 3275}
    assert 890 <= len(raw.examples.in_split("test")) <= 900


def test_the_bundled_snli_takes_annotators_from_the_original_release(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNLI_FOLDER", str(data / "snli_original"))
    spec = load_spec(BUNDLED / "snli.yaml")
    files = {"train": str(data / "snli" / "validation.parquet"), "test": str(data / "snli" / "test.parquet")}
    raw = build_raw_table(
        load_source(TableSource(format="parquet", splits=files)),
        columns=spec.columns,
        label_names=("entailment", "neutral", "contradiction"),
        unlabelled=spec.unlabelled,
        limit=None,
        seed=0,
        annotations=spec.annotations,
    )
    given = [
        (label, said)
        for label, said in zip(
            raw.examples.labels.tolist(), raw.examples.table["annotator_labels"].to_pylist(), strict=True
        )
        if said
    ]
    # Of 2,566 rows 41 have no majority and are none of the dataset's.
    assert (len(given), Counter(len(said) for _, said in given)) == (2525, {5: 2525})
    assert sum(said.count(label) for label, said in given) / sum(len(said) for _, said in given) > 0.85


def test_hans_in_unquoted_tab_separated_text(data: Path) -> None:
    path = str(data / "hans" / "heuristics_evaluation_set.txt")
    raw = _build(
        {"format": "csv", "splits": {"train": path, "test": path}, "delimiter": "\t", "quoted": False},
        columns={
            "text": "sentence1", "text_pair": "sentence2", "label": "gold_label", "id": "pairID",
            "attributes": ["heuristic"],
        },
        labels=["entailment", "non-entailment"],
    )  # fmt: skip
    rows = raw.examples.in_split("test")
    heuristics = rows.table["attribute.heuristic"].to_pylist()
    counts = Counter(zip(heuristics, rows.labels.tolist(), strict=True))
    assert counts == {(name, c): 500 for name in ("lexical_overlap", "subsequence", "constituent") for c in (0, 1)}
    assert rows.texts()[0] == "The secretary encouraged the students ."


def test_original_snli_in_jsonl_drops_rows_without_a_majority(data: Path) -> None:
    files = {"train": str(data / "snli_original" / "snli_1.0_dev.jsonl")}
    files["test"] = str(data / "snli_original" / "snli_1.0_test.jsonl")
    raw = _build(
        {"format": "jsonl", "splits": files},
        columns={"text": "sentence1", "text_pair": "sentence2", "label": "gold_label", "id": "pairID"},
        unlabelled=["-"],
    )
    assert raw.source_rows == {"train": 1289, "test": 1277}
    assert raw.examples.label_names == ("contradiction", "entailment", "neutral")
    assert len(raw.examples) == 1289 + 1277 - sum(raw.unlabelled_rows.values())
    assert min(raw.unlabelled_rows.values()) > 0


def test_features_in_npy_files(data: Path) -> None:
    names = ("features", "labels", "groups")
    files = {name: str(data / "features" / f"snli_minilm_{name}.npy") for name in names}
    raw = _build({"format": "features", "splits": {"train": files, "test": files}}, limit={"test": 100})
    train = raw.examples.in_split("train")
    assert (train.features.shape, train.features.dtype) == ((17_700, 384), "float32")
    assert train.groups is not None
    assert len(set(train.table["source_id"].to_pylist())) > 17_000


def test_cifar10_in_image_folders(data: Path) -> None:
    folder = str(data / "cifar10" / "test")
    raw = _build({"format": "image_folder", "splits": {"train": folder, "test": folder}}, limit={"train": 100})
    assert Counter(raw.examples.in_split("test").labels.tolist()) == dict.fromkeys(range(10), 100)
    assert Counter(raw.examples.in_split("train").labels.tolist()) == dict.fromkeys(range(10), 10)
    assert raw.examples.label_names[3] == "cat"
    assert raw.examples.image_bytes(0).startswith(b"\xff\xd8")
