"""Records of a planned run: its sizes, its train sets and its training runs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aflite_assets.algorithm import FilterSettings
from aflite_assets.specs.models.kinds import NeuralModelSpec, OneStageSpec
from aflite_assets.stages.shared.sizes import CurveSizes


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


@dataclass(frozen=True)
class PlannedWeakModel:
    """A model that a run would train so that a study can draw train rows from its training.

    `evaluator`: the evaluator whose training runs are used, or None if the model is trained separately. `seeds`: number
    of seeds with which the model is trained. `set_rows`: maximum number of rows of each set. `taken`: number of rows of
    the main set. `assumption`: a sentence about the assumption behind the numbers, or "" if an earlier result gave
    them. `train_sets`: sets on which every evaluator is trained.
    """

    name: str
    evaluator: str | None
    settings: NeuralModelSpec
    seeds: int
    set_rows: Mapping[str, int]
    taken: int
    assumption: str = ""
    train_sets: tuple[PlannedTrainSet, ...] = ()

    @property
    def trainings(self) -> int:
        """Number of training runs of the model that are not training runs of an evaluator."""
        return 0 if self.evaluator is not None else self.seeds


@dataclass(frozen=True)
class RunPlan:
    """Counts for one planned run.

    `rows`: number of rows by split. `test_rows`: number of rows by test set (splits other than `train`, then challenge
    sets). `fine_tune_rows`: maximum number of rows for fine-tuning, by challenge set. `pool_rows`: number of rows that
    are filtered, including `train_pool_rows` train rows. `scored_rows`: number of rows that the filter scores and may
    remove, but does not train on.
    `most_iterations`: maximum number of iterations, including a last iteration that removes nothing. `curve`: sample
    sizes for `warmup.size: auto`. With `curve`, `warmup_rows` is an upper limit. `filter_runs`: number of filter runs
    per representation. `weak_models`: models from whose training studies draw rows, by name. `full_alone`: names of the
    evaluators with a second phase on drawn rows, which have no train set other than `full`. `sample`: possible numbers
    of train rows that a study selects.
    `sampled_rows`: the size that the plan assumes, or None for the largest size. `kept`: number of kept train rows in
    the current results, by filtered set; empty if there are no results.
    """

    rows: Mapping[str, int]
    test_rows: Mapping[str, int]
    warmup_rows: int
    pool_rows: int
    train_pool_rows: int
    scored_rows: int
    settings: FilterSettings
    most_iterations: int
    train_sets: tuple[PlannedTrainSet, ...]
    evaluators: int
    seeds: int
    curve: CurveSizes | None = None
    fine_tune_rows: Mapping[str, int] = field(default_factory=dict)
    filter_runs: int = 1
    weak_models: Mapping[str, PlannedWeakModel] = field(default_factory=dict)
    full_alone: tuple[str, ...] = ()
    sample: CurveSizes | None = None
    kept: Mapping[str, int] = field(default_factory=dict)
    sampled_rows: int | None = None

    @property
    def full(self) -> int:
        """Number of rows of the train set `full`."""
        return next(train_set.rows for train_set in self.train_sets if train_set.name == "full")

    @property
    def embedded_rows(self) -> int:
        """Number of rows for which each encoder computes embeddings."""
        return self.filtered_from - self.warmup_rows + sum(self.rows.values()) - self.rows["train"]

    @property
    def filtered_from(self) -> int:
        """Number of train rows for warm-up and filter together: all train rows, or the size of the planned sample."""
        return self.rows["train"] if self.sample is None else self.sampled_rows or self.sample.samples[-1]

    @property
    def cells(self) -> int:
        """Number of cells: evaluators x train sets x seeds. Evaluators that are trained only on `full` have one cell
        per seed.
        """
        others = self.evaluators - len(self.full_alone)
        return self.seeds * (others * len(self.train_sets) + len(self.full_alone))

    def train_sets_of(self, evaluator: str) -> tuple[PlannedTrainSet, ...]:
        """Return the train sets on which an evaluator is trained."""
        if evaluator not in self.full_alone:
            return self.train_sets
        return tuple(train_set for train_set in self.train_sets if train_set.name == "full")


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
