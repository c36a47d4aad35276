"""Reading of a checkpoint's `config.json`. If the file refers to code, the code is neither downloaded nor run. This
module loads no weights.
"""

from typing import Any

from transformers import PreTrainedConfig

from aflite_assets.errors import ModelError

ATTENTION = None
"""Attention implementation for every `from_pretrained`: PyTorch's (sdpa) if an architecture has it, otherwise the plain
implementation (eager). transformers chooses the same by default. Without this setting, a `config.json` could name a
repository on the hub, and compiled code from this repository would be downloaded and run.
"""


def read_configuration(auto_class: Any, checkpoint: str, **options: Any) -> Any:
    """Return the checkpoint's configuration without custom attention kernels and expert kernels.

    `options` are passed to `auto_class.from_pretrained`. Code in the checkpoint is never run.

    Raises:
        ModelError: the weights are quantised; quantised weights need special kernels and cannot be trained further.
        Exception: any error that transformers raises for an unreadable file (`weights_files.LOADING_ERRORS`).
    """
    named, _ = PreTrainedConfig.get_config_dict(checkpoint, **options)
    if named.get("backbone"):
        raise ModelError(
            f"the config.json of the checkpoint {checkpoint!r} refers to the backbone "
            f"{str(named['backbone'])[:200]!r}, a second model that would be downloaded; choose a checkpoint that "
            "contains all weights"
        )
    configuration = auto_class.from_pretrained(checkpoint, trust_remote_code=False, **options)
    if getattr(configuration, "quantization_config", None) is not None:
        raise ModelError(
            f"the checkpoint {checkpoint!r} has quantised weights (`quantization_config` in its config.json), which "
            "cannot be trained; choose the original checkpoint"
        )
    _forget_kernels(configuration)
    return configuration


def _forget_kernels(configuration: PreTrainedConfig) -> None:
    configuration._attn_implementation = ATTENTION
    configuration._experts_implementation = None
    for value in list(vars(configuration).values()):
        if isinstance(value, PreTrainedConfig):
            _forget_kernels(value)
