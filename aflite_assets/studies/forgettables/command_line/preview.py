"""Weak models in the plan of a run: the number of training runs, and the expected sizes of forgettable sets.

The actual sizes of forgettable sets are known only after training.
"""

from collections.abc import Iterator, Mapping

from aflite_assets.command_line.preview.run_plan import (
    PlannedTrainSet,
    PlannedWeakModel,
    RunPlan,
    StudyPreview,
    Trainings,
)
from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.preflight import check_model
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.stages.shared.published import read_row_sets
from aflite_assets.studies.forgettables.specs.fine_tuning import set_name
from aflite_assets.studies.forgettables.specs.settings import ForgettablesSettings

ASSUMED_SHARE = 0.2
"""Assumed share of `full` in a forgettable set. In the paper, the share is 12 to 31 % (Yaghoobzadeh et al. 2021, Table
1).
"""

_OWN_TRAINING = "the first training of {}, which is counted with evaluator_models"
_ASSUMED = (
    f"assuming that {100 * ASSUMED_SHARE:g} % of `full` are forgettable; after a run, a check uses the real number"
)


def _alone(name: str, rows: int) -> tuple[PlannedTrainSet, ...]:
    """Return the train sets of forgettable rows alone and of random rows, unless they are known to be empty."""
    names = (("forgettable", False), ("random_forgettable", True)) if rows else ()
    return tuple(PlannedTrainSet(f"{each}_{name}", None, rows, drawn_per_seed=drawn) for each, drawn in names)


def _known_sizes(reused: Mapping[str, PublishedResult]) -> dict[str, dict[str, int]]:
    """Return the numbers of rows of each weak model's sets, by set; empty sets are left out.

    If a run would not reuse a result of `forgettable_sets`, the mapping is empty.
    """
    if (result := reused.get("forgettable_sets")) is None:
        return {}
    known: dict[str, dict[str, int]] = {name: {} for name in result.summary.get("models", {})}
    for one in read_row_sets(result):
        known[one.weak_model][one.name] = len(one.row_ids)
    return known


class ForgettablesPreview(StudyPreview):
    """The part of the preview about weak models."""

    def check(self, spec: DatasetSpec, raw: Examples) -> None:
        """Refuse weak models that cannot read the data. Raises ModelError."""
        for name, entry in ForgettablesSettings.of(spec).forgettables.items():
            if entry.model is not None:
                try:
                    check_model(entry.model, raw)
                except ModelError as error:
                    raise ModelError(f"`forgettables.{name}.model`: {error}") from error

    def draw(
        self, spec: DatasetSpec, full_rows: int, reused: Mapping[str, PublishedResult]
    ) -> Mapping[str, PlannedWeakModel]:
        """Return the planned weak models by name; the sizes of their sets are known from a result of the stage."""
        planned, recipes, known = {}, recipes_of(spec.evaluators).values(), _known_sizes(reused)
        for name, entry in ForgettablesSettings.of(spec).forgettables.items():
            shares = dict.fromkeys(("forgettable", "random", "never_learnt", "highest_loss"), ASSUMED_SHARE)
            shares |= {set_name("highest_loss", share): share for share in entry.highest_loss}
            drawn = (rows for recipe in recipes for rows in recipe.drawn if rows.weak_model == name)
            shares |= {rows.set_name: ASSUMED_SHARE for rows in drawn if rows.as_many_as is not None}
            set_rows = {each: round(share * full_rows) for each, share in shares.items()}
            if name in known:
                set_rows = {each: known[name].get(each, 0) for each in shares}
            seeds = entry.training_seeds(seed=spec.seed, seeds=spec.seeds)
            planned[name] = PlannedWeakModel(
                entry.evaluator,
                entry.settings(spec.evaluators),
                0 if entry.evaluator is not None else len(seeds),
                set_rows,
                set_rows["forgettable"],
                assumption="" if name in known else _ASSUMED,
                train_sets=_alone(name, set_rows["forgettable"]) if entry.alone else (),
            )
        return planned

    def trainings(self, plan: RunPlan) -> Iterator[Trainings]:
        """Yield the trainings of the weak models."""
        natural = sum(plan.rows.values()) - plan.rows["train"]
        for name in ForgettablesSettings.of(plan.spec).forgettables:
            weak = plan.weak_models[name]
            note = "" if weak.evaluator is None else _OWN_TRAINING.format(weak.evaluator)
            yield Trainings("forgettable_sets", name, weak.settings, [plan.full] * weak.trainings, natural, note)


PART = ForgettablesPreview()
