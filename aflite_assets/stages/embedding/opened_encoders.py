"""Encoders that are ready for use: encoders trained earlier, and encoders that return known features of the rows."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.processors import available_cores
from aflite_assets.scan.surface_features import features_of_rows
from aflite_assets.specs.models.kinds import EncoderSpec
from aflite_assets.specs.models.settings import SurfaceEncoderSpec, UntrainedSpec

if TYPE_CHECKING:
    from aflite_assets.models.encoders import EncodedBatch, Encoder


@dataclass(frozen=True, eq=False)
class KnownFeatures:
    """An encoder that returns features that were computed earlier.

    `row_ids`: int64, ascending. `features`: float32 of shape (rows, width).
    """

    row_ids: np.ndarray
    features: np.ndarray

    @property
    def width(self) -> int:
        """Number of features per row."""
        return int(self.features.shape[1])

    def encode(self, examples: Examples) -> "EncodedBatch":
        """Return the features of the given rows, without probabilities, because the encoder has no output layer."""
        from aflite_assets.models.encoders import EncodedBatch  # loads torch

        return EncodedBatch(self.features[np.searchsorted(self.row_ids, examples.row_ids)], None)

    def encode_each(self, batches: Iterable[Examples]) -> "Iterator[EncodedBatch]":
        """Return the features of each batch."""
        return map(self.encode, batches)


def open_encoder(
    settings: EncoderSpec, folder: Path | None, rows: Examples, *, device: DeviceSettings, log: Callable[[str], None]
) -> "Encoder":
    """Return the encoder loaded from `folder`, or an encoder that needs no training if `folder` is None.

    Without a folder, the encoder returns the rows' given features or their surface properties.

    Raises:
        ModelError: the folder holds no encoder for the labels of `rows`.
    """
    if isinstance(settings, UntrainedSpec):
        order = np.argsort(rows.row_ids, kind="stable")
        features = (
            features_of_rows(rows, inputs=settings.inputs, threads=available_cores())
            if isinstance(settings, SurfaceEncoderSpec)
            else rows.features
        )
        return KnownFeatures(rows.row_ids[order], features[order])
    from aflite_assets.models.encoders import load_encoder  # loads torch and transformers

    assert folder is not None
    return load_encoder(settings, folder, rows.label_names, device=device, log=log)
