"""A checkpoint's config.json, read in a way that never downloads and runs code that it names. No weights are loaded
here.
"""

from typing import Any

from transformers import PreTrainedConfig

from aflite_assets.errors import ModelError

ATTENTION = None
"""The attention for every `from_pretrained`: PyTorch's (sdpa) if an architecture has it, else the plain one (eager).

transformers chooses the same if none is named. A config.json could instead name a repository of the hub, whose compiled
code would be downloaded and run.
"""


def read_configuration(auto_class: Any, checkpoint: str, **options: Any) -> Any:
    """Return the configuration without the kernels that it names for attention and experts.

    `auto_class` has `from_pretrained`, which gets the `options`; code in the checkpoint itself is never run.

    Raises:
        ModelError: the weights are quantised, which needs kernels and cannot be trained further.
        Exception: any error that transformers raises on a file it does not understand (`weights_files.LOADING_ERRORS`).
    """
    named, _ = PreTrainedConfig.get_config_dict(checkpoint, **options)
    if named.get("backbone"):
        raise ModelError(
            f"checkpoint {checkpoint!r} names {str(named['backbone'])[:200]!r} as its backbone (config.json), which "
            "would be downloaded; choose a checkpoint that holds all its weights"
        )
    configuration = auto_class.from_pretrained(checkpoint, trust_remote_code=False, **options)
    if getattr(configuration, "quantization_config", None) is not None:
        raise ModelError(
            f"checkpoint {checkpoint!r} has quantised weights (quantization_config in its config.json), which cannot "
            "be trained; choose the original checkpoint"
        )
    _forget_kernels(configuration)
    return configuration


def _forget_kernels(configuration: PreTrainedConfig) -> None:
    configuration._attn_implementation = ATTENTION
    configuration._experts_implementation = None
    for value in list(vars(configuration).values()):
        if isinstance(value, PreTrainedConfig):
            _forget_kernels(value)
