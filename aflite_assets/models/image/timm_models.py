"""Checking, building and loading of timm's image classifiers, in the wrapper of transformers. This module trains
nothing.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from transformers import TimmWrapperConfig, TimmWrapperForImageClassification

from aflite_assets.errors import ModelError
from aflite_assets.models.checkpoint_configuration import ATTENTION, read_configuration
from aflite_assets.models.global_state import quiet_libraries
from aflite_assets.models.representations import final_layer_name
from aflite_assets.models.weights_files import LOADING_ERRORS, cause_of, reading_problem
from aflite_assets.specs.models.settings import ImageModelSpec

BUILDING_ERRORS = (AssertionError, RuntimeError, TypeError, ValueError, ImportError)
"""Errors that timm raises if an architecture does not support an image size."""

SETTINGS = {"drop_rate": "dropout", "drop_path_rate": "drop_path"}
"""Names of timm's arguments in a dataset's YAML file."""

WRAPPER_PREFIX = "timm_model."


class TimmClassifier(TimmWrapperForImageClassification):
    """The wrapper of transformers for timm models, but with timm's own initial weights for each architecture.

    The original wrapper would initialise every convolution again with standard deviation 0.02. The standard deviation
    0.02 is meant for a new output layer on pretrained weights.
    """

    def init_weights(self) -> None:
        """Do nothing, because timm has already initialised the model."""


def check_image_model(architecture: str, *, checkpoint: str | None) -> None:
    """Check the architecture's name and the checkpoint's header.

    Raises:
        ModelError: timm does not have the architecture, or the checkpoint is not a safetensors file.
    """
    if not timm.is_model(architecture):
        near = difflib.get_close_matches(architecture, timm.list_models(), n=3)
        hint = (
            f"did you mean {', '.join(near)}?" if near else "choose one of the names that `timm.list_models()` returns"
        )
        raise ModelError(f"`architecture` is {architecture!r}, which timm {timm.__version__} does not have; {hint}")
    if checkpoint is not None:
        _check_weights_file(checkpoint)


def new_image_model(settings: ImageModelSpec, label_names: Sequence[str]) -> Any:
    """Return a model of the architecture for square RGB images. New weights are drawn from torch's global random
    generator.

    `dropout` (before the last layer) is timm's `drop_rate`, and `drop_path` (stochastic depth) is timm's
    `drop_path_rate`.

    Raises:
        ModelError: the architecture does not accept the image size or dropout, or the checkpoint does not fit the
            architecture.
    """
    architecture, image_size = settings.architecture, settings.image_size
    check_image_model(architecture, checkpoint=settings.checkpoint)
    # Only architectures built for one size have the argument (position embeddings, windows).
    fixed_size = getattr(timm.get_pretrained_cfg(architecture), "fixed_input_size", False)
    rates = {name: rate for name, ours in SETTINGS.items() if (rate := getattr(settings, ours))}
    arguments = ({"img_size": image_size} if fixed_size else {}) | rates
    configuration = TimmWrapperConfig(
        architecture=architecture,
        num_labels=len(label_names),
        id2label=dict(enumerate(label_names)),
        label2id={name: number for number, name in enumerate(label_names)},
        model_args=arguments or None,
    )
    with quiet_libraries():
        try:
            model = TimmClassifier(configuration)
            _try_one_image(model, image_size)
        except BUILDING_ERRORS as error:
            problem = _building_problem(error, image_size)
            raise ModelError(
                f"`architecture` is {architecture!r}, which {problem}, or choose another architecture"
            ) from error
    if settings.checkpoint is not None:
        _load_weights(model, settings.checkpoint)
    return model


def saved_image_model(folder: Path) -> Any:
    """Return a model that `save_pretrained` wrote.

    Raises:
        ModelError: the folder does not contain a saved image classifier.
    """
    with quiet_libraries():
        try:
            config = read_configuration(TimmWrapperConfig, str(folder), local_files_only=True)
            return TimmWrapperForImageClassification.from_pretrained(
                folder,
                config=config,
                attn_implementation=ATTENTION,
                local_files_only=True,
                use_safetensors=True,
                dtype=torch.float32,
            )
        except LOADING_ERRORS as error:
            raise ModelError(
                f"the folder {folder} holds no readable image encoder ({reading_problem(folder, error)}); "
                "materialise the asset `warmup_models` again"
            ) from cause_of(error)


def _building_problem(error: Exception, image_size: int) -> str:
    refused = [name for name in SETTINGS if isinstance(error, TypeError) and f"'{name}'" in str(error)]
    if refused:
        return f"has no `{refused[0]}`; leave `{SETTINGS[refused[0]]}` out"
    return (
        f"cannot process images of {image_size} x {image_size} pixels ({error}); set `image_size` to a supported size"
    )


def _try_one_image(model: Any, image_size: int) -> None:
    model.eval()
    with torch.inference_mode():
        model(torch.zeros(1, 3, image_size, image_size))


def _check_weights_file(checkpoint: str) -> None:
    try:
        with safe_open(checkpoint, framework="pt"):
            pass
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"`checkpoint` is {checkpoint!r}, which cannot be read as a safetensors file ({error}); give the path of "
            "a file with a timm model's weights, or leave `checkpoint` out to train from scratch"
        ) from error


def _load_weights(model: Any, checkpoint: str) -> None:
    stored = {key.removeprefix(WRAPPER_PREFIX): value for key, value in load_file(checkpoint).items()}
    expected = model.timm_model.state_dict()
    head = final_layer_name(model.timm_model, model.num_labels)
    fitting = {key: value for key, value in stored.items() if key in expected and value.shape == expected[key].shape}
    unfit = [key for key in sorted(expected) if key not in fitting and not key.startswith(f"{head}.")]
    if unfit:
        raise ModelError(
            f"`checkpoint` is {checkpoint!r}, in which {len(unfit)} of {len(expected)} weights of "
            f"{model.config.architecture} are missing or have another shape (first: {unfit[0]}); give weights of the "
            "same architecture and image size"
        )
    model.timm_model.load_state_dict(fitting, strict=False)
