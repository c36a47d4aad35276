from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.specs.models.settings import TextModelSpec
from aflite_assets.stages.warmup import text_lengths as module
from aflite_assets.stages.warmup.text_lengths import measure_text_lengths, token_counts

WORDS = ["the", "dog", "runs"]
Model = Callable[..., TextModelSpec]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tokenizer of three words, without a model."""
    from transformers import BertTokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    BertTokenizer(str(vocabulary), model_max_length=8).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def model(checkpoint: str) -> Model:
    def make(**settings: Any) -> TextModelSpec:
        return TextModelSpec(kind="huggingface_text", checkpoint=checkpoint, **settings)

    return make


def examples_of(texts: list[str], pairs: list[str] | None = None) -> Examples:
    columns = {"text": texts} | ({} if pairs is None else {"text_pair": pairs})
    return Examples(pa.table({"row_id": range(len(texts)), **columns}), ("no", "yes"))


def test_special_tokens_count_and_nothing_is_cut(model: Model) -> None:
    examples = examples_of(["the dog", "", "the " * 300], ["runs", "dog dog", ""])
    assert token_counts(model(), examples).tolist() == [2 + 1 + 3, 0 + 2 + 3, 300 + 0 + 3]
    assert token_counts(model(inputs=["text"]), examples).tolist() == [4, 2, 302]
    assert token_counts(model(inputs=["text_pair"]), examples).tolist() == [3, 4, 2]


def test_lengths_against_the_limit_by_hand(model: Model) -> None:
    examples = examples_of(["dog"] * 98 + ["dog dog dog"] + ["dog " * 50])
    found = measure_text_lengths({"short": model(max_length=4), "long": model(max_length=52)}, examples, seed=0)
    assert found == {
        "short": {"rows": 100, "max_length": 4, "over": 2, "share": 0.02, "longest": 52, "fits_99": 5},
        "long": {"rows": 100, "max_length": 52, "over": 0, "share": 0.0, "longest": 52, "fits_99": 5},
    }


def test_many_rows_are_sampled_by_seed(model: Model) -> None:
    examples = examples_of(["dog " * number for number in range(100)])
    models = {"one": model(max_length=52)}
    first, again, other = (measure_text_lengths(models, examples, seed=seed, most_rows=60)["one"] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first["rows"] == 60
    assert 0.3 < first["share"] < 0.7


def test_each_tokenizer_runs_once(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, ...] | None] = []

    def counted(settings: TextModelSpec, examples: Examples) -> Any:
        calls.append(settings.inputs)
        return token_counts(settings, examples)

    monkeypatch.setattr(module, "token_counts", counted)
    models = {
        "a": model(),
        "b": model(max_length=5),
        "c": model(inputs=["text"]),
        "d": model(inputs=["text"], epochs=1),
    }
    assert len(measure_text_lengths(models, examples_of(["dog"], ["runs"]), seed=0)) == 4
    assert calls == [None, ("text",)]


def test_without_models_nothing_is_read(tmp_path: Path) -> None:
    assert measure_text_lengths({}, examples_of(["dog"]), seed=0) == {}
