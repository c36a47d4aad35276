import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import BertConfig
from transformers.modeling_outputs import BaseModelOutput

from aflite_assets.data.examples import Examples
from aflite_assets.data.synthetic.template_nli import LABELS as NLI_LABELS
from aflite_assets.data.synthetic.template_nli import template_nli
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.classifiers import NeuralClassifier, saved_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.encoders import load_encoder, train_encoder
from aflite_assets.models.esim.contextual_vectors import ContextualVectors, LayerMix
from aflite_assets.models.esim.network import Esim, EsimConfiguration
from aflite_assets.models.evaluators import evaluate
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training.train import train_classifier
from aflite_assets.specs.models.settings import EsimSpec
from aflite_assets.specs.sources import TemplateNliSource
from tests.models.made import ignore, logits, made

LABELS = ("agrees", "contradicts")
ESIM = EsimSpec(
    kind="esim",
    vocabulary=200,
    vector_width=16,
    width=16,
    dropout=0.1,
    max_length=20,
    epochs=4,
    batch_size=10,
    learning_rate=1e-2,
)


def _changed(**changes: object) -> EsimSpec:
    return ESIM.model_copy(update=changes)


@pytest.fixture
def vectors_file(tmp_path: Path) -> Path:
    """Vectors, four wide, of "dog" and "cat", of a word that no train text has, and of one that no text can have."""
    path = tmp_path / "vectors.txt"
    path.write_text("Dog 9 9 9 9\nzebra 1 2 3 4\ndog 1 0 0 1\nlion 5 5 5 5\ncat 0 -1 1 0\n")
    return path


@pytest.fixture
def shared_word(table: Callable[..., Examples]) -> Callable[..., Examples]:
    """Pairs of which label 1 has a word in both texts, and label 0 none."""

    def make(count: int, *, seed: int = 0) -> Examples:
        rng = np.random.default_rng(seed)
        labels = np.arange(count) % 2
        first, second = [], []
        for label in labels:
            words = [f"word{number}" for number in rng.permutation(10)]
            left, right = words[: rng.integers(2, 5)], words[5:8]
            if label:
                right[rng.integers(3)] = left[rng.integers(len(left))]
            first.append(" ".join(left))
            second.append(" ".join(right))
        return table(labels, ("apart", "shared"), text=first, text_pair=second)

    return make


def test_it_finds_what_neither_text_says_alone(
    shared_word: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    settings = _changed(width=32, vector_width=32, epochs=5, batch_size=25, dropout=0.0)
    train, test = shared_word(400), shared_word(100, seed=1)
    result = evaluate(settings, train, {"test": test}, seed=0, device=cpu, scratch=tmp_path, log=ignore)
    assert result.metrics["train_accuracy"] > 0.9
    assert np.mean(result.predictions["test"].predicted == test.labels) > 0.9


def test_an_encoder_is_trained_saved_and_as_wide_as_the_settings_say(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    rest = keyword_pairs(20, seed=1)
    metrics = train_encoder(ESIM, keyword_pairs(60), tmp_path / "encoder", seed=0, device=cpu, log=ignore)
    assert metrics["train_accuracy"] > 0.9
    files = {path.name for path in (tmp_path / "encoder").iterdir()}
    assert files == {"config.json", "model.safetensors", "vocabulary.json"}
    encoder = load_encoder(ESIM, tmp_path / "encoder", LABELS, device=cpu)
    assert encoder.width == ESIM.width
    batch = encoder.encode(rest)
    assert batch.features.shape == (20, ESIM.width)
    assert batch.probabilities is not None
    assert np.mean(batch.probabilities.argmax(axis=1) == rest.labels) > 0.9
    again = load_encoder(ESIM, tmp_path / "encoder", LABELS, device=cpu).encode(rest)
    np.testing.assert_array_equal(again.features, batch.features)
    assert encoder.encode(rest.select([])).features.shape == (0, ESIM.width)


@pytest.mark.parametrize("kind", ["learnt", "file", "contextual"])
def test_a_saved_model_stands_alone_and_computes_the_same(
    kind: str, keyword_pairs: Callable[..., Examples], vectors_file: Path, bert_folder: Path, tmp_path: Path
) -> None:
    source = {"learnt": {}, "file": {"vectors": str(vectors_file)}, "contextual": {"contextual": str(bert_folder)}}
    examples = keyword_pairs(12)
    classifier = made(_changed(**source[kind]), examples)
    classifier.save(tmp_path / "model")
    elsewhere = _changed(**dict.fromkeys(source[kind], "/nowhere"))
    again = saved_classifier(elsewhere, tmp_path / "model", LABELS)
    assert torch.equal(logits(again, examples), logits(classifier, examples))
    kept = [name for name in load_file(tmp_path / "model" / "model.safetensors") if name.startswith("vectors.")]
    assert kept == ([] if kind == "contextual" else ["vectors.table.weight"])


def test_a_saved_mix_of_layers_is_loaded_and_one_that_lacks_is_told(
    keyword_pairs: Callable[..., Examples], bert_folder: Path, tmp_path: Path
) -> None:
    examples, settings = keyword_pairs(12), _changed(contextual=str(bert_folder))
    classifier = made(settings, examples)
    with torch.no_grad():
        classifier.model.mix.weights.copy_(torch.tensor([2.0, -1.0]))
        classifier.model.mix.scale.fill_(0.5)
    assert not torch.allclose(logits(classifier, examples), logits(made(settings, examples), examples), atol=1e-4)
    classifier.save(tmp_path)
    again = saved_classifier(settings, tmp_path, LABELS)
    assert torch.equal(logits(again, examples), logits(classifier, examples))
    stored = load_file(tmp_path / "model.safetensors")
    assert stored["mix.weights"].tolist() == [2.0, -1.0]
    save_file({name: value for name, value in stored.items() if name != "mix.weights"}, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"lacks the entries \['mix.weights'\]"):
        saved_classifier(settings, tmp_path, LABELS)


def test_vectors_of_a_file_are_taken_over_and_the_vocabulary_is_filled(
    keyword_pairs: Callable[..., Examples], vectors_file: Path
) -> None:
    lines: list[str] = []
    classifier = made(_changed(vectors=str(vectors_file)), keyword_pairs(30), lines=lines)
    reader, weights = classifier.tokenizer, classifier.model.vectors.table.weight.detach()
    assert weights.shape == (len(reader), 4)
    for word, vector in {"dog": [1, 0, 0, 1], "cat": [0, -1, 1, 0], "zebra": [1, 2, 3, 4]}.items():
        assert weights[reader.number(word)].tolist() == vector
    assert reader.words[-2:] == ("zebra", "lion")
    assert "Dog" not in reader.words
    assert reader.number("house") > 1
    assert weights[0].tolist() == [0, 0, 0, 0]
    assert float(weights[reader.number("house")].abs().sum()) > 0
    assert lines[0].startswith("vectors.txt: vectors of 2 of 12 words of the train texts (")
    assert lines[0].endswith("of their occurrences) and 2 other words, 4 wide")


def test_a_full_vocabulary_takes_no_other_words(table: Callable[..., Examples], vectors_file: Path) -> None:
    words = [f"word{number}" for number in range(150)] + ["dog"]
    train = table([0, 1], LABELS, text=["dog dog", " ".join(words)], text_pair=["dog", "dog"])
    reader = made(_changed(vocabulary=100, vectors=str(vectors_file)), train).tokenizer
    assert len(reader.words) == 100
    assert reader.words[0] == "dog"
    assert "zebra" not in reader.words


@pytest.mark.parametrize("learning", [True, False])
def test_vectors_of_a_file_learn_if_they_may(
    learning: bool, keyword_pairs: Callable[..., Examples], vectors_file: Path, cpu: DeviceSettings, tmp_path: Path
) -> None:
    settings = _changed(vectors=str(vectors_file), train_vectors=learning, epochs=1)
    train_encoder(settings, keyword_pairs(20), tmp_path / "model", seed=0, device=cpu, log=ignore)
    again = saved_classifier(settings, tmp_path / "model", LABELS)
    dog = again.model.vectors.table.weight[again.tokenizer.number("dog")].tolist()
    assert (dog == [1, 0, 0, 1]) is not learning


def test_contextual_vectors_learn_nothing_while_the_rest_does(
    keyword_pairs: Callable[..., Examples], bert_folder: Path, cpu: DeviceSettings, tmp_path: Path
) -> None:
    settings = _changed(contextual=str(bert_folder), epochs=5)
    metrics = train_encoder(settings, keyword_pairs(60), tmp_path / "model", seed=0, device=cpu, log=ignore)
    assert metrics["train_accuracy"] > 0.9
    again = saved_classifier(settings, tmp_path / "model", LABELS)
    assert isinstance(again.model.vectors, ContextualVectors)
    trained, given = again.model.vectors.encoder.state_dict(), load_file(bert_folder / "model.safetensors")
    for name in ("embeddings.word_embeddings.weight", "encoder.layer.0.output.dense.weight"):
        assert torch.equal(trained[name], given[f"bert.{name}"])


class _PlantedLayers(nn.Module):
    """An encoder of four layers, of which the third alone tells word pieces apart; the others are noise."""

    device = torch.device("cpu")
    config = BertConfig(hidden_size=20, pad_token_id=0)

    def __init__(self) -> None:
        super().__init__()
        self.noise = torch.Generator().manual_seed(0)

    def forward(self, input_ids: torch.Tensor, **_: object) -> BaseModelOutput:
        told = nn.functional.one_hot(input_ids, 20).float() * 4
        noise = torch.randn(3, *input_ids.shape, 20, generator=self.noise)
        return BaseModelOutput(hidden_states=(noise[0], noise[1], told, noise[2]))


def test_the_layer_that_tells_the_label_is_found(
    keyword_pairs: Callable[..., Examples], bert_folder: Path, cpu: DeviceSettings, tmp_path: Path
) -> None:
    settings, train = _changed(contextual=str(bert_folder), epochs=10, dropout=0.0), keyword_pairs(100)
    reader = made(settings, train).tokenizer
    with isolated_random_state(0):
        model = Esim(EsimConfiguration(LABELS, 20, None, 16, 0.0), ContextualVectors(_PlantedLayers()))
        assert isinstance(model.mix, LayerMix)
        before = model.mix.shares().tolist()
        classifier = NeuralClassifier(model, settings, 2, reader)
        train_classifier(classifier, train, seed=0, device=cpu, scratch=tmp_path, log=ignore)
    shares = model.mix.shares().detach()
    assert before == [0.25] * 4
    assert int(shares.argmax()) == 2
    assert float(shares[2]) > 0.35
    assert float(shares[[0, 1, 3]].max()) < 0.25


@pytest.mark.parametrize("kind", ["learnt", "contextual"])
def test_empty_and_odd_texts_give_numbers(
    kind: str, keyword_pairs: Callable[..., Examples], table: Callable[..., Examples], bert_folder: Path
) -> None:
    settings = ESIM if kind == "learnt" else _changed(contextual=str(bert_folder))
    classifier = made(settings, keyword_pairs(6))
    odd = table([0] * 4, LABELS, text=["", "dog", "\x00", "犬 " * 300], text_pair=["", " ", "[SEP] [PAD]", "👍"])
    together = logits(classifier, odd)
    assert torch.isfinite(together).all()
    for row in range(4):
        alone = logits(classifier, odd.select(odd.row_ids[[row]]))
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=1e-5)


def test_texts_without_words_are_refused(table: Callable[..., Examples]) -> None:
    with pytest.raises(DataError, match=r"the texts of 2 train rows contain no words, so no vocabulary"):
        made(ESIM, table([0, 1], LABELS, text=["", " "], text_pair=["", "\t"]))


def test_an_encoder_of_other_labels_or_half_of_one_is_refused(
    keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    good = tmp_path / "good"
    made(ESIM, keyword_pairs(6)).save(good)
    with pytest.raises(ModelError, match=r"was not trained on the dataset's 3 labels \(x, y, z\)"):
        saved_classifier(ESIM, good, ("x", "y", "z"))
    with pytest.raises(ModelError, match=r"holds no encoder, because the file config.json is missing"):
        saved_classifier(ESIM, tmp_path, LABELS)
    for number, (file, content) in enumerate(
        [
            ("model.safetensors", b"no weights"),
            ("vocabulary.json", json.dumps(["one"]).encode()),
            ("config.json", b'{"model_type": "bert"}'),
            ("config.json", b"{}"),
        ]
    ):
        folder = shutil.copytree(good, tmp_path / str(number))
        (folder / file).write_bytes(content)
        with pytest.raises(
            ModelError, match=r"holds no readable esim model \(.*\); materialise the asset that trained the model again"
        ):
            saved_classifier(ESIM, folder, LABELS)
    folder = shutil.copytree(good, tmp_path / "cut")
    (folder / "model.safetensors").write_bytes((good / "model.safetensors").read_bytes()[:-4])
    with pytest.raises(ModelError, match=r"cut holds no readable esim model \(model.safetensors is truncated"):
        saved_classifier(ESIM, folder, LABELS)
    weights = load_file(good / "model.safetensors")
    save_file({name: value for name, value in weights.items() if name != "output.bias"}, good / "model.safetensors")
    with pytest.raises(ModelError, match=r"holds no readable esim model \(.*lacks the entries \['output.bias'\]"):
        saved_classifier(ESIM, good, LABELS)


def _nli_examples(rows: pa.Table) -> Examples:
    labels = [NLI_LABELS.index(label) for label in rows["label"].to_pylist()]
    columns = {
        "row_id": pa.array(range(len(labels)), pa.int64()),
        "source_id": rows["id"],
        "split": ["train"] * len(labels),
        "label": pa.array(labels, pa.int64()),
        "text": rows["text"],
        "text_pair": rows["text_pair"],
    }
    return Examples(pa.table(columns), NLI_LABELS)


def _ignore(_: str) -> None:
    pass


def test_an_evaluator_trains_on_template_nli(cpu: DeviceSettings, tmp_path: Path) -> None:
    source = TemplateNliSource(format="template_nli", splits={"train": 150, "test": 60}, planted_share=1.0)
    splits = {name: _nli_examples(rows) for name, rows in template_nli(source).items()}
    lines: list[str] = []
    result = evaluate(
        ESIM,
        splits["train"],
        {"test": splits["test"]},
        seed=0,
        device=cpu,
        scratch=tmp_path,
        log=lines.append,
    )
    assert lines[0].startswith("vocabulary: ")
    assert result.dynamics is not None
    assert result.dynamics.num_rows == 4 * 150
    assert np.mean(result.predictions["test"].predicted == splits["test"].labels) > 0.6
    probabilities = result.predictions["test"].probabilities
    assert probabilities is not None
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", ["learnt", "contextual"])
def test_the_same_seed_saves_the_same_bits(
    kind: str, keyword_pairs: Callable[..., Examples], bert_folder: Path, cpu: DeviceSettings, tmp_path: Path
) -> None:
    settings = _changed(epochs=1, contextual=str(bert_folder) if kind == "contextual" else None)
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train_encoder(settings, keyword_pairs(20), tmp_path / name, seed=seed, device=cpu, log=_ignore)
    contents = [(tmp_path / name / "model.safetensors").read_bytes() for name in "abc"]
    assert contents[0] == contents[1] != contents[2]
