"""Which models of a spec are alike: one make, one architecture; and which hold train rows back. No model is built."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from aflite_assets.specs.models import (
    EncoderSpec,
    EvaluatorSpec,
    IdentityEncoderSpec,
    ImageModelSpec,
    OneStageSpec,
    TextModelSpec,
)
from aflite_assets.stages.shared.evaluator_roles import first_stages

_ModelSpec = EncoderSpec | OneStageSpec


def model_families(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, str]:
    """What every model is, by "representations.<name>" and "evaluators.<name>": the same text for one make.

    A fine-tuned evaluator is of the make of the evaluator it starts from.
    A representation of the given features has no model: its adversary is the linear classifier on them, an evaluator
    of kind linear.
    """
    return _of_every_model(_make, representations, evaluators)


def model_architectures(
    representations: Mapping[str, EncoderSpec], evaluators: Mapping[str, EvaluatorSpec]
) -> dict[str, str]:
    """As `model_families`, with the same text for models of one architecture, whatever their size and weights.

    Of image models the module of timm that defines them (efficientnet_b0 and efficientnet_b7 have one), else the name
    up to its first digit or underscore. Of Hugging Face models the `model_type` in the checkpoint's folder, else the
    last part of the hub id, up to the first hyphen (roberta-large and roberta-base are roberta): a name that says
    something else than the architecture is taken as it is.
    """
    return _of_every_model(_architecture, representations, evaluators)


def held_back_shares(evaluators: Mapping[str, EvaluatorSpec]) -> dict[str, float]:
    """The share of the train rows that each evaluator stops by, in (0, 1); those that hold none back are left out."""
    stoppings = {name: getattr(stage, "early_stopping", None) for name, stage in first_stages(evaluators).items()}
    return {
        name: stopping.share for name, stopping in stoppings.items() if stopping is not None and stopping.split is None
    }


def _of_every_model(
    kind: Callable[[_ModelSpec], str],
    representations: Mapping[str, EncoderSpec],
    evaluators: Mapping[str, EvaluatorSpec],
) -> dict[str, str]:
    filters = {f"representations.{name}": kind(settings) for name, settings in representations.items()}
    return filters | {f"evaluators.{name}": kind(settings) for name, settings in first_stages(evaluators).items()}


def _make(settings: _ModelSpec) -> str:
    if isinstance(settings, IdentityEncoderSpec):
        return "linear"
    if isinstance(settings, ImageModelSpec):
        return f"{settings.kind} {settings.architecture}"
    return f"{settings.kind} {settings.checkpoint}" if isinstance(settings, TextModelSpec) else settings.kind


def _architecture(settings: _ModelSpec) -> str:
    if isinstance(settings, ImageModelSpec):
        return f"{settings.kind} {_image_architecture(settings.architecture)}"
    if isinstance(settings, TextModelSpec):
        return f"{settings.kind} {_text_architecture(settings.checkpoint)}"
    return _make(settings)


def _image_architecture(name: str) -> str:
    from timm.models import is_model, model_entrypoint

    if is_model(name):
        module: str = model_entrypoint(name).__module__
        return module.rpartition(".")[2]
    return re.split(r"[\d_]", name.lower())[0]


def _text_architecture(checkpoint: str) -> str:
    config = Path(checkpoint).expanduser() / "config.json"
    said = json.loads(config.read_text(encoding="utf-8")).get("model_type") if config.is_file() else None
    name = said if isinstance(said, str) else re.split(r"[/\\]", checkpoint.rstrip("/\\"))[-1]
    return name.lower().partition("-")[0]
