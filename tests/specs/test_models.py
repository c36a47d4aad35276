from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from aflite_assets.specs.models.kinds import EncoderSpec, EvaluatorSpec
from aflite_assets.specs.models.settings import LATER_SETTINGS, ImageModelSpec, RbfSvmSpec, TextModelSpec

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


@pytest.mark.parametrize("augmentation", ["none", "flip_crop"])
def test_random_operations_without_a_place_are_refused(augmentation: str) -> None:
    with pytest.raises(
        ValidationError,
        match=f"`randaugment` has no effect with `augmentation: {augmentation}`; set `augmentation` to "
        f"'resized_crop' or 'randaugment', or remove `randaugment`",
    ):
        ImageModelSpec.model_validate(IMAGE | {"augmentation": augmentation, "randaugment": {}})


@pytest.mark.parametrize(
    ("other", "named"),
    [({"augmentation": "randaugment"}, "augmentation: randaugment"),
     ({"augmentation": "resized_crop", "randaugment": {}}, "randaugment")],
)  # fmt: skip
def test_policies_stand_for_other_operations(other: dict[str, Any], named: str) -> None:
    with pytest.raises(
        ValidationError,
        match=f"`autoaugment` has no effect with `{named}`; set `augmentation: resized_crop` without "
        f"`randaugment`, or remove `autoaugment`",
    ):
        ImageModelSpec.model_validate(IMAGE | other | {"autoaugment": True})


@pytest.mark.parametrize(
    "change",
    [{"label_smoothing": 1.0}, {"interpolation": "nearest"}, {"augmentation": "cutmix"}, {"crop_area": 0},
     {"centre_share": 1.1}, {"randaugment": {"magnitude": 31}}, {"randaugment": {"operations": 0}},
     {"dropout": -0.1}, {"drop_path": 1}],
)  # fmt: skip
def test_image_settings_out_of_range_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        ImageModelSpec.model_validate(IMAGE | change)


@pytest.mark.parametrize("rate", ["2e-5", 2e-5])
def test_rate_may_be_written_without_a_point_which_yaml_reads_as_text(rate: float | str) -> None:
    assert TextModelSpec.model_validate(TEXT | {"learning_rate": rate}).learning_rate == 2e-5


@pytest.mark.parametrize(
    "change",
    [{"epochs": 0}, {"epochs": 1.5}, {"batch_size": 0}, {"learning_rate": 0}, {"learning_rate": float("nan")},
     {"weight_decay": 1}, {"warmup_share": -0.1}, {"max_length": 3}, {"checkpoint": ""}, {"inputs": []},
     {"inputs": ["label"]}, {"trust_remote_code": True}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        TextModelSpec.model_validate(TEXT | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gradient_accumulation": 3},
            r"`batch_size` is 32, which is not a multiple of `gradient_accumulation` \(3\)"),
        ({"gradient_accumulation": 64}, "`batch_size` is 32, which is not a multiple"),
        ({"gradient_accumulation": 32, "loss": "bradley_terry"}, "`batch_size` is 32, but with `loss: bradley_terry`"),
    ],
)  # fmt: skip
def test_parts_must_divide_the_default_batch_too(change: dict[str, Any], message: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(EvaluatorSpec)
    with pytest.raises(ValidationError, match=message):
        adapter.validate_python({"kind": "siamese_bag"} | change)
    fitting = adapter.validate_python({"kind": "siamese_bag", "gradient_accumulation": 32})
    assert [fitting.for_rows(rows).batch_size % 32 for rows in (49_999, 50_000)] == [0, 0]


@pytest.mark.parametrize("gamma", [0, -1.0, "big"])
def test_kernel_width_is_positive_or_scikit_learns_rule(gamma: Any) -> None:
    with pytest.raises(ValidationError, match="gamma"):
        TypeAdapter(EvaluatorSpec).validate_python({"kind": "rbf_svm", "gamma": gamma})
    assert RbfSvmSpec(kind="rbf_svm", gamma="auto").gamma == "auto"


def test_a_later_setting_is_left_out_of_keys_where_it_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(EvaluatorSpec)
    as_before, changed = (adapter.validate_python(TEXT | {"label_smoothing": share}) for share in (0.0, 0.1))
    assert as_before.model_dump()["label_smoothing"] == 0.0
    monkeypatch.setitem(LATER_SETTINGS, ("TrainingSpec", "label_smoothing"), 0.0)
    assert "label_smoothing" not in as_before.model_dump(mode="json")
    assert changed.model_dump(mode="json")["label_smoothing"] == 0.1
    assert adapter.validate_python(as_before.model_dump(mode="json")) == as_before
