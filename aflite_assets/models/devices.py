"""The device on which models run, and the precision of their matrix products. Functions import torch only when called,
because Dagster resources import this module.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from aflite_assets.errors import ModelError

if TYPE_CHECKING:
    import torch

DeviceName = Literal["auto", "cpu", "cuda"]
Precision = Literal["float32", "bfloat16"]

SMALL_MODEL = 1_000_000
"""Number of weights below which a model uses only one of torch's threads on the CPU. Operations of small models are so
short that two threads mostly wait for each other. On two idle cores, a network of 0.4 million weights on images of 28
pixels trains in 21 seconds with one thread and in 56 seconds with two threads. On busy cores, two threads are even
slower.
"""


@dataclass(frozen=True)
class DeviceSettings:
    """The name of a device (`auto` selects the GPU if there is one) and the precision of matrix products.

    With `bfloat16`, weights and optimiser state stay float32, and torch's autocast chooses the precision of each
    operation. `leased` only records which GPUs were leased to the process (`device_leases`). Environment variables
    determine which GPUs the process can use.

    Raises:
        ModelError: the name of a device or precision is unknown.
    """

    device: DeviceName = "auto"
    precision: Precision = "float32"
    leased: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field, value, known in (
            ("device", self.device, get_args(DeviceName)),
            ("precision", self.precision, get_args(Precision)),
        ):
            if value not in known:
                raise ModelError(f"`{field}` is {value!r}, which is unknown; use one of {', '.join(known)}")

    def resolve(self) -> "torch.device":
        """Return the device for the models. With several GPUs, the result is torch's current GPU.

        Raises:
            ModelError: the device is `cuda`, but torch finds no GPU.
        """
        import torch

        if self.device == "cuda" and not torch.cuda.is_available():
            raise ModelError(
                f"`device` is 'cuda', but torch {torch.__version__} finds no usable GPU; use 'auto' or 'cpu', or "
                "install a torch build with CUDA and a matching driver"
            )
        return torch.device("cuda" if self.device != "cpu" and torch.cuda.is_available() else "cpu")

    def autocast(self) -> "torch.autocast":
        """Return a context manager for forward passes, which selects their precision."""
        import torch

        return torch.autocast(self.resolve().type, dtype=torch.bfloat16, enabled=self.precision == "bfloat16")


@contextmanager
def torch_threads_for(model: "torch.nn.Module", device: DeviceSettings) -> Iterator[None]:
    """Limit torch to one thread inside the `with` block if the model is small and on the CPU. The model's results are
    then bit-identical on machines with any number of cores.
    """
    from aflite_assets.algorithm.linear.threads import one_torch_thread

    small = device.resolve().type == "cpu" and sum(weights.numel() for weights in model.parameters()) < SMALL_MODEL
    with one_torch_thread() if small else nullcontext():
        yield
