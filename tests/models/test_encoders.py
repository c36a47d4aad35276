from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.special import softmax

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models import encoders
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.encoders import load_encoder, train_encoder
from aflite_assets.models.training.epochs import read_epochs
from aflite_assets.specs.models.settings import ImageModelSpec, TextModelSpec
from tests.models.made import ignore

LABELS = ("agrees", "contradicts")
IMAGES = ImageModelSpec(
    kind="timm_image", architecture="test_resnet", image_size=32, epochs=3, batch_size=8, learning_rate=5e-3
)


def test_a_text_encoder_learns_is_saved_and_its_features_make_its_logits(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    train, rest = keyword_pairs(60), keyword_pairs(20, seed=1)
    metrics = train_encoder(text_settings, train, tmp_path / "encoder", seed=0, device=cpu, log=ignore)
    assert set(metrics) == {"train_loss", "train_accuracy", "seconds", "rows", "steps"}
    assert metrics["train_accuracy"] > 0.9

    elsewhere = text_settings.model_copy(update={"checkpoint": "/nowhere"})
    encoder = load_encoder(elsewhere, tmp_path / "encoder", LABELS, device=cpu)
    batch = encoder.encode(rest)
    assert encoder.width == 32
    assert batch.features.shape == (20, 32)
    assert batch.features.dtype == np.float32
    assert batch.probabilities is not None
    assert batch.probabilities.dtype == np.float32
    weights = load_file(tmp_path / "encoder" / "model.safetensors")
    logits = batch.features @ weights["classifier.weight"].T + weights["classifier.bias"]
    np.testing.assert_allclose(softmax(logits, axis=1), batch.probabilities, atol=1e-5)
    assert np.mean(batch.probabilities.argmax(axis=1) == rest.labels) > 0.9

    again = load_encoder(elsewhere, tmp_path / "encoder", LABELS, device=cpu).encode(rest)
    np.testing.assert_array_equal(again.features, batch.features)


def test_an_image_encoder_does_the_same(
    png_images: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    train, rest = png_images(32), png_images(10, seed=1)
    metrics = train_encoder(IMAGES, train, tmp_path, seed=0, device=cpu, log=ignore)
    assert metrics["steps"] == 12
    encoder = load_encoder(IMAGES, tmp_path, train.label_names, device=cpu)
    batch = encoder.encode(rest)
    assert batch.features.shape == (10, encoder.width)
    weights = load_file(tmp_path / "model.safetensors")
    logits = batch.features @ weights["timm_model.fc.weight"].T + weights["timm_model.fc.bias"]
    assert batch.probabilities is not None
    np.testing.assert_allclose(softmax(logits, axis=1), batch.probabilities, atol=1e-5)
    np.testing.assert_array_equal(encoder.encode(rest).features, batch.features)
    assert np.mean(batch.probabilities.argmax(axis=1) == rest.labels) > 0.9


def test_a_killed_training_goes_on_with_the_same_bits(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    settings, rows, lines = text_settings.model_copy(update={"epochs": 3}), keyword_pairs(20), list[str]()

    def kill(line: str) -> None:
        if line.startswith("epoch 2 of 3"):
            raise KeyboardInterrupt(line)

    whole = train_encoder(settings, rows, tmp_path / "whole", seed=3, device=cpu, log=ignore)
    scratch = tmp_path / "scratch"
    with pytest.raises(KeyboardInterrupt):
        train_encoder(settings, rows, tmp_path / "killed", seed=3, device=cpu, log=kill, scratch=scratch)
    found = train_encoder(settings, rows, tmp_path / "killed", seed=3, device=cpu, log=lines.append, scratch=scratch)
    assert [line.split(":")[0] for line in lines[-2:]] == ["epoch 2 of 3", "epoch 3 of 3"]
    assert not any(line.startswith("epoch 1") for line in lines)
    assert {**found, "seconds": 0} == {**whole, "seconds": 0}
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "killed")]
    assert weights[0] == weights[1]
    assert [file.name for file in scratch.iterdir()] == ["epochs.json"]
    by_epoch = read_epochs(scratch)
    assert [len(values) for values in by_epoch.values()] == [3, 3]  # the one before the kill too
    assert by_epoch["train_loss"][-1] == found["train_loss"]
    assert by_epoch["train_accuracy"][-1] == found["train_accuracy"]


def test_images_read_ahead_have_the_same_bits(
    png_images: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train_encoder(IMAGES, png_images(8), tmp_path, seed=0, device=cpu, log=ignore)
    encoder = load_encoder(IMAGES, tmp_path, ("red", "green"), device=cpu)
    batches = [png_images(5, seed=seed) for seed in range(6)]
    expected = [encoder.encode(batch) for batch in batches]
    for threads in (0, 2):
        monkeypatch.setattr(encoders, "reading_threads", lambda *, images, device, n=threads: n * images)
        found = list(encoder.encode_each(iter(batches)))
        for one, two in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one.features, two.features)
            np.testing.assert_array_equal(one.probabilities, two.probabilities)


def test_partial_input_ignores_the_other_column(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, bert_folder: Path
) -> None:
    examples = keyword_pairs(6)
    changed = Examples(
        examples.table.set_column(examples.table.column_names.index("text"), "text", [["the big red house"] * 6]),
        examples.label_names,
    )
    partial = text_settings.model_copy(update={"inputs": ("text_pair",)})
    for settings, same in ((partial, True), (text_settings, False)):
        encoder = load_encoder(settings, bert_folder, LABELS, device=cpu)
        first, second = (encoder.encode(table).features for table in (examples, changed))
        assert np.array_equal(first, second) is same


def test_no_rows_encode_to_no_rows(
    keyword_pairs: Callable[..., Examples], text_settings: TextModelSpec, cpu: DeviceSettings, bert_folder: Path
) -> None:
    encoder = load_encoder(text_settings, bert_folder, LABELS, device=cpu)
    batch = encoder.encode(keyword_pairs(2).select([]))
    assert batch.features.shape == (0, 32)
    assert batch.probabilities is not None
    assert batch.probabilities.shape == (0, 2)


def _ignore(_: str) -> None:
    pass


def test_the_same_seed_saves_the_same_bits(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], cpu: DeviceSettings, tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"epochs": 1})
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        train_encoder(settings, keyword_pairs(20), tmp_path / name, seed=seed, device=cpu, log=_ignore)
    contents = [(tmp_path / name / "model.safetensors").read_bytes() for name in "abc"]
    assert contents[0] == contents[1] != contents[2]


def test_an_encoder_reads_its_own_kind_of_rows_only(
    png_images: Callable[..., Examples], text_settings: TextModelSpec, cpu: DeviceSettings, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"needs rows of type text, but the dataset's rows are of type image"):
        train_encoder(text_settings, png_images(2), tmp_path, seed=0, device=cpu, log=_ignore)
