"""Plan of a run for one dataset, computed from its numbers of rows: iterations, train sets and training runs.

The module `estimate` computes the durations for a plan.
"""

import math
from collections.abc import Mapping

from aflite_assets.algorithm import FilterSettings
from aflite_assets.command_line.preview.planned import PlannedTrainSet, RunPlan
from aflite_assets.command_line.preview.study import StudyPreview
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import ClassicalModelSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.stages.shared.sizes import CurveSizes, filter_settings
from aflite_assets.studies import parts


def plan_run(
    spec: DatasetSpec,
    rows: Mapping[str, int],
    *,
    challenge_rows: Mapping[str, int],
    warmup_rows: int,
    largest_group: int = 1,
    curve: CurveSizes | None = None,
    sample: CurveSizes | None = None,
    fine_tune_rows: Mapping[str, int] | None = None,
    drawn_shares: Mapping[str, Mapping[str, float]] | None = None,
    kept: Mapping[str, int] | None = None,
    sampled_rows: int | None = None,
) -> RunPlan:
    """Return the plan of a run. `rows`: number of rows by split.

    `largest_group`: size of the pool's largest group, if whole groups are removed. `curve`: sample sizes for
    `warmup.size: auto`, with `warmup_rows` as upper limit. `sample`: possible sizes for the setting `sample`. The plan
    assumes `sampled_rows`, or else the largest size. `drawn_shares`: shares of drawn rows in an earlier
    result (see `StudyPreview.known`). `kept`: numbers of kept rows in an earlier result (see
    `known_sizes.known_kept`).

    Raises:
        DataError: the data have too few rows for the filter's sizes.
    """
    outside = {split: count for split, count in rows.items() if split != "train"}
    entering = {policy: _entering(spec, outside, policy) for policy in ("pooled", "scored")}
    spent = 0 if spec.full_includes_warmup else warmup_rows
    held_back, of_train = (
        (0, rows["train"]) if sample is None else (sample.held_back, sampled_rows or sample.samples[-1])
    )
    train = of_train - warmup_rows
    pool = train + entering["pooled"]
    settings = filter_settings(spec.filter, pool, warmup_rows, train_rows=train)
    own = {
        name: filter_settings(spec.filter.of_representation(name), pool, warmup_rows, train_rows=train)
        for name in spec.representations
    }
    full = rows["train"] - held_back - spent
    drawn = [one.draw(spec, full, drawn_shares or {}) for one in parts("command_line.preview", StudyPreview)]
    weak_models = {name: planned for of_study in drawn for name, planned in of_study.items()}
    sampled = None if sample is None else of_train - spent
    return RunPlan(
        rows=rows,
        test_rows={**outside, **challenge_rows},
        warmup_rows=warmup_rows,
        pool_rows=pool,
        train_pool_rows=train,
        scored_rows=entering["scored"],
        settings=settings,
        most_iterations=most_iterations(settings, pool, train_rows=train, largest_group=largest_group),
        train_sets=(
            *_train_sets(spec, full, train, own, kept or {}, sampled=sampled),
            *(train_set for weak in weak_models.values() for train_set in weak.train_sets),
        ),
        evaluators=len(spec.evaluators),
        seeds=len(spec.seeds),
        curve=curve,
        fine_tune_rows=fine_tune_rows or {},
        filter_runs=spec.filter_seeds,
        weak_models=weak_models,
        sample=sample,
        sampled_rows=sampled_rows,
        kept=kept or {},
        full_alone=tuple(name for name, recipe in recipes_of(spec.evaluators).items() if recipe.drawn),
    )


def _entering(spec: DatasetSpec, outside: Mapping[str, int], policy: str) -> int:
    """Return the number of validation and test rows in splits whose `evaluation_rows` is `policy`."""
    return sum(count for split, count in outside.items() if spec.filter.evaluation_rows_of(split) == policy)


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


def pool_in_iteration(plan: RunPlan, iteration: int) -> int:
    """Return the number of pool rows at the start of an iteration, if each earlier iteration removed a full slice."""
    left = round(plan.settings.target_size * plan.pool_rows / plan.train_pool_rows)
    return max(plan.pool_rows - iteration * plan.settings.slice_size, left)


def scored_rows(plan: RunPlan) -> int:
    """Return the total number of rows that the filter scores, summed over all iterations.

    Rows that the filter scores but does not train on are assumed to be removed at the same rate as pool rows.
    """
    pools = [pool_in_iteration(plan, iteration) for iteration in range(plan.most_iterations)]
    return round(sum(pool + plan.scored_rows * pool / plan.pool_rows for pool in pools))


def fits(settings: object, train_set: PlannedTrainSet, seeds: int) -> int:
    """Return the number of models that one evaluator fits on one train set.

    A deterministic model is fitted once for all seeds with the same rows.
    """
    if train_set.trained_before:
        return 0
    same = isinstance(settings, ClassicalModelSpec) and not train_set.drawn_per_seed
    return 1 if same else seeds


def _train_sets(
    spec: DatasetSpec,
    full: int,
    unspent: int,
    settings: Mapping[str, FilterSettings],
    kept: Mapping[str, int],
    *,
    sampled: int | None,
) -> list[PlannedTrainSet]:
    """Return the train sets of the evaluators.

    A set of the setting `train_sets` is left out if the filter is known to keep more rows than the set has.
    """
    sets = [PlannedTrainSet("full", None, full)]
    for number, (name, representation) in enumerate(spec.filterings.items()):
        encoder, filtered = spec.representations[representation], kept.get(name, settings[representation].target_size)
        if sampled is not None:
            sets.append(PlannedTrainSet("sampled", name, sampled, trained_before=number > 0))
        sets += [
            PlannedTrainSet("filtered", name, filtered, drawn_per_seed=spec.filter_seeds > 1),
            PlannedTrainSet("random", name, filtered, drawn_per_seed=True),
            PlannedTrainSet("random_matched", name, filtered, drawn_per_seed=True),
        ]
        for earlier, most in spec.train_sets.items():
            if most < kept.get(name, 0):
                continue
            sets += [
                PlannedTrainSet(f"filtered_{earlier}", name, min(most, unspent)),
                PlannedTrainSet(f"random_{earlier}", name, min(most, unspent), drawn_per_seed=True),
            ]
        if not isinstance(encoder, UntrainedSpec):
            sets.append(PlannedTrainSet("single_pass_model", name, filtered))
        sets.append(PlannedTrainSet("single_pass_linear", name, filtered))
        if spec.train_weighted:
            sets.append(PlannedTrainSet("weighted", name, full if sampled is None else sampled))
    return sets
