"""Parts of the preview of a run that studies add."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from aflite_assets.command_line.preview.planned import PlannedWeakModel, RunPlan, Trainings
from aflite_assets.data.examples import Examples
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.shared.sizes import CurveSizes


class SelectedRows(NamedTuple):
    """Possible numbers of train rows that a study selects, the number that the plan assumes, and its examples.

    If the source was read only in part, `examples` are all examples that were read.
    """

    sizes: CurveSizes
    planned: int
    examples: Examples


class StudyPreview:
    """A study's part of the preview, the `PART` of its module `command_line.preview`; by default, it adds nothing."""

    def check(self, spec: DatasetSpec, raw: Examples) -> None:
        """Refuse models that cannot read the data. Raises ModelError."""

    def select(
        self, spec: DatasetSpec, raw: Examples, rows: Mapping[str, int], *, complete: bool
    ) -> SelectedRows | None:
        """Return the train rows that a run would select; `complete`: whether the whole source was read."""
        return None

    def draw(
        self, spec: DatasetSpec, full_rows: int, known: Mapping[str, Mapping[str, float]]
    ) -> Mapping[str, PlannedWeakModel]:
        """Return the models from whose training rows are drawn, by name; `known`: the value of `known`, if known."""
        return {}

    def known(self, spec: DatasetSpec, store: ResultStore) -> Mapping[str, Mapping[str, float]]:
        """Return the sizes of each model's sets in the current result, as shares of `full`."""
        return {}

    def trainings(self, spec: DatasetSpec, plan: RunPlan) -> Iterator[Trainings]:
        """Yield the training runs of the study's own stage."""
        yield from ()

    def lines(self, plan: RunPlan) -> Iterator[tuple[str, str]]:
        """Yield lines about the selection of train rows, as pairs of a name and a text."""
        yield from ()

    def warnings(self, spec: DatasetSpec, plan: RunPlan, *, classes: int) -> Iterator[str]:
        """Yield warnings about settings that would make a run fail."""
        yield from ()
