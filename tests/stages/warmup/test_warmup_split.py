"""What the warm-up split reports of models and texts; sizes and groups are in the tests of policies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import ModelError, SpecError
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.warmup.warmup_split import check_models, draw_warmup, needs_warmup

Make = Callable[..., DatasetSpec]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A configuration and a tokenizer of two words, without weights: what the checks look at."""
    from transformers import BertConfig, BertTokenizer

    folder = tmp_path_factory.mktemp("checkpoint")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "cat"]))
    BertConfig(vocab_size=7, max_position_embeddings=64).save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def texts(tmp_path: Path, checkpoint: str) -> Make:
    """One in ten of 100 train and 20 test rows has 40 words, the others 2."""

    def make(**changes: Any) -> DatasetSpec:
        for split, rows in (("train", 100), ("test", 20)):
            words = ["dog cat" if row % 10 else "dog " * 40 for row in range(rows)]
            pq.write_table(pa.table({"text": words, "label": np.arange(rows) % 2}), tmp_path / f"{split}.parquet")
        model = {"kind": "huggingface_text", "checkpoint": checkpoint}
        content = {
            "name": "texts",
            "source": {
                "format": "parquet",
                "splits": {split: str(tmp_path / f"{split}.parquet") for split in ("train", "test")},
            },
            "columns": {"text": "text"},
            "warmup": {"size": 20},
            "representations": {"bert": model | {"max_length": 16}},
            "evaluators": {
                "bert": model | {"max_length": 48},
                "small": {"kind": "small_transformer"},
                "linear": {"kind": "linear"},
            },
        }
        return parse_spec(content | changes)

    return make


def test_texts_longer_than_a_model_reads_are_in_the_summary(texts: Make, store: ResultStore) -> None:
    run_stage("raw_dataset", texts(), store=store)
    result = run_stage("warmup_split", texts(), store=store).result
    same = {"of_rows": 120, "rows": 120, "longest": 42, "fits_99": 42}
    assert result.summary["text_lengths"] == {
        "representations.bert": {**same, "max_length": 16, "over": 12, "share": 0.1},
        "evaluators.bert": {**same, "max_length": 48, "over": 0, "share": 0.0},
        "evaluators.small": {"not_measured": "its tokenizer is built during training"},
    }
    assert (result.summary["rows"], result.summary["rows_asked"], result.summary["share"]) == (20, 20, 0.2)


def test_an_evaluators_max_length_changes_no_data_version(texts: Make, store: ResultStore, checkpoint: str) -> None:
    run_stage("raw_dataset", texts(), store=store)
    first = run_stage("warmup_split", texts(), store=store).result
    evaluators = {"bert": {"kind": "huggingface_text", "checkpoint": checkpoint, "max_length": 20}}
    second = run_stage("warmup_split", texts(evaluators=evaluators), store=store).result
    assert second.summary["text_lengths"]["evaluators.bert"]["over"] == 12
    assert second.key != first.key
    assert second.data_version == first.data_version


def test_drawing_needs_no_store(texts: Make, store: ResultStore) -> None:
    raw = load_examples(run_stage("raw_dataset", texts(), store=store).result.path)
    drawn = draw_warmup(texts(), raw)
    assert (len(drawn.row_ids), drawn.asked) == (20, 20)
    assert np.bincount(drawn.labels).tolist() == [10, 10]
    assert raw.select(drawn.row_ids).labels.tolist() == drawn.labels.tolist()
    published = run_stage("warmup_split", texts(), store=store).result
    assert pq.read_table(published.file("rows.parquet"))["row_id"].to_pylist() == drawn.row_ids.tolist()


def test_ignored_groups_are_split_between_warm_up_and_pool(texts: Make, store: ResultStore) -> None:
    raw = load_examples(run_stage("raw_dataset", texts(), store=store).result.path)
    fours = raw.with_groups(np.arange(len(raw)) // 4)
    split = {}
    for groups in ("whole", "ignore"):
        drawn = draw_warmup(texts(filter={"groups": groups}), fours)
        taken = np.bincount(fours.groups[np.isin(fours.row_ids, drawn.row_ids)])  # type: ignore[index]
        split[groups] = int(((taken > 0) & (taken < 4)).sum())
    assert split["whole"] == 0
    assert split["ignore"] > 5


def test_the_papers_preset_draws_rows_of_any_class(texts: Make, store: ResultStore) -> None:
    raw = load_examples(run_stage("raw_dataset", texts(), store=store).result.path)
    paper = [texts(filter={"preset": "paper"}, seed=seed) for seed in range(6)]
    assert {spec.warmup.draw for spec in paper} == {"random"}
    counts = [np.bincount(draw_warmup(spec, raw).labels).tolist() for spec in paper]
    assert {sum(of_one) for of_one in counts} == {20}
    assert len({tuple(of_one) for of_one in counts}) > 1
    ours = texts(filter={"preset": "paper"}, warmup={"size": 20, "draw": "by_class"})
    assert np.bincount(draw_warmup(ours, raw).labels).tolist() == [10, 10]
    with pytest.raises(
        SpecError, match="`draw` is 'random', but `size` is 'auto', which draws rows by class; remove `draw`"
    ):
        texts(warmup={"size": "auto", "draw": "random"})


def test_models_that_do_not_fit_are_refused(texts: Make, store: ResultStore) -> None:
    raw = load_examples(run_stage("raw_dataset", texts(), store=store).result.path)
    given = texts(representations={"given": {"kind": "identity"}})
    assert not needs_warmup(given)
    assert needs_warmup(texts())
    for refuse in (check_models, draw_warmup):
        with pytest.raises(
            ModelError,
            match="a model of kind 'identity' needs rows of type features, but the dataset's rows are of type text",
        ):
            refuse(given, raw)


def test_features_have_no_text_lengths(circles_spec: DatasetSpec, store: ResultStore) -> None:
    run_stage("raw_dataset", circles_spec, store=store)
    result = run_stage("warmup_split", circles_spec, store=store).result
    assert result.summary["text_lengths"] == {}
    assert result.summary["reason"] == "no representation is a trained model"
