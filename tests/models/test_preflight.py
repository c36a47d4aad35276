from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.preflight import check_model
from aflite_assets.specs.models.kinds import EncoderSpec, EvaluatorSpec
from aflite_assets.specs.models.settings import (
    EsimSpec,
    IdentityEncoderSpec,
    ImageModelSpec,
    LinearModelSpec,
    MaxPpmiSpec,
    RbfSvmSpec,
    TextModelSpec,
)

IDENTITY = IdentityEncoderSpec(kind="identity")
IMAGE = ImageModelSpec(kind="timm_image", architecture="test_resnet")
ESIM = EsimSpec(kind="esim")
MAX_PPMI = MaxPpmiSpec(kind="max_ppmi")


@pytest.fixture
def rows(
    table: Callable[..., Examples], keyword_pairs: Callable[..., Examples], png_images: Callable[..., Examples]
) -> dict[str, Examples]:
    features = table([0, 1], ("a", "b"), features=pa.array([[1.0], [2.0]], pa.list_(pa.float32())))
    return {"text": keyword_pairs(2), "image": png_images(2), "features": features}


def test_models_that_fit_pass(rows: dict[str, Examples], text_settings: TextModelSpec) -> None:
    check_model(text_settings, rows["text"])
    check_model(text_settings.model_copy(update={"inputs": ("text_pair",)}), rows["text"])
    for settings in (ESIM, MAX_PPMI, MAX_PPMI.model_copy(update={"inputs": ("text_pair",)})):
        check_model(settings, rows["text"])
    check_model(IMAGE, rows["image"])
    check_model(IDENTITY, rows["features"])
    for examples in rows.values():
        check_model(LinearModelSpec(kind="linear"), examples)
        check_model(RbfSvmSpec(kind="rbf_svm"), examples)


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        (
            "text",
            "image",
            r"'huggingface_text' needs rows of type text, but .* of type image; choose 'timm_image', or 'linear'",
        ),
        ("text", "features", r"are of type features; choose 'identity', or 'linear' or 'rbf_svm' as evaluator"),
        (
            IMAGE,
            "text",
            r"'timm_image' needs rows of type image, but .* of type text; choose 'huggingface_text', "
            r"'small_transformer', 'esim', 'siamese_bag', 'siamese_lstm' or 'word_overlap', or 'linear', 'rbf_svm' or "
            r"'max_ppmi' as "
            r"evaluator",
        ),
        (
            ESIM,
            "image",
            r"kind 'esim' needs rows of type text, but the dataset's rows are of type image; choose 'timm_image'",
        ),
        (ESIM, "features", r"kind 'esim' needs rows of type text, but the dataset's rows are of type features"),
        (MAX_PPMI, "image", r"kind 'max_ppmi' needs rows of type text, but the dataset's rows are of type image"),
        (MAX_PPMI, "features", r"kind 'max_ppmi' needs rows of type text, but the dataset's rows are of type features"),
        (IDENTITY, "text", r"'identity' needs rows of type features, but the dataset's rows are of type text"),
        (IDENTITY, "image", r"'identity' needs rows of type features, but the dataset's rows are of type image"),
    ],
)
def test_the_wrong_kind_of_rows_is_named(
    rows: dict[str, Examples],
    text_settings: TextModelSpec,
    settings: EncoderSpec | EvaluatorSpec | str,
    kind: str,
    message: str,
) -> None:
    with pytest.raises(ModelError, match=message):
        check_model(text_settings if isinstance(settings, str) else settings, rows[kind])


def test_feature_columns_that_the_data_lack_are_named(rows: dict[str, Examples]) -> None:
    check_model(LinearModelSpec(kind="linear", features=(0,)), rows["features"])
    with pytest.raises(
        ModelError, match=r"`features` contains column 4, but the rows have 1 features; choose columns from 0 to 0"
    ):
        check_model(RbfSvmSpec(kind="rbf_svm", features=(0, 4)), rows["features"])
    with pytest.raises(ModelError, match=r"`features` is \[0\], but the dataset's rows are of type text; leave"):
        check_model(LinearModelSpec(kind="linear", features=(0,)), rows["text"])


def test_inputs_that_the_data_lack_are_named(rows: dict[str, Examples], text_settings: TextModelSpec) -> None:
    single = Examples(rows["text"].table.drop_columns(["text_pair"]), ("a", "b"))
    with pytest.raises(
        ModelError, match=r"`inputs` contains text_pair, but the dataset has no such column; choose from text"
    ):
        check_model(text_settings.model_copy(update={"inputs": ("text", "text_pair")}), single)
    with pytest.raises(ModelError, match=r"`inputs` contains text, .* leave `inputs` out, .* for texts only"):
        check_model(LinearModelSpec(kind="linear", inputs=("text",)), rows["image"])


def test_what_cannot_be_had_is_named(rows: dict[str, Examples], text_settings: TextModelSpec, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"checkpoint .* is a folder that does not exist"):
        check_model(text_settings.model_copy(update={"checkpoint": str(tmp_path / "gone")}), rows["text"])
    with pytest.raises(ModelError, match=r"`max_length` is 99, but .* at most 32 tokens"):
        check_model(text_settings.model_copy(update={"max_length": 99}), rows["text"])
    with pytest.raises(ModelError, match=r"`architecture` is 'resnet10', which timm .*did you mean"):
        check_model(IMAGE.model_copy(update={"architecture": "resnet10"}), rows["image"])
    with pytest.raises(ModelError, match=r"cannot be read as a safetensors file"):
        check_model(IMAGE.model_copy(update={"checkpoint": str(tmp_path / "gone")}), rows["image"])


def test_esim_needs_two_texts(rows: dict[str, Examples]) -> None:
    single = Examples(rows["text"].table.drop_columns(["text_pair"]), ("a", "b"))
    check_model(MAX_PPMI, single)
    with pytest.raises(
        ModelError,
        match=r"'esim' compares two texts, but each row of the dataset has one .*choose 'huggingface_text' or "
        r"'small_transformer', or 'linear' as evaluator",
    ):
        check_model(ESIM, single)


def test_esims_vectors_must_be_there(rows: dict[str, Examples], bert_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("dog 1 2\n")
    check_model(ESIM.model_copy(update={"vectors": str(tmp_path / "vectors.txt")}), rows["text"])
    for missing in (tmp_path / "gone.txt", tmp_path):
        with pytest.raises(ModelError, match=r"`vectors` is '.*', which is not a file; give the path of a text file"):
            check_model(ESIM.model_copy(update={"vectors": str(missing)}), rows["text"])
    contextual = ESIM.model_copy(update={"contextual": str(bert_folder), "max_length": 32})
    check_model(contextual, rows["text"])
    with pytest.raises(ModelError, match=r"`max_length` is 64, but .* at most 32 tokens"):
        check_model(contextual.model_copy(update={"max_length": 64}), rows["text"])
    with pytest.raises(ModelError, match=r"checkpoint .*gone' is a folder that does not exist"):
        check_model(contextual.model_copy(update={"contextual": str(tmp_path / "gone")}), rows["text"])
