"""What a stage is: its place in the pipeline and the results that it reads. The stages: `pipeline`."""

from collections.abc import Mapping
from dataclasses import dataclass

from aflite_assets.results import PublishedResult

Inputs = Mapping[str, PublishedResult]


@dataclass(frozen=True)
class Stage:
    """One asset's place in the pipeline.

    `inputs` are the assets whose results it reads, `reads` the only spec fields it may look at, and `code_version`
    changes when the stage's code gives another answer.
    """

    name: str
    group: str
    inputs: tuple[str, ...]
    reads: tuple[str, ...]
    code_version: str = "1"
