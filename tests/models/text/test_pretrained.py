import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    ViTConfig,
)

from aflite_assets.errors import ModelError
from aflite_assets.models.global_state import isolated_random_state, quiet_libraries
from aflite_assets.models.text.pretrained import check_text_checkpoint, pretrained_text_model


def _ignore(_: str) -> None:
    pass


def _check(checkpoint: Path | str, max_length: int = 16) -> None:
    check_text_checkpoint(str(checkpoint), revision=None, max_length=max_length)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture
def copied(bert_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bert_folder, tmp_path / "copy"))


def _edit(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_whole_folder_passes(bert_folder: Path) -> None:
    _check(bert_folder, max_length=32)


def test_the_check_needs_no_weights(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    _check(copied)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"checkpoint folder '.*/gone' does not exist; give the folder"):
        _check(tmp_path / "gone")


@pytest.mark.usefixtures("offline")
def test_an_unreachable_hub_id_is_named() -> None:
    with pytest.raises(ModelError, match=r"model 'no-such/model': HF_HUB_OFFLINE is set and revision 'main' is not"):
        _check("no-such/model")


def test_a_folder_without_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be loaded .*it needs config.json, model.safetensors"):
        _check(tmp_path)


def test_a_weights_file_that_is_cut_short_is_named(copied: Path) -> None:
    weights = copied / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    said = r"checkpoint '.*copy' cannot be loaded \(model.safetensors is cut short or damaged: .*\); copy or download"
    with pytest.raises(ModelError, match=said):
        pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)


def test_a_folder_without_a_vocabulary_is_refused(copied: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (copied / name).unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer vocabulary; put the tokenizer's files"):
        _check(copied)


def test_an_architecture_without_a_sequence_classifier_is_refused(copied: Path) -> None:
    ViTConfig().save_pretrained(copied)
    with pytest.raises(ModelError, match=r"is a 'vit', for which transformers has no sequence classifier"):
        _check(copied)


def test_more_tokens_than_positions_are_refused(copied: Path) -> None:
    with pytest.raises(ModelError, match=r"max_length 33 is more than the 32 tokens .*set max_length to 32 or less"):
        _check(copied, max_length=33)
    _edit(copied, model_type="roberta", pad_token_id=1)
    with pytest.raises(ModelError, match=r"max_length 31 is more than the 30 tokens"):
        _check(copied, max_length=31)


def test_another_number_of_labels_gets_a_new_head_and_says_so(bert_folder: Path) -> None:
    said: list[str] = []
    with isolated_random_state(0):
        text = pretrained_text_model(str(bert_folder), revision=None, label_names=("x", "y", "z"), log=said.append)
    assert said == [f"not in checkpoint {bert_folder}, drawn at random: classifier.bias, classifier.weight"]
    assert text.model.classifier.out_features == 3
    assert text.model.config.id2label == {0: "x", 1: "y", 2: "z"}
    with quiet_libraries():
        stored = AutoModelForSequenceClassification.from_pretrained(bert_folder)
    assert torch.equal(text.model.bert.pooler.dense.weight, stored.bert.pooler.dense.weight)


def test_a_half_precision_checkpoint_is_trained_in_single_precision(copied: Path) -> None:
    with quiet_libraries():
        AutoModelForSequenceClassification.from_pretrained(copied).half().save_pretrained(copied)
        text = pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)
    assert {p.dtype for p in text.model.parameters()} == {torch.float32}


def test_weights_of_another_shape_are_refused(copied: Path) -> None:
    _edit(copied, intermediate_size=48)
    with pytest.raises(ModelError, match=r"has bert\.encoder.*its config.json and its weights do not belong together"):
        pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)


def test_weights_of_another_architecture_are_refused(copied: Path) -> None:
    _edit(copied, model_type="electra", embedding_size=32)
    with pytest.raises(ModelError, match=r"lacks \d+ of \d+ weights of a ElectraForSequenceClassification"):
        pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)


def test_a_decoder_without_padding_pads_with_its_end_token(copied: Path) -> None:
    configuration = GPT2Config(vocab_size=17, n_positions=32, n_embd=16, n_layer=1, n_head=2)
    settings = json.loads((copied / "tokenizer_config.json").read_text())
    settings |= {"pad_token": None, "eos_token": "[SEP]"}
    with quiet_libraries():
        GPT2ForSequenceClassification(configuration).save_pretrained(copied)
        (copied / "tokenizer_config.json").write_text(json.dumps(settings))
        text = pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)
    assert text.tokenizer.pad_token == "[SEP]"
    assert text.model.config.pad_token_id == text.tokenizer.convert_tokens_to_ids("[SEP]")
