"""Dagster resource for the devices that train and run models."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import dagster as dg

from aflite_assets.models.device_leases import (
    DeviceLease,
    lease_devices,
    listed_devices,
    locks_folder,
    visible_devices,
)
from aflite_assets.models.devices import DeviceSettings


class ComputeDevice(dg.ConfigurableResource):
    """The processor and floating-point precision for training, embedding and filtering.

    With the device `auto`, a GPU is used if the machine has one. The slots of the Dagster pool `gpu` limit how many
    steps use GPUs at once; each step leases a GPU.
    """

    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"

    def settings(self, lease: DeviceLease = DeviceLease()) -> DeviceSettings:  # noqa: B008 - frozen
        """Return the settings as a `DeviceSettings`, with the names of the leased devices."""
        return DeviceSettings(device=self.device, precision=self.precision, leased=lease.devices)

    def cards(self) -> tuple[str, ...]:
        """Return the names of the GPUs that steps may use, as in `CUDA_VISIBLE_DEVICES`.

        The result is empty if the device is `cpu` or the machine has no GPU.
        """
        return () if self.device == "cpu" else tuple(visible_devices())

    @contextmanager
    def lease(
        self, purpose: str, *, all_free: bool = False, log: Callable[[str], None] = lambda line: None
    ) -> Iterator[DeviceLease]:
        """Lease a GPU of this machine for a `with` block.

        The lease is empty if the device is the CPU or the machine has no GPU.
        """
        devices = self.cards()
        listed = listed_devices() if any(name.isdigit() for name in devices) else ()
        with lease_devices(
            devices, locks_folder(), purpose=purpose, all_free=all_free, listed=listed, log=log
        ) as lease:
            yield lease
