"""Every kind of training has its loss and accuracy by epoch in MLflow."""

from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run

from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.tracking import MlflowTracker

NET: dict[str, Any] = {
    "kind": "small_transformer", "vocabulary": 200, "width": 16, "layers": 1, "heads": 2, "epochs": 3,
}  # fmt: skip
STOPS = {**NET, "early_stopping": {"patience": 3, "share": 0.2}}
PAIRS: dict[str, Any] = {
    "name": "pairs",
    "source": {"format": "template_nli", "splits": {"train": 2000, "test": 60}, "planted_share": 0.6, "seed": 0},
    "labels": ["entailment", "neutral", "contradiction"],
    "sample": {"start": 150, "step": 150, "most": 300, "model": NET},
    "warmup": {"size": 60},
    "representations": {"net": NET},
    "distance_encoder": NET,
    "filter": {"target_size": 0.5, "slice_size": 0.2, "n_partitions": 8},
    "evaluators": {
        "net": NET,
        "stops": STOPS,
        "tuned": {"kind": "fine_tuned", "start": "net", "stages": [{"forgettables": "weak", "epochs": 2}]},
        "linear": {"kind": "linear"},
    },
    "forgettables": {"weak": {"model": NET, "balance": False}},
    "seeds": [0],
}


@pytest.mark.usefixtures("undrawn")
def test_every_training_is_logged_epoch_by_epoch(store: ResultStore, tracking_home: Path) -> None:
    spec, tracker = parse_spec(PAIRS), MlflowTracker(None, tracking_home)
    for name in STAGES:
        if name not in ("published_dataset", "analysis", "benchmark_report"):
            run_stage(name, spec, store=store, tracker=tracker)
    client = tracker.session.client
    experiment = client.get_experiment_by_name("aflite/pairs")
    assert experiment is not None
    runs: dict[str, Run] = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}

    def history(name: str, metric: str) -> dict[int, float]:
        points = client.get_metric_history(runs[name].info.run_id, f"epoch/{metric}")
        return {point.step: point.value for point in points}

    curve = [name for name in runs if name.startswith("sample")]
    alone = ["net", "weights:net.0.full", "weak.0", "distance_encoder", *curve]
    assert len(curve) == 2
    for name in alone:
        totals = runs[name].data.metrics
        for metric in ("train_loss", "train_accuracy"):
            found = history(name, metric)
            assert list(found) == [1, 2, 3], (name, metric)
            assert found[3] == totals[metric], (name, metric)  # the last epoch's weights stay
    tuned = history("tuned.0.full", "stage_1.train_loss")
    assert list(tuned) == [1, 2]
    assert tuned[2] == runs["tuned.0.full"].data.metrics["stage_1.train_loss"]
    stopped = runs["stops.0.full"].data.metrics
    best = int(stopped["best_epoch"])
    assert history("stops.0.full", "held_back_accuracy")[best] == stopped["held_back_accuracy"]
    assert history("stops.0.full", "train_loss")[best] == stopped["train_loss"]
    assert not [name for name in runs["linear.0.full"].data.metrics if name.startswith("epoch/")]
