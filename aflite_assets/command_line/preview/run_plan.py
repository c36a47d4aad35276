"""The plan of a run: its sizes, iterations, train sets and training runs, computed from the dataset's numbers of rows.

Studies add their parts of the plan by a `StudyPreview`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

from aflite_assets.algorithm import FilterSettings
from aflite_assets.data.examples import Examples
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import ClassicalModelSpec, NeuralModelSpec, OneStageSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.stages.shared.sizes import CurveSizes, filter_settings
from aflite_assets.studies import parts


@dataclass(frozen=True)
class PlannedTrainSet:
    """One planned train set for the evaluators.

    `rows`: number of rows of the train set. For the filtered set and its controls, `rows` is the number in
    `RunPlan.kept` if known, or else the filter's target size. `drawn_per_seed`: whether a different set is drawn for
    each seed. `trained_before`: whether an earlier representation has the same train set, so that its training runs are
    reused.
    """

    name: str
    representation: str | None
    rows: int
    drawn_per_seed: bool = False
    trained_before: bool = False

    def fits(self, settings: object, seeds: int) -> int:
        """Return the number of models that one evaluator fits on the train set.

        A deterministic model is fitted once for all seeds with the same rows.
        """
        if self.trained_before:
            return 0
        return 1 if isinstance(settings, ClassicalModelSpec) and not self.drawn_per_seed else seeds


@dataclass(frozen=True)
class PlannedWeakModel:
    """A model that a run would train so that a study can draw train rows from its training.

    `evaluator`: the evaluator whose training runs are used, or None if the model is trained separately, `trainings`
    times. `set_rows`: maximum number of rows of each set. `taken`: number of rows of the main set. `assumption`: a
    sentence about the assumption behind the numbers, or "" if an earlier result gave them. `train_sets`: sets on which
    every evaluator is trained.
    """

    evaluator: str | None
    settings: NeuralModelSpec
    trainings: int
    set_rows: Mapping[str, int]
    taken: int
    assumption: str = ""
    train_sets: tuple[PlannedTrainSet, ...] = ()


@dataclass(frozen=True)
class RunPlan:
    """Numbers of one planned run, computed from the dataset's file and its numbers of rows.

    `rows`: number of rows by split. `warmup_rows`: number of warm-up rows, with `curve` an upper limit.
    `challenge_rows`, `fine_tune_rows`: number of test rows, and maximum number of rows for fine-tuning, by challenge
    set. `largest_group`: size of the pool's largest group, if whole groups are removed. `curve`: sample sizes for
    `warmup.size: auto`. `sample`: possible numbers of train rows that a study selects; the plan assumes `sampled_rows`.
    `reused`: the current results that the run would reuse, by stage.

    Raises:
        DataError: the data have too few rows for the filter's sizes.
    """

    spec: DatasetSpec
    rows: Mapping[str, int]
    warmup_rows: int
    challenge_rows: Mapping[str, int] = field(default_factory=dict)
    fine_tune_rows: Mapping[str, int] = field(default_factory=dict)
    largest_group: int = 1
    curve: CurveSizes | None = None
    sample: CurveSizes | None = None
    sampled_rows: int | None = None
    reused: Mapping[str, PublishedResult] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _ = self.settings, self.train_sets

    @property
    def test_rows(self) -> dict[str, int]:
        """Number of rows by test set: splits other than `train`, then challenge sets."""
        return {split: count for split, count in self.rows.items() if split != "train"} | dict(self.challenge_rows)

    @property
    def filtered_from(self) -> int:
        """Number of train rows for warm-up and filter together: all train rows, or the planned sample."""
        return self.rows["train"] if self.sampled_rows is None else self.sampled_rows

    @property
    def embedded_rows(self) -> int:
        """Number of rows for which each encoder computes embeddings."""
        return self.train_pool_rows + sum(self.rows.values()) - self.rows["train"]

    def entering(self, policy: str) -> int:
        """Return the number of validation and test rows in splits whose `evaluation_rows` is `policy`."""
        evaluated = self.spec.filter.evaluation_rows_of
        return sum(rows for split, rows in self.rows.items() if split != "train" and evaluated(split) == policy)

    @property
    def train_pool_rows(self) -> int:
        """Number of train rows that are filtered."""
        return self.filtered_from - self.warmup_rows

    @property
    def pool_rows(self) -> int:
        """Number of rows that are filtered, including rows of other splits."""
        return self.train_pool_rows + self.entering("pooled")

    @cached_property
    def kept(self) -> dict[str, int]:
        """Number of train rows of each filtered set, by name; empty if the run would filter again.

        If the filter ran several times, the number is the mean over its runs.
        """
        summary = self.reused["filtered_sets"].summary if "filtered_sets" in self.reused else {}
        runs = {name: facts.get("kept_train_rows") or [facts["kept"]["train"]] for name, facts in summary.items()}
        return {name: round(fmean(rows)) for name, rows in runs.items()}

    @cached_property
    def settings(self) -> FilterSettings:
        """The filter's settings in numbers of rows."""
        return filter_settings(self.spec.filter, self.pool_rows, self.warmup_rows, train_rows=self.train_pool_rows)

    @property
    def most_iterations(self) -> int:
        """Maximum number of iterations, including a last iteration that removes nothing."""
        return most_iterations(
            self.settings, self.pool_rows, train_rows=self.train_pool_rows, largest_group=self.largest_group
        )

    @property
    def pools(self) -> list[int]:
        """Number of pool rows at the start of each iteration, if each iteration removes a full slice."""
        left = round(self.settings.target_size * self.pool_rows / self.train_pool_rows)
        return [max(self.pool_rows - n * self.settings.slice_size, left) for n in range(self.most_iterations)]

    @property
    def row_scores(self) -> int:
        """Total number of rows that the filter scores, summed over all iterations.

        Rows that are only scored are assumed to be removed at the same rate as pool rows.
        """
        return round(sum(self.pools) * (1 + self.entering("scored") / self.pool_rows))

    @property
    def full(self) -> int:
        """Number of rows of the train set `full`."""
        held_back = 0 if self.sample is None else self.sample.held_back
        return self.rows["train"] - held_back - self._spent

    @property
    def _spent(self) -> int:
        return 0 if self.spec.full_includes_warmup else self.warmup_rows

    @cached_property
    def weak_models(self) -> Mapping[str, PlannedWeakModel]:
        """Models from whose training studies draw rows, by name."""
        previews = parts("command_line.preview", StudyPreview)
        drawn = [one.draw(self.spec, self.full, self.reused) for one in previews]
        return {name: planned for of_study in drawn for name, planned in of_study.items()}

    @cached_property
    def train_sets(self) -> tuple[PlannedTrainSet, ...]:
        """Train sets of the evaluators.

        A set of the setting `train_sets` is left out if the filter is known to keep more rows than the set has.
        """
        sets = [PlannedTrainSet("full", None, self.full)]
        for name in self.spec.filterings:
            sets += self._train_sets_of(name)
        return (*sets, *(one for weak in self.weak_models.values() for one in weak.train_sets))

    def _train_sets_of(self, filtering: str) -> Iterator[PlannedTrainSet]:
        spec, representation = self.spec, self.spec.filterings[filtering]
        of_one = spec.filter.of_representation(representation)
        sizes = filter_settings(of_one, self.pool_rows, self.warmup_rows, train_rows=self.train_pool_rows)
        kept = self.kept.get(filtering, sizes.target_size)
        weighted = self.full
        if self.sample is not None:
            weighted, is_later = self.filtered_from - self._spent, filtering != next(iter(spec.filterings))
            yield PlannedTrainSet("sampled", filtering, weighted, trained_before=is_later)
        yield PlannedTrainSet("filtered", filtering, kept, drawn_per_seed=spec.filter_seeds > 1)
        yield PlannedTrainSet("random", filtering, kept, drawn_per_seed=True)
        yield PlannedTrainSet("random_matched", filtering, kept, drawn_per_seed=True)
        for earlier, most in spec.train_sets.items():
            if most >= self.kept.get(filtering, 0):
                rows = min(most, self.train_pool_rows)
                yield PlannedTrainSet(f"filtered_{earlier}", filtering, rows)
                yield PlannedTrainSet(f"random_{earlier}", filtering, rows, drawn_per_seed=True)
        if not isinstance(spec.representations[representation], UntrainedSpec):
            yield PlannedTrainSet("single_pass_model", filtering, kept)
        yield PlannedTrainSet("single_pass_linear", filtering, kept)
        if spec.train_weighted:
            yield PlannedTrainSet("weighted", filtering, weighted)

    @property
    def full_alone(self) -> tuple[str, ...]:
        """Names of the evaluators with a second phase on drawn rows, which have no train set other than `full`."""
        return tuple(name for name, recipe in recipes_of(self.spec.evaluators).items() if recipe.drawn)

    def train_sets_of(self, evaluator: str) -> tuple[PlannedTrainSet, ...]:
        """Return the train sets on which an evaluator is trained."""
        return self.train_sets[:1] if evaluator in self.full_alone else self.train_sets

    @property
    def cells(self) -> int:
        """Number of cells: for each evaluator, its train sets x seeds."""
        return len(self.spec.seeds) * sum(len(self.train_sets_of(evaluator)) for evaluator in self.spec.evaluators)


def most_iterations(
    settings: FilterSettings, pool_rows: int, *, train_rows: int | None = None, largest_group: int = 1
) -> int:
    """Return the number of iterations until the target size is reached, including a last pass that removes nothing.

    `train_rows`: number of train rows in the pool (by default, all pool rows). Only train rows count towards the target
    size. Other pool rows are assumed to be removed at the same rate. If whole groups are removed, an iteration may
    remove up to `largest_group` - 1 rows less than `slice_size`.
    """
    counted = pool_rows if train_rows is None else train_rows
    room = (counted - settings.target_size) * pool_rows / counted
    least = settings.slice_size - (largest_group - 1 if settings.remove == "groups" else 0)
    return math.ceil(room / max(least, 1)) + 1


@dataclass(frozen=True)
class Trainings:
    """Training runs of one model in a stage.

    `sizes`: number of train rows of each training run. `asked`: number of rows that each trained model predicts.

    `steps`: total number of optimiser steps, or None to compute the number from `sizes` and the model's epochs. `note`:
    a sentence about the assumptions behind the numbers.
    """

    stage: str
    what: str
    settings: OneStageSpec
    sizes: Sequence[int]
    asked: int = 0
    note: str = ""
    steps: int | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of models, optimiser steps and predicted rows of a neural model."""
        assert isinstance(self.settings, NeuralModelSpec)
        own = sum(steps_of(self.settings, rows) for rows in self.sizes)
        models, steps = len(self.sizes), own if self.steps is None else self.steps
        counts = {"model": models, "step": steps, "row": models * self.asked}
        return {unit: count for unit, count in counts.items() if count}


def steps_of(settings: NeuralModelSpec, rows: int) -> int:
    """Return the number of optimiser steps of one training run on `rows` rows."""
    return settings.epochs * math.ceil(rows / settings.for_rows(rows).batch_size)


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
        self, spec: DatasetSpec, full_rows: int, reused: Mapping[str, PublishedResult]
    ) -> Mapping[str, PlannedWeakModel]:
        """Return the models from whose training rows are drawn, by name; `reused`: results that the run would reuse."""
        return {}

    def trainings(self, plan: RunPlan) -> Iterator[Trainings]:
        """Yield the training runs of the study's own stage."""
        yield from ()

    def lines(self, plan: RunPlan) -> Iterator[tuple[str, str]]:
        """Yield lines about the selection of train rows, as pairs of a name and a text."""
        yield from ()

    def warnings(self, plan: RunPlan, *, classes: int) -> Iterator[str]:
        """Yield warnings about settings that would make a run fail."""
        yield from ()
