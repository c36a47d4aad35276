"""Refreshes of a small dataset: what runs, where it stops, tries, mended data, files that are being written."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.errors import ModelError
from aflite_assets.models import evaluators
from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.refresh.run import RefreshContext, Refreshed, refresh_dataset
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import ResultStore
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages import pipeline
from aflite_assets.stages.evaluation.bias_evidence import BIAS_EVIDENCE
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.content_hashes import FieldContents

pytestmark = pytest.mark.usefixtures("undrawn")

Refresh = Callable[..., Refreshed]


@pytest.fixture
def refresh(store: ResultStore) -> Refresh:
    """Refreshes one dataset an hour after the last time; files stand still."""
    now = [datetime(2026, 11, 22, tzinfo=UTC)]

    def do(content: dict[str, Any], **options: Any) -> Refreshed:
        now[0] += timedelta(hours=1)
        spec, watch = parse_spec(content), Watch(apart=0.0)
        # As the command does: what has changed is looked at twice.
        plan_dataset(spec, store, contents=FieldContents(spec, hashes=FileHashes(watch=watch)))
        return refresh_dataset(
            spec,
            RefreshContext(store, run=now[0].isoformat()),
            state=RefreshState.beside(store),
            clock=lambda: now[0],
            watch=watch,
            **options,
        )

    return do


def _made(done: Refreshed) -> list[str]:
    return [stage.stage for stage, obtained in done.made if not obtained.cached]


def _file(content: dict[str, Any], kind: str) -> Path:
    return Path(content["source"]["splits"]["train"][kind])


def test_nothing_changed(made_vectors: dict[str, Any], refresh: Refresh) -> None:
    done = refresh(made_vectors)
    assert (done.made, done.failed, done.due.why_not) == ((), {}, ())


def test_it_stops_where_a_data_version_came_out_equal(made_vectors: dict[str, Any], refresh: Refresh) -> None:
    done = refresh({**made_vectors, "unlabelled": ["-"]})
    assert _made(done) == ["raw_dataset"]
    assert done.plan.up_to_date
    assert refresh({**made_vectors, "unlabelled": ["-"]}).made == ()


def test_a_changed_file_runs_what_depends_on_it(made_vectors: dict[str, Any], refresh: Refresh) -> None:
    np.save(_file(made_vectors, "labels"), 1 - np.load(_file(made_vectors, "labels")))
    done = refresh(made_vectors)
    assert _made(done) == list(STAGES)
    assert done.plan.up_to_date


def test_a_setting_taken_back_is_made_current_and_nothing_is_made(
    made_vectors: dict[str, Any], refresh: Refresh
) -> None:
    other = {**made_vectors, "title": "Other"}
    assert _made(refresh(other)) == ["published_dataset", "analysis", "benchmark_report"]
    done = refresh(made_vectors)
    assert [(stage.stage, obtained.cached) for stage, obtained in done.made] == [
        ("published_dataset", True), ("analysis", True), ("benchmark_report", True),
    ]  # fmt: skip
    assert done.plan.up_to_date


def test_a_refused_dataset_is_tried_once_and_mended(made_vectors: dict[str, Any], refresh: Refresh) -> None:
    path = _file(made_vectors, "features")
    features = np.load(path)
    np.save(path, np.where(np.arange(len(features))[:, None] == 7, np.nan, features))
    done = refresh(made_vectors)
    assert list(done.failed) == ["raw_dataset"]
    assert "NaN or infinite" in done.failed["raw_dataset"]
    done = refresh(made_vectors)
    assert (done.made, done.failed) == ((), {})
    assert done.due.why_not[0].startswith("raw_dataset refused its inputs, and is not retried until they change: ")
    np.save(path, features + 1)
    done = refresh(made_vectors)
    assert _made(done)[0] == "raw_dataset"
    assert done.plan.up_to_date


def test_a_result_that_lacks_parts_counts_as_a_try(
    made_vectors: dict[str, Any], refresh: Refresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise ModelError("out of luck")

    content = {**made_vectors, "seeds": [0, 1]}
    with monkeypatch.context() as patched:
        patched.setattr(evaluators, "evaluate", fail)
        for _ in range(3):
            done = refresh(content)
            assert done.failed == {"evaluator_models": "its result lacks parts that failed"}
            assert "control_sets" not in done.failed
        assert refresh(content).failed == {}
    # Left alone although it would succeed now: nothing that it reads has changed.
    assert refresh(content).made == ()


def test_a_stage_that_crashes_is_its_own_failure(
    made_vectors: dict[str, Any], refresh: Refresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(pipeline, "STAGES", {**STAGES, "bias_evidence": replace(BIAS_EVIDENCE, run=crash)})
    done = refresh({**made_vectors, "planted": {}, "title": "Other", "seed": 1})
    assert done.failed == {"bias_evidence": "RuntimeError: a mistake of ours"}
    assert "evaluator_models" in _made(done)
    assert [done.plan[name].state for name in ("analysis", "benchmark_report")] == ["after", "after"]


def test_a_refresh_that_is_stopped_is_no_try(
    made_vectors: dict[str, Any], refresh: Refresh, store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    content = {**made_vectors, "planted": {}, "distance_encoder": {"kind": "identity"}}
    monkeypatch.setattr(pipeline, "STAGES", {**STAGES, "bias_evidence": replace(BIAS_EVIDENCE, run=stop)})
    with pytest.raises(KeyboardInterrupt):
        refresh(content)
    plan = plan_dataset(parse_spec(content), store)["bias_evidence"]
    assert plan.state == "made"
    assert RefreshState.beside(store).left("vectors", "bias_evidence", plan.key or "") is None


def test_never_and_cron_leave_it_alone(made_vectors: dict[str, Any], refresh: Refresh) -> None:
    changed = {**made_vectors, "unlabelled": ["-"]}
    assert refresh({**changed, "refresh": "never"}, at_once=True).made == ()
    later = {**changed, "refresh": {"cron": "0 3 * * *"}}
    (why,) = refresh(later).due.why_not
    assert why.startswith("changes wait for 2026-11-22 03:00 UTC (cron '0 3 * * *'); `aflite refresh --now vectors` ")
    assert _made(refresh(later)) == ["raw_dataset"]
