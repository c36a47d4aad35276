"""The device and precision that models run with; torch is imported on use, because Dagster resources import this
file.
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
"""Number of weights below which a model uses only one of torch's threads on the CPU.

Operations of such a model are so short that two threads mostly wait for each other. On two quiet cores, a network of
0.4 million weights on images of 28 pixels trains in 21 seconds with one thread and in 56 with two; beside other work,
two threads are even slower.
"""


@dataclass(frozen=True)
class DeviceSettings:
    """A device by name (`auto`: the GPU if there is one) and the precision of matrix products.

    With `bfloat16`, weights and optimiser stay float32, and torch's autocast chooses the precision per operation.
    `leased` records the GPUs that the process was given (`device_leases`); the environment decides which ones it sees.

    Raises:
        ModelError: a name is not one of those listed.
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
                raise ModelError(f"{field} {value!r} is unknown; use one of {', '.join(known)}")

    def resolve(self) -> "torch.device":
        """Return the device that models are put on; with several GPUs, the current one.

        Raises:
            ModelError: `cuda` is set and torch finds no GPU.
        """
        import torch

        if self.device == "cuda" and not torch.cuda.is_available():
            raise ModelError(
                f"device is 'cuda', but torch {torch.__version__} finds no usable GPU; "
                "use 'auto' or 'cpu', or install a torch build with CUDA and a matching driver"
            )
        return torch.device("cuda" if self.device != "cpu" and torch.cuda.is_available() else "cpu")

    def autocast(self) -> "torch.autocast":
        """Return the context in which forward passes run."""
        import torch

        return torch.autocast(self.resolve().type, dtype=torch.bfloat16, enabled=self.precision == "bfloat16")


@contextmanager
def torch_threads_for(model: "torch.nn.Module", device: DeviceSettings) -> Iterator[None]:
    """Limit torch to one thread while the block runs if the model is small and on the CPU, so that its bits do not
    depend on the number of threads.
    """
    from aflite_assets.algorithm.linear.threads import one_torch_thread

    small = device.resolve().type == "cpu" and sum(weights.numel() for weights in model.parameters()) < SMALL_MODEL
    with one_torch_thread() if small else nullcontext():
        yield
