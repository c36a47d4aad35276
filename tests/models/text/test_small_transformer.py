import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.classifiers import saved_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.encoders import load_encoder, train_encoder
from aflite_assets.models.evaluators import evaluate
from aflite_assets.models.preflight import check_model
from aflite_assets.models.text.small_transformer import SPECIAL_TOKENS, train_word_pieces
from aflite_assets.specs.models.settings import SmallTransformerSpec
from tests.models.made import ignore, made

LABELS = ("agrees", "contradicts")
SMALL = SmallTransformerSpec(
    kind="small_transformer",
    vocabulary=120,
    width=16,
    layers=1,
    heads=2,
    max_length=20,
    epochs=6,
    batch_size=10,
    learning_rate=5e-3,
)


def _changed(**changes: object) -> SmallTransformerSpec:
    return SMALL.model_copy(update=changes)


def _with_texts(examples: Examples, column: str, texts: list[str]) -> Examples:
    position = examples.table.column_names.index(column)
    return Examples(examples.table.set_column(position, column, [texts]), examples.label_names)


def _texts_full_of_ties() -> list[str]:
    """Words over ten letters, so that many pairs of pieces are equally frequent."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 9))) for _ in range(300)]
    return [" ".join(rng.choices(words, k=10)) for _ in range(400)]


def test_the_model_is_as_the_settings_say(keyword_pairs: Callable[..., Examples]) -> None:
    classifier = made(_changed(layers=3, heads=4), keyword_pairs(30))
    config = classifier.model.config
    assert type(classifier.model).__name__ == "BertForSequenceClassification"
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads) == (16, 3, 4)
    assert (config.intermediate_size, config.max_position_embeddings) == (64, 20)
    assert config.vocab_size == len(classifier.tokenizer)
    assert len(classifier.tokenizer) <= 120
    assert config.pad_token_id == classifier.tokenizer.pad_token_id == 0
    assert config.id2label == {0: "agrees", 1: "contradicts"}
    assert {p.dtype for p in classifier.model.parameters()} == {torch.float32}
    weights = classifier.model.bert.encoder.layer[0].intermediate.dense.weight
    assert float(weights.detach().std()) == pytest.approx(16**-0.5, rel=0.1)


def test_frequent_words_become_one_piece_and_rare_ones_several() -> None:
    pieces = train_word_pieces(["the tall elephant", "the tall cat", "the tall dog", "xylophone"] * 2, 200)
    assert list(pieces)[:5] == list(SPECIAL_TOKENS)
    assert list(pieces.values()) == list(range(len(pieces)))
    assert {"the", "tall", "elephant", "cat", "dog", "xylophone"} <= set(pieces)
    once = train_word_pieces(["zebra"], 100)
    assert sorted(set(once) - set(SPECIAL_TOKENS)) == ["##a", "##b", "##e", "##r", "##z", "a", "b", "e", "r", "z"]


def test_texts_are_lower_cased_and_stripped_of_accents_and_control_characters(
    keyword_pairs: Callable[..., Examples],
) -> None:
    examples = _with_texts(keyword_pairs(4), "text", ["Café RÉSUMÉ\x00\x07 naïve!"] * 4)
    tokenizer = made(_changed(inputs=("text",), vocabulary=200), examples).tokenizer
    assert tokenizer.tokenize("CAFE resume\x07 Naïve!") == ["cafe", "resume", "naive", "!"]
    assert tokenizer.tokenize("e\u0301") == ["e"]


def test_a_special_token_spelt_out_is_read_as_text(keyword_pairs: Callable[..., Examples], tmp_path: Path) -> None:
    examples = _with_texts(keyword_pairs(4), "text", ["dog [SEP] [PAD] cat"] * 4)
    classifier = made(_changed(inputs=("text",)), examples)
    classifier.save(tmp_path)
    for model in (classifier, saved_classifier(SMALL, tmp_path, LABELS)):
        ids = model.tokenizer("dog [SEP] [PAD] cat")["input_ids"]
        assert [ids.count(model.tokenizer.convert_tokens_to_ids(token)) for token in ("[SEP]", "[PAD]")] == [1, 0]


@pytest.mark.parametrize("parallel", ["true", "false"])
def test_the_same_texts_give_the_same_vocabulary_in_any_order(monkeypatch: pytest.MonkeyPatch, parallel: str) -> None:
    texts = _texts_full_of_ties()
    first = train_word_pieces(texts, 200)
    assert len(first) == 200
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", parallel)
    for seed in range(3):
        again = train_word_pieces(random.Random(seed).sample(texts, len(texts)), 200)
        assert list(again.items()) == list(first.items())


@pytest.mark.parametrize("size", [100, 101, 4000])
def test_the_vocabulary_never_outgrows_its_size(size: int) -> None:
    many = [" ".join(chr(code) for code in range(start, start + 50)) for start in range(0x4E00, 0x5E00, 50)]
    pieces = train_word_pieces([*many, "plain words", "plain words"], size)
    assert len(pieces) <= size
    assert {"p", "##n"} <= set(pieces)


def test_words_that_are_never_read_are_not_learnt_from() -> None:
    assert set(train_word_pieces(["x" * 101] * 5, 100)) == set(SPECIAL_TOKENS)
    assert "x" * 100 in train_word_pieces(["x" * 100] * 5, 4000)


@hypothesis_settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_texts_give_a_vocabulary(texts: list[str]) -> None:
    pieces = train_word_pieces(texts, 100)
    assert list(pieces)[:5] == list(SPECIAL_TOKENS)
    assert sorted(pieces.values()) == list(range(len(pieces)))
    assert len(pieces) <= 100


@pytest.mark.parametrize("texts", [["", "a"], ["", " \n", "\x00", "a", "[CLS]", "👍", "語", "a b"]])
def test_few_and_odd_texts_can_be_trained_on(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path, texts: list[str]
) -> None:
    examples = _with_texts(keyword_pairs(len(texts)), "text", texts)
    unseen = _with_texts(keyword_pairs(len(texts)), "text", [f"unseen {text}" for text in texts])
    settings = _changed(inputs=("text",), epochs=1)
    result = evaluate(
        settings, examples, {"same": examples, "unseen": unseen}, seed=0, device=cpu, scratch=tmp_path, log=ignore
    )
    for predictions in result.predictions.values():
        assert predictions.probabilities is not None
        np.testing.assert_allclose(predictions.probabilities.sum(axis=1), 1, atol=1e-5)


def test_texts_without_any_word_are_refused(keyword_pairs: Callable[..., Examples]) -> None:
    empty = _with_texts(keyword_pairs(4), "text_pair", ["", " ", "\x01", "\n"])
    with pytest.raises(
        DataError, match=r"4 train rows \(columns: .*text_pair\) have no words for a vocabulary; choose"
    ):
        made(_changed(inputs=("text_pair",)), empty)


def test_the_tokenizer_learns_from_the_columns_it_reads_and_no_other(keyword_pairs: Callable[..., Examples]) -> None:
    examples = _with_texts(keyword_pairs(20), "text", ["zzz qqq"] * 20)
    both, second = (set(made(_changed(inputs=inputs), examples).tokenizer.vocab) for inputs in (None, ("text_pair",)))
    assert {"zzz", "not"} <= both
    assert "not" in second
    assert not {"z", "##z", "zzz"} & second


def test_an_encoder_learns_is_saved_and_gives_the_same_features(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    train, rest = keyword_pairs(100), keyword_pairs(30, seed=1)
    metrics = train_encoder(SMALL, train, tmp_path / "encoder", seed=0, device=cpu, log=ignore)
    assert metrics["train_accuracy"] > 0.9
    names = {path.name for path in (tmp_path / "encoder").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert not [name for name in names if name.endswith((".bin", ".pkl", ".pt"))]
    first, second = (load_encoder(SMALL, tmp_path / "encoder", LABELS, device=cpu).encode(rest) for _ in range(2))
    assert first.features.shape == (30, 16)
    np.testing.assert_array_equal(first.features, second.features)
    assert first.probabilities is not None
    assert np.mean(first.probabilities.argmax(axis=1) == rest.labels) > 0.9


def test_a_saved_classifier_computes_what_the_trained_one_did(
    keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples = keyword_pairs(12)
    classifier = made(SMALL, examples)
    classifier.save(tmp_path)
    again = saved_classifier(SMALL, tmp_path, LABELS)
    batches = [model.inputs(examples).batch(range(12)) for model in (classifier, again)]
    for name in ("input_ids", "token_type_ids", "attention_mask"):
        assert torch.equal(batches[0][name], batches[1][name])
    first, second = (model.model.eval()(**batches[0]).logits for model in (classifier, again))
    assert torch.equal(first, second)


def test_the_same_seed_saves_the_same_bits(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    settings = _changed(epochs=1)
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train_encoder(settings, keyword_pairs(20), tmp_path / name, seed=seed, device=cpu, log=ignore)
    for file in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "ac"]
    assert weights[0] != weights[1]
    assert (tmp_path / "a" / "tokenizer.json").read_bytes() == (tmp_path / "c" / "tokenizer.json").read_bytes()


def test_long_texts_are_cut_to_max_length(keyword_pairs: Callable[..., Examples]) -> None:
    long = _with_texts(keyword_pairs(2), "text", ["dog " * 500] * 2)
    assert made(_changed(max_length=9), long).inputs(long).lengths.tolist() == [9, 9]


def test_an_encoder_of_other_labels_is_refused(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    made(SMALL, keyword_pairs(6)).save(tmp_path / "two")
    with pytest.raises(ModelError, match=r"was not trained on the dataset's 3 labels \(x, y, z\)"):
        load_encoder(SMALL, tmp_path / "two", ("x", "y", "z"), device=cpu)


def _ignore(_: str) -> None:
    pass


def test_an_evaluator_finds_the_keyword_and_only_where_it_may_look(
    keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    train, test = keyword_pairs(100), keyword_pairs(60, seed=1)
    accuracies = []
    for inputs in (None, ("text_pair",), ("text",)):
        result = evaluate(
            _changed(inputs=inputs), train, {"test": test}, seed=0, device=cpu, scratch=tmp_path, log=_ignore
        )
        assert result.dynamics is not None
        assert result.dynamics.num_rows == 6 * 100
        accuracies.append(np.mean(result.predictions["test"].predicted == test.labels))
    assert accuracies[0] > 0.9
    assert accuracies[1] > 0.9
    assert accuracies[2] < 0.75


def test_only_texts_are_read(png_images: Callable[..., Examples], keyword_pairs: Callable[..., Examples]) -> None:
    check_model(SMALL, keyword_pairs(2))
    with pytest.raises(
        ModelError, match=r"kind 'small_transformer' needs rows of type text, but the dataset's rows are of type image"
    ):
        check_model(SMALL, png_images(2))
    single = Examples(keyword_pairs(2).table.drop_columns(["text_pair"]), LABELS)
    with pytest.raises(
        ModelError, match=r"`inputs` contains text_pair, but the dataset has no such column; choose from text"
    ):
        check_model(_changed(inputs=("text_pair",)), single)
