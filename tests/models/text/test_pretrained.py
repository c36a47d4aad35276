import json
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    ViTConfig,
)

from aflite_assets.errors import ModelError
from aflite_assets.models.esim.contextual_vectors import pretrained_vectors
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
    with pytest.raises(ModelError, match=r"checkpoint '.*/gone' is a folder that does not exist; give a folder"):
        _check(tmp_path / "gone")


@pytest.mark.usefixtures("offline")
def test_an_unreachable_hub_id_is_named() -> None:
    with pytest.raises(ModelError, match=r"model 'no-such/model': `HF_HUB_OFFLINE` is set and revision 'main' is not"):
        _check("no-such/model")


def test_a_folder_without_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"cannot be loaded .*; give a checkpoint that has config.json, model.safetensors"
    ):
        _check(tmp_path)


def test_a_weights_file_that_is_cut_short_is_named(copied: Path) -> None:
    weights = copied / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    said = r"checkpoint '.*copy' cannot be loaded \(model.safetensors is truncated or damaged: .*\); copy or download"
    with pytest.raises(ModelError, match=said):
        pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)


def test_a_folder_without_a_vocabulary_is_refused(copied: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (copied / name).unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer vocabulary; put the tokenizer's files"):
        _check(copied)


def test_an_architecture_without_a_sequence_classifier_is_refused(copied: Path) -> None:
    ViTConfig().save_pretrained(copied)
    with pytest.raises(ModelError, match=r"a model of type 'vit', for which transformers has no sequence classifier"):
        _check(copied)


def test_more_tokens_than_positions_are_refused(copied: Path) -> None:
    with pytest.raises(
        ModelError, match=r"`max_length` is 33, but .* at most 32 tokens; set `max_length` to 32 or less"
    ):
        _check(copied, max_length=33)
    _edit(copied, model_type="roberta", pad_token_id=1)
    with pytest.raises(ModelError, match=r"`max_length` is 31, but .* at most 30 tokens"):
        _check(copied, max_length=31)


def test_another_number_of_labels_gets_a_new_head_and_says_so(bert_folder: Path) -> None:
    said: list[str] = []
    with isolated_random_state(0):
        text = pretrained_text_model(str(bert_folder), revision=None, label_names=("x", "y", "z"), log=said.append)
    assert said == [
        f"checkpoint {bert_folder} lacks these weights, which are drawn at random: classifier.bias, classifier.weight"
    ]
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
    with pytest.raises(ModelError, match=r"whose weights do not match its config.json: bert\.encoder"):
        pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)


def test_weights_of_another_architecture_are_refused(copied: Path) -> None:
    _edit(copied, model_type="electra", embedding_size=32)
    with pytest.raises(ModelError, match=r"\d+ of the \d+ weights of ElectraForSequenceClassification are missing"):
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


KERNELS = [
    {"attn_implementation": "kernels-community/flash-attn"},
    {"_attn_implementation": "kernels-community/flash-attn"},
    {"attn_implementation": "me/evil@main:attention"},
    {"_attn_implementation_internal": "me/evil"},
    {"attn_implementation": {"": "me/evil"}},
    {"attn_implementation": "paged|me/evil"},
    {"attn_implementation": "flash_attention_2"},
    {"_attn_implementation": "flash_attention_3"},
    {"attn_implementation": "flex_attention"},
    {"attn_implementation": 5},
    {"experts_implementation": "me/evil"},
    {"_experts_implementation": "me/evil"},
    {"use_kernels": True, "kernel_config": {"kernel_mapping": {"RMSNorm": "me/evil:x"}}},
    {"auto_map": {"AutoModelForSequenceClassification": "me/evil--code.Model", "AutoModel": "me/evil--code.Model"}},
]


@pytest.mark.parametrize("named", KERNELS, ids=json.dumps)
def test_kernels_of_the_hub_that_a_configuration_names_are_never_loaded(
    bert_folder: Path, copied: Path, monkeypatch: pytest.MonkeyPatch, named: dict[str, object]
) -> None:
    def load(*arguments: object, **options: object) -> None:
        pytest.fail(f"a kernel is loaded: {arguments} {options}")

    monkeypatch.setattr("transformers.modeling_utils.lazy_import_flash_attention", load)
    monkeypatch.setattr("transformers.integrations.hub_kernels.get_kernel", load)
    monkeypatch.setattr("transformers.models.auto.auto_factory.get_class_from_dynamic_module", load)
    _edit(copied, **named)
    _check(copied)
    texts = [
        pretrained_text_model(str(folder), revision=None, label_names=("x", "y"), log=_ignore)
        for folder in (bert_folder, copied)
    ]
    assert [text.model.config._attn_implementation for text in texts] == ["sdpa", "sdpa"]
    same = zip(texts[0].model.state_dict().values(), texts[1].model.state_dict().values(), strict=True)
    assert all(torch.equal(one, two) for one, two in same)
    vectors, _ = pretrained_vectors(str(copied), revision=None)
    assert vectors.encoder.config._attn_implementation == "sdpa"


def test_an_architecture_without_fused_attention_has_the_plain_one(copied: Path) -> None:
    with quiet_libraries():
        DebertaV2ForSequenceClassification(
            DebertaV2Config(
                vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
            )
        ).save_pretrained(copied)
    _edit(copied, attn_implementation="me/evil")
    text = pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)
    assert text.model.config._attn_implementation == "eager"


def test_a_backbone_of_another_repository_is_never_asked_for(copied: Path) -> None:
    """Without a network it would be a library's error about the hub."""
    _edit(copied, model_type="upernet", backbone="evil/x", use_pretrained_backbone=True)
    with pytest.raises(ModelError, match=r"refers to the backbone 'evil/x', a second model"):
        _check(copied)


@pytest.mark.parametrize("method", ["mxfp4", "bitsandbytes", "fp8", "x"])
def test_quantised_weights_whose_kernels_would_be_loaded_are_refused(copied: Path, method: str) -> None:
    _edit(copied, quantization_config={"quant_method": method})
    said = r"checkpoint '.*copy' has quantised weights .* cannot be trained; choose the original checkpoint"
    for load in (_check, lambda folder: pretrained_vectors(str(folder), revision=None)):
        with pytest.raises(ModelError, match=said):
            load(copied)


class _Evil:
    """Raises when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("unpickled",))


PICKLED: dict[str, Callable[[Path], object]] = {
    "evil": lambda path: torch.save({"x": _Evil()}, path),
    "old and evil": lambda path: torch.save({"x": _Evil()}, path, _use_new_zipfile_serialization=False),
    "code": lambda path: path.write_bytes(b"\x80\x02cos\nsystem\n."),
    "empty": lambda path: path.write_bytes(b""),
    "junk": lambda path: path.write_bytes(b"junk"),
    "list": lambda path: torch.save([1], path),
}


@pytest.mark.parametrize("content", PICKLED)
def test_weights_that_are_pickled_code_are_refused_without_advice_to_run_it(copied: Path, content: str) -> None:
    (copied / "model.safetensors").unlink()
    PICKLED[content](copied / "pytorch_model.bin")
    for load in (
        lambda: pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore),
        lambda: pretrained_vectors(str(copied), revision=None),
    ):
        with pytest.raises(ModelError, match=r"'.*copy' cannot be loaded \(.+\); ") as refused:
            load()
        if content in ("evil", "old and evil", "code"):
            assert "pytorch_model.bin is damaged or contains objects that are not tensors" in str(refused.value)
            assert str(refused.value).endswith("or choose another checkpoint")
        assert "will likely succeed" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    "values",
    [{"hidden_size": "x"}, {"num_attention_heads": 0}, {"id2label": 5}, {"dtype": "x"}, {"hidden_act": "x"}],
    ids=json.dumps,
)
def test_values_that_make_no_model_are_refused(copied: Path, values: dict[str, object]) -> None:
    _edit(copied, **values)
    with pytest.raises(
        ModelError, match=r"(?s)checkpoint '.*copy' cannot be loaded \(.+\); give a checkpoint that has config.json"
    ):
        pretrained_text_model(str(copied), revision=None, label_names=("x", "y"), log=_ignore)


def test_a_configuration_without_end_is_refused(copied: Path) -> None:
    (copied / "config.json").write_text('{"a":' * 5000)
    with pytest.raises(
        ModelError, match=r"checkpoint '.*copy' cannot be loaded \(.+\); give a checkpoint that has config.json"
    ):
        _check(copied)
