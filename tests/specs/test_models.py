from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from aflite_assets.specs.models.kinds import EncoderSpec, EvaluatorSpec
from aflite_assets.specs.models.settings import ImageModelSpec, RbfSvmSpec, TextModelSpec

TEXT = {"kind": "huggingface_text", "checkpoint": "roberta-base"}
IMAGE = {"kind": "timm_image", "architecture": "resnet18"}


@pytest.mark.parametrize("kind", ["identity", "huggingface_text", "timm_image"])
def test_encoders_by_kind(kind: str) -> None:
    settings = {"identity": {"kind": "identity"}, "huggingface_text": TEXT, "timm_image": IMAGE}[kind]
    assert TypeAdapter(EncoderSpec).validate_python(settings).kind == kind


@pytest.mark.parametrize("settings", [{"kind": "linear"}, {"kind": "rbf_svm"}, TEXT, IMAGE])
def test_evaluators_by_kind(settings: dict[str, Any]) -> None:
    assert TypeAdapter(EvaluatorSpec).validate_python(settings).kind == settings["kind"]


@pytest.mark.parametrize("kind", ["linear", "rbf_svm"])
def test_classical_models_are_no_encoders(kind: str) -> None:
    with pytest.raises(ValidationError, match=f"Input tag '{kind}' found using 'kind' does not match"):
        TypeAdapter(EncoderSpec).validate_python({"kind": kind})


def test_image_models_train_at_a_higher_rate_than_text_models() -> None:
    text, image = TextModelSpec.model_validate(TEXT), ImageModelSpec.model_validate(IMAGE)
    assert (text.learning_rate, image.learning_rate) == (2e-5, 1e-3)
    assert (text.epochs, text.batch_size, text.max_length) == (3, 32, 128)


LATER_FIELDS = {
    "label_smoothing": 0.1,
    "interpolation": "bicubic",
    "crop_area": 0.25,
    "centre_share": 0.9,
    "randaugment": {"magnitude": 12},
    "dropout": 0.2,
    "drop_path": 0.2,
}


def test_fields_that_came_later_are_in_a_key_where_they_say_something() -> None:
    """Else results of specs that do not have them would be made anew."""
    plain = ImageModelSpec.model_validate(IMAGE | {"augmentation": "resized_crop"})
    assert not set(LATER_FIELDS) & set(plain.model_dump(mode="json"))
    assert "label_smoothing" not in TextModelSpec.model_validate(TEXT).model_dump(mode="json")
    full = ImageModelSpec.model_validate(IMAGE | {"augmentation": "resized_crop"} | LATER_FIELDS)
    dumped = full.model_dump(mode="json")
    assert dumped["randaugment"] == {"operations": 2, "magnitude": 12}
    assert {name: dumped[name] for name in LATER_FIELDS if name != "randaugment"} == {
        name: value for name, value in LATER_FIELDS.items() if name != "randaugment"
    }
    assert ImageModelSpec.model_validate(plain.model_dump(mode="json")) == plain
    assert ImageModelSpec.model_validate(dumped) == full


@pytest.mark.parametrize("augmentation", ["none", "flip_crop"])
def test_random_operations_without_a_place_are_refused(augmentation: str) -> None:
    with pytest.raises(ValidationError, match=f"randaugment is not used with augmentation {augmentation}; set augment"):
        ImageModelSpec.model_validate(IMAGE | {"augmentation": augmentation, "randaugment": {}})


@pytest.mark.parametrize(
    ("other", "named"),
    [({"augmentation": "randaugment"}, "augmentation randaugment"),
     ({"augmentation": "resized_crop", "randaugment": {}}, "randaugment")],
)  # fmt: skip
def test_policies_stand_for_other_operations(other: dict[str, Any], named: str) -> None:
    with pytest.raises(
        ValidationError, match=f"autoaugment is not used with {named}; set augmentation to resized_crop"
    ):
        ImageModelSpec.model_validate(IMAGE | other | {"autoaugment": True})
    plain = ImageModelSpec.model_validate(IMAGE | {"augmentation": "resized_crop"})
    assert "autoaugment" not in plain.model_dump(mode="json")


@pytest.mark.parametrize(
    "change",
    [
        {"label_smoothing": 1.0},
        {"interpolation": "nearest"},
        {"augmentation": "cutmix"},
        {"crop_area": 0},
        {"centre_share": 1.1},
        {"randaugment": {"magnitude": 31}},
        {"randaugment": {"operations": 0}},
        {"dropout": -0.1},
        {"drop_path": 1},
    ],
)
def test_image_settings_out_of_range_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        ImageModelSpec.model_validate(IMAGE | change)


@pytest.mark.parametrize("rate", ["2e-5", 2e-5])
def test_rate_may_be_written_without_a_point_which_yaml_reads_as_text(rate: float | str) -> None:
    assert TextModelSpec.model_validate(TEXT | {"learning_rate": rate}).learning_rate == 2e-5


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": 0},
        {"epochs": 1.5},
        {"batch_size": 0},
        {"learning_rate": 0},
        {"learning_rate": float("nan")},
        {"weight_decay": 1},
        {"warmup_share": -0.1},
        {"max_length": 3},
        {"checkpoint": ""},
        {"inputs": []},
        {"inputs": ["label"]},
        {"trust_remote_code": True},
    ],
)
def test_settings_out_of_range_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        TextModelSpec.model_validate(TEXT | change)


@pytest.mark.parametrize("gamma", [0, -1.0, "big"])
def test_kernel_width_is_positive_or_scikit_learns_rule(gamma: Any) -> None:
    with pytest.raises(ValidationError, match="gamma"):
        TypeAdapter(EvaluatorSpec).validate_python({"kind": "rbf_svm", "gamma": gamma})
    assert RbfSvmSpec(kind="rbf_svm", gamma="auto").gamma == "auto"
