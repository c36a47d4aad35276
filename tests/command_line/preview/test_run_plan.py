"""Counts known before a run are those that the run has; the pipeline's own counts are compared in `test_estimate`."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aflite_assets.algorithm import FilterSettings, StopReason, filter_dataset
from aflite_assets.command_line.preview.run_plan import PlannedTrainSet, RunPlan, most_iterations
from aflite_assets.errors import DataError
from aflite_assets.specs.models.settings import LinearModelSpec, TrainingSpec
from aflite_assets.specs.registry import parse_spec


@settings(max_examples=10, deadline=None)
@given(st.integers(20, 36), st.integers(1, 6), st.booleans(), st.integers(0, 2**16))
def test_a_filter_that_reaches_its_target_has_the_most_iterations(
    target: int, slice_size: int, whole_groups: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, 20, 36))
    largest = int(np.bincount(groups).max())
    sizes: dict[str, Any] = {"target_size": target, "train_size": 5, "n_partitions": 8, "threshold": 0.0}
    if whole_groups:
        sizes |= {"remove": "groups", "slice_size": min(max(slice_size, largest), target), "train_size": 5}
        if largest > sizes["slice_size"]:
            return
    else:
        sizes["slice_size"] = slice_size
    filter_settings = FilterSettings(**sizes)
    result = filter_dataset(
        rng.normal(size=(36, 2)),
        np.arange(36) % 2,
        settings=filter_settings,
        seed=seed,
        groups=groups if whole_groups else None,
    )
    most = most_iterations(filter_settings, 36, largest_group=largest)
    if whole_groups:
        assert len(result.iterations) <= most
    elif result.stop_reason is StopReason.TARGET_SIZE:
        assert len(result.iterations) == most


SPEC: dict[str, Any] = {
    "name": "planned",
    "source": {"format": "digits"},
    "representations": {"one": {"kind": "timm_image", "architecture": "a"}, "two": {"kind": "identity"}},
    "evaluators": {"linear": {"kind": "linear"}, "net": {"kind": "timm_image", "architecture": "a"}},
    "seeds": [0, 1, 2],
    "filter": {"target_size": 0.5, "slice_size": 100, "evaluation_rows": "scored"},
}


def test_sizes_and_cells_of_a_plan() -> None:
    plan = RunPlan(parse_spec(SPEC), {"train": 1200, "test": 300}, challenge_rows={"odd": 7}, warmup_rows=200)
    assert (plan.embedded_rows, plan.pool_rows, plan.entering("scored")) == (1300, 1000, 300)
    assert (plan.settings.target_size, plan.settings.train_size) == (500, 200)
    assert plan.most_iterations == 6
    assert plan.pools == [1000, 900, 800, 700, 600, 500]
    assert plan.test_rows == {"test": 300, "odd": 7}
    # full; filtered, random, random_matched, single_pass_linear of both, single_pass_model of the encoder.
    assert plan.cells == 10 * 2 * 3
    weighted = RunPlan(
        parse_spec({**SPEC, "train_weighted": True}), {"train": 1200, "test": 300}, challenge_rows={}, warmup_rows=200
    )
    assert weighted.cells == 12 * 2 * 3
    assert {one.rows for one in weighted.train_sets if one.name == "weighted"} == {1000}


@pytest.mark.parametrize(("policy", "pool", "scored"), [("pooled", 1300, 0), ("kept", 1000, 0), ("scored", 1000, 300)])
def test_rows_of_other_splits_go_where_the_policy_says(policy: str, pool: int, scored: int) -> None:
    spec = parse_spec({**SPEC, "filter": {"evaluation_rows": policy}})
    plan = RunPlan(spec, {"train": 1200, "test": 300}, challenge_rows={}, warmup_rows=200)
    assert (plan.pool_rows, plan.entering("scored")) == (pool, scored)


def test_a_ranking_to_compare_has_train_sets_and_cells_of_its_own() -> None:
    source = {"format": "template_nli", "splits": {"train": 1200, "test": 300}, "planted_share": 0.5}
    ranked = {"target_size": 0.5, "slice_size": 100, "evaluation_rows": "kept", "rank": "vocabulary"}
    content = {
        "name": "planned",
        "source": source,
        "representations": {"one": {"kind": "siamese_bag"}},
        "evaluators": {"linear": {"kind": "linear"}},
    }
    alone, both = (
        RunPlan(
            parse_spec(content | {"filter": ranked | compare}),
            {"train": 1200, "test": 300},
            challenge_rows={},
            warmup_rows=200,
        )
        for compare in ({}, {"compare": ["predictability"]})
    )
    of_one = [train_set for train_set in alone.train_sets if train_set.representation == "one"]
    of_other = [train_set for train_set in both.train_sets if train_set.representation == "one_by_predictability"]
    assert [(one.name, one.rows) for one in of_other] == [(one.name, one.rows) for one in of_one]
    assert both.cells - alone.cells == len(both.spec.seeds) * len(of_one)


def test_full_with_warmup_rows_is_the_whole_train_split() -> None:
    spec = parse_spec({**SPEC, "full_includes_warmup": True})
    plan = RunPlan(spec, {"train": 1200, "test": 300}, challenge_rows={}, warmup_rows=200)
    assert {train_set.name: train_set.rows for train_set in plan.train_sets if train_set.name == "full"} == {
        "full": 1200
    }


def test_models_without_randomness_are_fitted_once_on_the_same_rows() -> None:
    same, drawn = PlannedTrainSet("filtered", "one", 5), PlannedTrainSet("random", "one", 5, drawn_per_seed=True)
    linear = LinearModelSpec(kind="linear")
    assert (same.fits(linear, 3), drawn.fits(linear, 3)) == (1, 3)
    assert (same.fits(TrainingSpec(), 3), drawn.fits(TrainingSpec(), 3)) == (3, 3)


def test_sizes_that_cannot_be_met_are_refused() -> None:
    spec = parse_spec({**SPEC, "filter": {"target_size": 5000}})
    with pytest.raises(DataError, match="target_size` is 5,000, but there are only 1,000 train rows"):
        RunPlan(spec, {"train": 1200, "test": 300}, challenge_rows={}, warmup_rows=200)


FORGETTING: dict[str, Any] = {
    "name": "planned",
    "source": {"format": "template_nli", "splits": {"train": 1200, "test": 300}, "planted_share": 0.6},
    "labels": ["entailment", "neutral", "contradiction"],
    "representations": {"net": {"kind": "small_transformer"}},
    "filter": {"target_size": 0.5},
    "forgettables": {
        "bow": {"model": {"kind": "siamese_bag"}, "seeds": [0, 4], "highest_loss": [0.1], "alone": True},
        "own": {"evaluator": "net"},
    },
    "evaluators": {
        "net": {"kind": "small_transformer"},
        "linear": {"kind": "linear"},
        "net_bow": {"kind": "fine_tuned", "start": "net", "stages": [{"forgettables": "bow"}]},
        "net_own": {"kind": "fine_tuned", "start": "net", "stages": [{"forgettables": "own", "take": "random"}]},
    },
    "seeds": [0, 1, 2],
}


def _published(taken: dict[str, float], folder: Path) -> Any:
    """A result of `forgettable_sets` by the share of 1,000 rows that each model forgot; other sets have 100 rows."""
    sizes = [
        (model, name, rows)
        for model, share in taken.items()
        for name, rows in {**dict.fromkeys(("forgettable", "random"), 1000 * share), "highest_loss_10": 100}.items()
    ]
    columns = ("weak_model", "name", "seed", "row_id")
    rows = [
        dict(zip(columns, (model, name, 0, row), strict=True)) for model, name, n in sizes for row in range(round(n))
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "sets.parquet")
    return SimpleNamespace(summary={"models": {name: {} for name in taken}}, path=folder, file=folder.joinpath)


def _forgetting(shares: dict[str, float] | None = None, folder: Path | None = None, **changes: Any) -> RunPlan:
    return RunPlan(
        parse_spec({**FORGETTING, **changes}),
        {"train": 1200, "test": 300},
        challenge_rows={},
        warmup_rows=200,
        reused={"forgettable_sets": _published(shares, folder)} if shares and folder else {},
    )


def test_weak_models_are_planned_with_a_fifth_of_full_until_a_result_says_more(tmp_path: Path) -> None:
    bow, own = _forgetting().weak_models.values()
    assert (bow.trainings, bow.evaluator, bool(bow.assumption), bow.taken) == (2, None, True, 200)
    assert bow.set_rows == {
        "forgettable": 200, "random": 200, "never_learnt": 200, "highest_loss": 200, "highest_loss_10": 100,
    }  # fmt: skip
    assert (own.trainings, own.evaluator, bool(own.assumption)) == (0, "net", True)
    known, own = _forgetting({"bow": 0.07}, tmp_path).weak_models.values()
    assert (bool(known.assumption), known.taken, known.set_rows["random"], known.set_rows["highest_loss_10"]) == (
        False, 70, 70, 100,
    )  # fmt: skip
    assert own.assumption
    assert _forgetting(full_includes_warmup=True).weak_models["bow"].taken == 240


def test_evaluators_that_go_on_with_forgettable_rows_run_on_full_alone(tmp_path: Path) -> None:
    plan = _forgetting()
    assert plan.full_alone == ("net_bow", "net_own")
    assert [one.name for one in plan.train_sets_of("net_bow")] == ["full"]
    assert plan.train_sets_of("net") == plan.train_sets
    # full; filtered, random, random_matched and both single passes; forgettable_bow and as many random rows.
    assert len(plan.train_sets) == 8
    assert plan.train_sets[-2:] == (
        PlannedTrainSet("forgettable_bow", None, 200),
        PlannedTrainSet("random_forgettable_bow", None, 200, drawn_per_seed=True),
    )
    assert plan.cells == (2 * 8 + 2) * 3
    assert len(_forgetting({"bow": 0.0}, tmp_path).train_sets) == 6


def test_scored_rows_are_those_of_every_iteration() -> None:
    # Pools of 1000, 800, 600, 500 rows, in the end once more to score what is kept.
    content: dict[str, Any] = {
        "name": "planned",
        "source": {"format": "digits"},
        "representations": {"given": {"kind": "identity"}},
        "evaluators": {"linear": {"kind": "linear"}},
        "filter": {"n_partitions": 4, "target_size": 500, "train_size": 100, "slice_size": 200},
    }
    for policy, entering in (("kept", 1000), ("scored", 1200)):
        content["filter"]["evaluation_rows"] = policy
        plan = RunPlan(parse_spec(content), {"train": 1000, "test": 200}, challenge_rows={}, warmup_rows=0)
        assert plan.most_iterations == 4
        assert plan.row_scores == (1000 + 800 + 600 + 500) * entering // 1000
