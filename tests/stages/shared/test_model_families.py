"""Models of one make, models of one architecture, and the train rows that evaluators stop by."""

import json
from pathlib import Path

import pytest

from aflite_assets.specs.models.fine_tuning import FineTunedSpec, FineTuneStage
from aflite_assets.specs.models.kinds import EncoderSpec, EvaluatorSpec
from aflite_assets.specs.models.settings import (
    EarlyStoppingSpec,
    IdentityEncoderSpec,
    ImageModelSpec,
    LinearModelSpec,
    SmallTransformerSpec,
    TextModelSpec,
)
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages.shared.model_families import (
    held_back_shares,
    model_architectures,
    model_families,
)


def text(checkpoint: str) -> TextModelSpec:
    return TextModelSpec(kind="huggingface_text", checkpoint=checkpoint)


def test_families_are_kinds_with_checkpoint_or_architecture() -> None:
    one = text("some/roberta-large")
    representations: dict[str, EncoderSpec] = {
        "one": one,
        "two": ImageModelSpec(kind="timm_image", architecture="resnet50"),
        "three": IdentityEncoderSpec(kind="identity"),
        "four": SmallTransformerSpec(kind="small_transformer"),
    }
    evaluators: dict[str, EvaluatorSpec] = {
        "one": one.model_copy(update={"epochs": 9}),
        "linear": LinearModelSpec(kind="linear"),
    }
    assert model_families(representations, evaluators) == {
        "representations.one": "huggingface_text some/roberta-large",
        "representations.two": "timm_image resnet50",
        "representations.three": "linear",
        "representations.four": "small_transformer",
        "evaluators.one": "huggingface_text some/roberta-large",
        "evaluators.linear": "linear",
    }


@pytest.mark.parametrize(
    ("checkpoint", "architecture"),
    [
        ("FacebookAI/roberta-large", "roberta"),
        ("roberta-base", "roberta"),
        ("google-bert/bert-base-uncased", "bert"),
        ("microsoft/deberta-v3-base", "deberta"),
        ("ALBERT", "albert"),
        ("/no/such/folder/roberta-large/", "roberta"),
    ],
)
def test_text_models_are_named_by_the_hub(checkpoint: str, architecture: str) -> None:
    found = model_architectures({"x": text(checkpoint)}, {})
    assert found == {"representations.x": f"huggingface_text {architecture}"}


@pytest.mark.parametrize(
    ("config", "architecture"),
    [({"model_type": "deberta-v2"}, "deberta"), ({"model_type": "RoBERTa"}, "roberta"), ({}, "mine")],
)
def test_a_checkpoint_folder_says_what_it_is(tmp_path: Path, config: dict[str, str], architecture: str) -> None:
    folder = tmp_path / "mine-1"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    found = model_architectures({}, {"x": text(str(folder))})
    assert found == {"evaluators.x": f"huggingface_text {architecture}"}


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("efficientnet_b7", "efficientnet"),
        ("tf_efficientnet_b0.ns_jft_in1k", "efficientnet"),
        ("resnet50", "resnet"),
        ("vit_base_patch16_224", "vision_transformer"),
        ("ownnet99_small", "ownnet"),
    ],
)
def test_image_models_are_named_by_the_module_that_defines_them(name: str, architecture: str) -> None:
    image = ImageModelSpec(kind="timm_image", architecture=name)
    assert model_architectures({"x": image}, {}) == {"representations.x": f"timm_image {architecture}"}


def test_the_bundled_efficientnets_are_one_family() -> None:
    spec = load_registry()["imagenet_1k"]
    makes = model_families(spec.representations, spec.evaluators)
    kinds = model_architectures(spec.representations, spec.evaluators)
    adversary, of_iclr = "representations.efficientnet_b7", "representations.efficientnet_b7_autoaugment"
    same = [adversary, of_iclr, "evaluators.efficientnet_b7"]
    assert [name for name in makes if makes[name] == makes[adversary]] == same
    assert [name for name in kinds if kinds[name] == kinds[adversary]] == [
        adversary,
        of_iclr,
        *(f"evaluators.efficientnet_b{number}" for number in (0, 2, 3, 4, 5, 7)),
    ]


def test_fine_tuned_evaluators_are_what_they_start_from() -> None:
    start = text("roberta-base").model_copy(update={"early_stopping": EarlyStoppingSpec(share=0.1)})
    evaluators: dict[str, EvaluatorSpec] = {
        "start": start,
        "tuned": FineTunedSpec(kind="fine_tuned", start="start", stages=(FineTuneStage(rows="odd"),)),
        "split": text("bert-base").model_copy(update={"early_stopping": EarlyStoppingSpec(split="validation")}),
        "default": text("bert-base").model_copy(update={"early_stopping": EarlyStoppingSpec()}),
        "whole": text("bert-base"),
        "linear": LinearModelSpec(kind="linear"),
    }
    assert model_families({}, evaluators)["evaluators.tuned"] == "huggingface_text roberta-base"
    assert model_architectures({}, evaluators)["evaluators.tuned"] == "huggingface_text roberta"
    assert held_back_shares(evaluators) == {"start": 0.1, "tuned": 0.1, "default": 0.05}
