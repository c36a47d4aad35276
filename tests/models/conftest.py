"""Tables and checkpoints small enough to train on in a second."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer, set_seed

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import isolated_random_state, quiet_libraries
from aflite_assets.specs.models.settings import ImageModelSpec, TextModelSpec

WORDS = ["the", "a", "dog", "cat", "runs", "sleeps", "park", "house", "not", "red", "big", "and"]
CPU = DeviceSettings(device="cpu")


@pytest.fixture
def cpu() -> DeviceSettings:
    return CPU


@pytest.fixture
def table() -> Callable[..., Examples]:
    """Examples of the given columns; row ids 100, 101, ..."""

    def make(labels: list[int] | np.ndarray, label_names: tuple[str, ...], **columns: object) -> Examples:
        count = len(labels)
        return Examples(
            pa.table(
                {
                    "row_id": pa.array(range(100, 100 + count), pa.int64()),
                    "source_id": pa.array([str(i) for i in range(count)]),
                    "split": pa.array(["train"] * count),
                    "label": pa.array(list(labels), pa.int64()),
                    **columns,
                }
            ),
            label_names,
        )

    return make


@pytest.fixture
def keyword_pairs(table: Callable[..., Examples]) -> Callable[..., Examples]:
    """Sentence pairs whose second text ends in "and" for label 0 and in "not" for label 1."""

    def make(count: int, *, seed: int = 0) -> Examples:
        rng = np.random.default_rng(seed)
        labels = np.arange(count) % 2
        plain = [word for word in WORDS if word not in ("and", "not")]
        first = [" ".join(rng.choice(plain, rng.integers(2, 5))) for _ in labels]
        second = [" ".join([*rng.choice(plain, 2), "not" if label else "and"]) for label in labels]
        return table(labels, ("agrees", "contradicts"), text=first, text_pair=second)

    return make


@pytest.fixture
def png_images(table: Callable[..., Examples]) -> Callable[..., Examples]:
    """Red and green noisy images; label 0 is the red one. `sizes` holds width and height of each row."""

    def make(count: int, *, sizes: list[tuple[int, int]] | None = None, seed: int = 0) -> Examples:
        rng = np.random.default_rng(seed)
        values = []
        for row in range(count):
            width, height = sizes[row] if sizes else (32, 32)
            pixels = rng.integers(0, 120, size=(height, width, 3), dtype=np.uint8)
            pixels[:, :, row % 2] += 130
            values.append({"bytes": png(pixels), "path": None, "sha256": None})
        return table(np.arange(count) % 2, ("red", "green"), image=pa.array(values, IMAGE_TYPE))

    return make


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    return stream.getvalue()


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of width 32 with dropout and a vocabulary of a dozen words."""
    folder = tmp_path_factory.mktemp("bert")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]), encoding="utf-8")
    configuration = BertConfig(
        vocab_size=5 + len(WORDS),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.1,
    )
    with isolated_random_state(0), quiet_libraries():
        set_seed(0)
        BertForSequenceClassification(configuration).save_pretrained(folder)
        BertTokenizer(vocab=str(vocabulary)).save_pretrained(folder)
    return folder


@pytest.fixture
def text_settings(bert_folder: Path) -> TextModelSpec:
    return TextModelSpec(
        kind="huggingface_text", checkpoint=str(bert_folder), max_length=24, epochs=6, batch_size=10, learning_rate=5e-3
    )


@pytest.fixture
def image_settings() -> ImageModelSpec:
    """A network of some thousand weights that sees flipped and shifted images."""
    return ImageModelSpec(
        kind="timm_image", architecture="test_resnet", image_size=32, epochs=2, batch_size=8, augmentation="flip_crop"
    )
