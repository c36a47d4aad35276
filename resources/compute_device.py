"""What models are trained and run on."""

from typing import Literal

import dagster as dg

from aflite_assets.models.devices import DeviceSettings


class ComputeDevice(dg.ConfigurableResource):
    """The processor and precision of training, embedding and filtering.

    `auto` is the GPU where there is one. At most as many steps use it at once as the pool `gpu` has slots; which
    GPU a process sees is `CUDA_VISIBLE_DEVICES`' to say.
    """

    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"

    def settings(self) -> DeviceSettings:
        """The same as a plain record."""
        return DeviceSettings(device=self.device, precision=self.precision)
