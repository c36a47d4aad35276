"""Which models of a spec are alike: one make, one architecture; and which hold train rows back. No model is built."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from aflite_assets.specs.models import (
    EncoderSpec,
    EvaluatorSpec,
    FineTunedSpec,
    IdentityEncoderSpec,
    ImageModelSpec,
    OneStageSpec,
    TextModelSpec,
)
from aflite_assets.stages.shared.evaluator_roles import first_stages, partial_inputs


def model_families(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, str]:
    """Return what every model is, by "representations.<name>" and "evaluators.<name>": the same text for one make.

    A fine-tuned evaluator is of the make of the evaluator it starts from. The adversary on a representation of the
    given features, which has no model, is the linear classifier on them, as is an evaluator of kind linear.
    """
    return {name: _make(settings) for name, settings in _models(representations, evaluators).items()}


def model_architectures(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, str]:
    """Return the same text for models of one architecture, whatever their size and weights; else as `model_families`.

    Of image models it is the module of timm that defines them (efficientnet_b0 and efficientnet_b7 have one), else the
    name up to its first digit or underscore. Of Hugging Face models it is the `model_type` in the checkpoint's folder,
    else the last part of the hub id up to the first hyphen (roberta-large and roberta-base are roberta); a misleading
    name is taken as it is.
    """
    models = _models(representations, evaluators)
    return {name: _make(one, _image_architecture, _text_architecture) for name, one in models.items()}


def held_back_shares(evaluators: Mapping[str, EvaluatorSpec]) -> dict[str, float]:
    """Return the share of the train rows that each evaluator stops by, in (0, 1), without those that hold none back."""
    stoppings = {name: getattr(stage, "early_stopping", None) for name, stage in first_stages(evaluators).items()}
    return {name: one.share for name, one in stoppings.items() if one is not None and one.split is None}


def leaning_evaluator(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> str | None:
    """Return the evaluator that is asked whether it leans on properties: the first of another make than any filter's.

    It sees whole inputs and trains once. If all such evaluators are of the filters' makes it is the first of them;
    None without any.
    """
    families, partial = model_families(representations, evaluators), partial_inputs(evaluators)
    filters = {make for name, make in families.items() if name.startswith("representations.")}
    able = [name for name, one in evaluators.items() if name not in partial and not isinstance(one, FineTunedSpec)]
    others = [name for name in able if families[f"evaluators.{name}"] not in filters]
    return next(iter(others or able), None)


def _models(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, EncoderSpec | OneStageSpec]:
    filters = {f"representations.{name}": settings for name, settings in representations.items()}
    return filters | {f"evaluators.{name}": settings for name, settings in first_stages(evaluators).items()}


def _make(
    settings: EncoderSpec | OneStageSpec, image: Callable[[str], str] = str, text: Callable[[str], str] = str
) -> str:
    """Return the kind, of image models with `image` of their architecture, of text models with `text` of their
    checkpoint.
    """
    if isinstance(settings, IdentityEncoderSpec):
        return "linear"
    if isinstance(settings, ImageModelSpec):
        return f"{settings.kind} {image(settings.architecture)}"
    return f"{settings.kind} {text(settings.checkpoint)}" if isinstance(settings, TextModelSpec) else settings.kind


def _image_architecture(name: str) -> str:
    from timm.models import is_model, model_entrypoint

    if is_model(name):
        module: str = model_entrypoint(name).__module__
        return module.rpartition(".")[2]
    return re.split(r"[\d_]", name.lower())[0]


def _text_architecture(checkpoint: str) -> str:
    config = Path(checkpoint).expanduser() / "config.json"
    known = json.loads(config.read_text(encoding="utf-8")).get("model_type") if config.is_file() else None
    name = known if isinstance(known, str) else re.split(r"[/\\]", checkpoint.rstrip("/\\"))[-1]
    return name.lower().partition("-")[0]
