"""One hash for everything that decides a run's outcome, so that a saved state is never continued on other inputs."""

import hashlib
import json

import numpy as np

from aflite_assets.algorithm.blocks import row_blocks
from aflite_assets.algorithm.checks import Inputs
from aflite_assets.algorithm.settings import FilterSettings


def fingerprint(
    inputs: Inputs, settings: FilterSettings, *, seed: int, keep_probabilities: bool, memory_limit: int
) -> str:
    """SHA-256, in hexadecimal, of arrays, settings and seed.

    `memory_limit` only bounds the block read at once: neither it nor the device belongs to the hash, so that a
    run may be continued on another machine.
    """
    header = {
        "settings": settings.as_dict(),
        "seed": int(seed),
        "keep_probabilities": bool(keep_probabilities),
        "shape": inputs.features.shape,
        "dtype": inputs.features.dtype.str,
        "grouped": inputs.groups is not None,
    }
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    row_bytes = inputs.features.shape[1] * inputs.features.itemsize
    for block in row_blocks(len(inputs.features), row_bytes=row_bytes, memory_limit=memory_limit):
        digest.update(np.ascontiguousarray(inputs.features[block]).data)
    for array in (inputs.labels, inputs.score_only, inputs.counted, inputs.groups):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
