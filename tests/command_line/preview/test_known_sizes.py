"""A plan has the filter's own sizes where a run would find its result, and says which of both it has."""

from pathlib import Path
from typing import Any

import pytest

from aflite_assets.command_line.preview.check import estimate_section, plan_section
from aflite_assets.command_line.preview.data_preview import (
    DataPreview,
    preview_challenges,
    preview_data,
    preview_plan,
    reused_results,
)
from aflite_assets.command_line.preview.estimate import CostEstimate, CostLine
from aflite_assets.command_line.preview.run_plan import RunPlan
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_stage
from tests.small_datasets import circles

SMALL = {"target_size": 40, "train_size": 50, "slice_size": 50, "n_partitions": 16}
CIRCLES = circles("small_circles", filter=SMALL, train_sets={"many": 300, "few": 60})


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    store = ResultStore(tmp_path_factory.mktemp("filtered"))
    _run(parse_spec(CIRCLES), store)
    return store


def _run(spec: DatasetSpec, store: ResultStore) -> None:
    for name in ("raw_dataset", "warmup_split", "warmup_models", "embeddings", "filtered_sets", "control_sets"):
        run_stage(name, spec, store=store)


def _planned(store: ResultStore | None, **changes: Any) -> tuple[DatasetSpec, DataPreview, RunPlan]:
    spec = parse_spec({**CIRCLES, **changes})
    data, reused = preview_data(spec), {} if store is None else reused_results(spec, store)
    return spec, data, preview_plan(spec, data, preview_challenges(spec, data), reused=reused)


def _kept(store: ResultStore) -> int:
    kept: int = store.current("filtered_sets", "small_circles").summary["given"]["kept"]["train"]
    return kept


def _rows(plan: RunPlan) -> dict[str, int]:
    return {train_set.name: train_set.rows for train_set in plan.train_sets}


def test_a_plan_has_the_rows_that_the_current_result_kept(filtered: ResultStore) -> None:
    spec, data, plan = _planned(filtered)
    summary = filtered.current("filtered_sets", spec.name).summary["given"]
    assert (summary["stop_reason"], plan.settings.target_size) == ("THRESHOLD", 40)
    kept = _kept(filtered)
    assert 60 < kept < 300
    assert plan.kept == {"given": kept}
    controls = filtered.current("control_sets", spec.name).summary["given"]
    assert controls["earlier_sets"]["few"]["reason"].startswith(f"the filter ended with {kept} train rows")
    assert _rows(plan) == {
        "full": 400, "filtered": kept, "random": kept, "random_matched": kept, "filtered_many": 300,
        "random_many": 300, "single_pass_linear": kept,
    }  # fmt: skip
    text = "\n".join(plan_section(data, plan))
    assert f"single_pass_linear {kept} rows, as many as the filter keeps in the current result\n" in text
    assert "if the filter reaches its target size" not in text


def test_without_a_result_a_plan_says_that_it_takes_the_target(tmp_path: Path) -> None:
    for store in (None, ResultStore(tmp_path)):
        _, data, plan = _planned(store)
        assert plan.kept == {}
        assert (_rows(plan)["filtered"], _rows(plan)["random_few"]) == (40, 60)
        text = "\n".join(plan_section(data, plan))
        assert (
            "single_pass_linear 40 rows, if the filter reaches its target size; if the threshold stops it earlier, "
            "filtered and its controls have more, up to 400\n"
        ) in text


@pytest.mark.parametrize(
    "changes",
    [{"filter": SMALL | {"threshold": 0.8}}, {"source": CIRCLES["source"] | {"biased_share": 0.7}}, {"seed": 1}],
    ids=["other settings", "other data", "other seed"],
)
def test_a_result_that_a_run_would_not_find_says_nothing(changes: dict[str, Any], filtered: ResultStore) -> None:
    _, _, plan = _planned(filtered, **changes)
    assert plan.kept == {}
    assert _rows(plan)["filtered"] == 40


def test_what_is_found_stays_as_it_is(filtered: ResultStore) -> None:
    before = sorted(filtered.root.rglob("*"))
    assert _planned(filtered)[2].kept == {"given": _kept(filtered)}
    assert sorted(filtered.root.rglob("*")) == before


def test_of_several_runs_of_the_filter_the_mean_is_taken(tmp_path: Path) -> None:
    store, content = ResultStore(tmp_path), {**CIRCLES, "filter_seeds": 2, "seeds": [0, 1]}
    _run(parse_spec(content), store)
    runs = store.current("filtered_sets", "small_circles").summary["given"]["kept_train_rows"]
    assert len(runs) == 2
    assert _planned(store, filter_seeds=2, seeds=[0, 1])[2].kept == {"given": round(sum(runs) / 2)}


@pytest.mark.parametrize(
    ("known", "more"), [(False, " and leaves larger train sets, on which models take"), (True, "")]
)
def test_an_estimate_says_what_it_was_counted_with(known: bool, more: str) -> None:
    estimate = CostEstimate((CostLine("each stage", "its process", {}, 1.0),), "cpu", 1.0, sizes_known=known)
    text = " ".join("\n".join(estimate_section(estimate)).split())
    assert ("leaves larger train sets" in text) is bool(more)
    assert f"a filter that the threshold stops has fewer iterations{more}" in text
