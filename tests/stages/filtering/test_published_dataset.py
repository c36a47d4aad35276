"""The published folder of a small table, opened as users open it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, get_dataset_config_names, load_dataset

from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.shared.published import quarantined_rows

BEFORE = list(STAGES)[: list(STAGES).index("published_dataset") + 1]


def spec_of(folder: Path, **changes: Any) -> DatasetSpec:
    """Two features that tell the classes of half of the rows apart, in columns whose names the project uses too."""
    rng = np.random.default_rng(0)
    for split, rows in (("train", 120), ("test", 40), ("fresh", 20)):
        label = np.arange(rows) % 2
        easy = np.arange(rows) % 4 < 2
        table = {
            "weight": rng.normal(0, 0.1, rows) + np.where(easy, 4.0 * label - 2, 0),
            "height": rng.normal(0, 1, rows),
            "kind": np.where(label == 1, "frog", "toad"),
            "name": [f"{split}_{row}" for row in range(rows)],
            "pond": np.arange(rows) // 2,
        }
        pq.write_table(pa.table(table), folder / f"{split}.parquet")
    content: dict[str, Any] = {
        "name": "frogs",
        "source": {
            "format": "parquet",
            "splits": {split: str(folder / f"{split}.parquet") for split in ("train", "test", "fresh")},
        },
        "columns": {"features": ["weight", "height"], "label": "kind", "id": "name", "attributes": ["pond"]},
        "warmup": {"size": 20},
        "representations": {"given": {"kind": "identity"}},
        "filter": {
            "target_size": 60, "train_size": 20, "slice_size": 60, "n_partitions": 32, "threshold": 0.99,
            "evaluation_rows": {"fresh": "kept"},
        },
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [0],
    }  # fmt: skip
    return parse_spec({**content, **changes})


def publish(spec: DatasetSpec, store: ResultStore) -> PublishedResult:
    for stage in BEFORE:
        published = run_stage(stage, spec, store=store).result
    return published


@pytest.fixture
def frogs(tmp_path: Path, store: ResultStore) -> PublishedResult:
    return publish(spec_of(tmp_path), store)


def test_every_configuration_opens_with_the_users_columns_and_ids(frogs: PublishedResult, tmp_path: Path) -> None:
    folder, cache = str(frogs.path), str(tmp_path / "cache")
    names = get_dataset_config_names(folder)
    assert set(names) >= {"filtered", "easy", "random", "full_tagged"}
    own = ["id", "weight", "height", "kind", "pond", "source_row"]
    for name in names:
        splits = load_dataset(folder, name, cache_dir=cache)
        for split, rows in splits.items():
            assert rows.column_names[: len(own)] == own
            assert rows.features["kind"] == ClassLabel(names=["frog", "toad"])
            assert rows["id"] == [f"{split}_{number}" for number in rows["source_row"]]
            assert rows["pond"] == [str(number // 2) for number in rows["source_row"]]
    tagged = load_dataset(folder, "full_tagged", cache_dir=cache)
    extra = ["status", "predictability", "removed_in_iteration", "aflite_weight"]
    assert tagged["train"].column_names == [*own, *extra]
    assert set(tagged["fresh"]["status"]) == {"not filtered"}
    assert set(tagged["fresh"]["aflite_weight"]) == {None}
    assert len(load_dataset(folder, "filtered", cache_dir=cache)["fresh"]) == 20
    given = pq.read_table(tmp_path / "train.parquet")["weight"].to_numpy()
    np.testing.assert_allclose(tagged["train"]["weight"], given[tagged["train"]["source_row"]], rtol=1e-6)


def test_the_card_says_that_rows_of_high_probability_went_first(tmp_path: Path, store: ResultStore) -> None:
    filter_settings = spec_of(tmp_path).filter.model_dump(mode="json")
    published = publish(spec_of(tmp_path, filter={**filter_settings, "rank": "label_probability"}), store)
    assert "the highest held-out probability of their label go first" in published.file("README.md").read_text()


def test_kept_rows_are_called_hard_only_where_all_are_under_the_threshold(tmp_path: Path, store: ResultStore) -> None:
    filter_settings = spec_of(tmp_path).filter.model_dump(mode="json")
    stopped = spec_of(tmp_path, filter={**filter_settings, "target_size": 100, "slice_size": 5})
    published = publish(stopped, store)
    tagged = pq.read_table(published.file("data/full_tagged/train.parquet")).to_pandas()
    kept = tagged[tagged.status == "kept"]
    every_time = (kept.predictability == 1).mean()
    assert every_time > 0.2
    assert "hard" not in get_dataset_config_names(str(published.path))
    card = published.file("README.md").read_text(encoding="utf-8")
    assert (
        f"{100 * every_time:.1f} % of kept rows are still predicted every time: target\\_size stopped the filter"
        in card
    )
    assert "hard" not in card

    ended = publish(spec_of(tmp_path, filter={**filter_settings, "target_size": 30, "slice_size": 20}), store)
    tagged = pq.read_table(ended.file("data/full_tagged/train.parquet")).to_pandas()
    assert tagged[tagged.status == "kept"].predictability.max() < 0.99
    assert "hard" in get_dataset_config_names(str(ended.path))
    assert ended.summary["rows"]["hard"] == ended.summary["rows"]["filtered"]
    assert "Every kept train row is under the threshold of 0.99." in ended.file("README.md").read_text(encoding="utf-8")


def test_quarantined_rows_are_a_configuration_of_their_own(
    feature_files: Callable[..., dict[str, Any]], store: ResultStore, tmp_path: Path
) -> None:
    wrong = np.arange(120) % 10 == 0
    content = feature_files(train_labels=np.arange(120) % 2 ^ wrong, test_labels=np.arange(40) % 2)
    content["filter"]["suspected_label_errors"] = "quarantine"
    published = publish(parse_spec(content), store)
    part = store.current("filtered_sets", published.partition).part("given")
    taken_out = quarantined_rows(part).tolist()
    assert len(taken_out) > 5
    assert published.summary["rows"]["quarantined"] == {"train": len(taken_out)}
    folder, cache = str(published.path), str(tmp_path / "cache")
    quarantined = load_dataset(folder, "quarantined", split="train", cache_dir=cache)
    assert sorted(quarantined["source_row"]) == sorted(taken_out)
    tagged = load_dataset(folder, "full_tagged", split="train", cache_dir=cache).to_pandas()
    assert sorted(tagged[tagged.status == "quarantined"].source_row) == sorted(taken_out)
    assert tagged[tagged.status == "quarantined"].weight.isna().all()
    for name in ("filtered", "easy", "random"):
        rows = load_dataset(folder, name, split="train", cache_dir=cache)["source_row"]
        assert not set(rows) & set(taken_out), name
    assert "| `quarantined` | rows whose labels are suspected: taken out" in published.file("README.md").read_text()


def test_standardised_features_are_said_to_be(feature_files: Callable[..., dict[str, Any]], store: ResultStore) -> None:
    published = publish(parse_spec({**feature_files(), "standardise": True}), store)
    assert "> **Note:** Features are standardised: mean 0" in published.file("README.md").read_text()
