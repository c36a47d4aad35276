"""The representation of a row, which is the input of a classifier's last linear layer. This module finds the last
linear layer and runs forward passes.
"""

from collections.abc import Mapping
from typing import Any

import torch

from aflite_assets.errors import ModelError

AGREEMENT = 1e-2
"""Absolute and relative tolerance between the last layer's output and the logits, which differ only by bfloat16
casts.
"""


def final_layer_name(model: torch.nn.Module, n_classes: int) -> str:
    """Return the name of the last linear layer with one output per class.

    Raises:
        ModelError: the model has no linear layer with one output per class.
    """
    names = [
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module.out_features == n_classes
    ]
    if not names:
        raise ModelError(
            f"the model {type(model).__name__} has no linear layer with {n_classes} outputs, so there is no "
            "representation to train a linear classifier on; choose an architecture that ends in a linear layer"
        )
    return names[-1]


def final_layer(model: torch.nn.Module, n_classes: int) -> torch.nn.Linear:
    """Return the last linear layer with one output per class."""
    layer = model.get_submodule(final_layer_name(model, n_classes))
    assert isinstance(layer, torch.nn.Linear)
    return layer


def represent(model: Any, batch: Mapping[str, torch.Tensor], *, n_classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Run one forward pass. Return the inputs of the final linear layer (rows x width) and the logits (rows x classes),
    float32.

    Decoders apply the final layer to every token and use only the logits of the last token. For decoders, this function
    therefore returns the final layer's input for the last token.

    Raises:
        ModelError: the logits are not the output of the final linear layer.
    """
    caught: dict[str, torch.Tensor] = {}

    def keep(_: torch.nn.Module, arguments: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        caught.update(features=arguments[0], output=output)

    handle = final_layer(model, n_classes).register_forward_hook(keep)
    try:
        logits = model(**batch).logits
    finally:
        handle.remove()
    features, output = caught["features"], caught["output"]
    if features.ndim == 3:
        rows = torch.arange(len(features), device=features.device)
        last = last_tokens(batch["input_ids"], padding=model.config.get_text_config().pad_token_id)
        features, output = features[rows, last], output[rows, last]
    if not _agree(output, logits):
        raise ModelError(
            f"the logits of {type(model).__name__} (shape {tuple(logits.shape)}) are not the output of its last "
            f"linear layer (shape {tuple(output.shape)}), so the model's representation is not defined; choose "
            "another architecture"
        )
    return features.float(), logits.float()


def _agree(output: torch.Tensor, logits: torch.Tensor) -> bool:
    return output.shape == logits.shape and torch.allclose(
        output.float(), logits.float(), rtol=AGREEMENT, atol=AGREEMENT
    )


def last_tokens(input_ids: torch.Tensor, *, padding: int) -> torch.Tensor:
    """Return the position of the last token in each row, ignoring padding. The decoders of transformers find the last
    token by the same rule.
    """
    numbers = torch.arange(input_ids.shape[1], device=input_ids.device)
    return (numbers * (input_ids != padding)).argmax(dim=1)
