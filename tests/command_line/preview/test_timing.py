"""What is measured once and how, what a fit of another size costs, and which models are here."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, score_rows
from aflite_assets.command_line.preview import timing
from aflite_assets.command_line.preview.run_plan import RunPlan
from aflite_assets.command_line.preview.timing import (
    ClassicalSpeed,
    Speeds,
    encoder_like_features,
    sample,
    start_seconds,
    timing_key,
    weights_are_here,
)
from aflite_assets.data.examples import Examples
from aflite_assets.data.loading import load_source
from aflite_assets.data.raw_table.table import build_raw_table, implied_columns
from aflite_assets.models import evaluators
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.encoders import load_encoder, train_encoder
from aflite_assets.models.training.predictions import no_log
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.models.settings import ImageModelSpec, LinearModelSpec, RbfSvmSpec, TextModelSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.specs.sources import DigitsSource

NETWORK = ImageModelSpec(kind="timm_image", architecture="test_resnet", image_size=16, batch_size=16)
CPU = DeviceSettings("cpu")


@pytest.fixture(scope="module")
def digits() -> Examples:
    source = DigitsSource(format="digits")
    raw = build_raw_table(
        load_source(source),
        columns=implied_columns(source, ColumnsSpec()),
        label_names=None,
        unlabelled=(),
        limit={"train": 200, "test": 60},
        seed=0,
    )
    return raw.examples


def _plan(rows: int = 200, policy: str = "kept", **sizes: float) -> RunPlan:
    spec = parse_spec(
        {
            "name": "planned",
            "source": {"format": "digits"},
            "representations": {"given": {"kind": "identity"}},
            "evaluators": {"linear": {"kind": "linear"}},
            "filter": {"n_partitions": 4, "evaluation_rows": policy, **sizes},
        }
    )
    return RunPlan(spec, {"train": rows, "test": 60}, warmup_rows=0)


@pytest.fixture
def speeds(digits: Examples) -> Speeds:
    return Speeds(digits, _plan(), CPU, no_log)


def test_models_that_differ_in_length_and_rate_alone_are_one() -> None:
    longer = NETWORK.model_copy(update={"epochs": 50, "learning_rate": 0.1, "weight_decay": 0.5, "warmup_share": 0.2})
    assert timing_key(longer) == timing_key(NETWORK)
    for changes in ({"batch_size": 8}, {"image_size": 32}, {"augmentation": "flip_crop"}):
        assert timing_key(NETWORK.model_copy(update=changes)) != timing_key(NETWORK)


@pytest.mark.parametrize(("grows", "seconds"), [(False, 3.0 * 4 + 100 * 0.01), (True, 3.0 * 4 + 100 * 0.01 * 4)])
def test_a_fit_of_another_size_grows_by_its_power(grows: bool, seconds: float) -> None:
    speed = ClassicalSpeed(rows=50, fit=3.0, growth=1.0, row=0.01, row_grows=grows)
    assert speed.seconds(200, 100) == pytest.approx(seconds)
    assert ClassicalSpeed(50, 3.0, 2.0, 0.0, grows).seconds(100, 0) == pytest.approx(12.0)


@pytest.mark.parametrize("settings", [LinearModelSpec(kind="linear"), RbfSvmSpec(kind="rbf_svm")])
def test_classical_models_are_fitted_on_all_rows_where_that_is_quick(
    settings: LinearModelSpec | RbfSvmSpec, speeds: Speeds
) -> None:
    speed = speeds.classical(settings)
    assert speed.rows == 200
    least = 1.5 if settings.kind == "rbf_svm" else 1.0
    assert least <= speed.growth <= 2 * least
    assert speed.seconds(200, 60) >= speed.fit > 0
    assert speed.row_grows == (settings.kind == "rbf_svm")
    assert speeds.classical(settings) is speed


def test_a_slow_fit_is_measured_on_few_rows(speeds: Speeds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "ENOUGH_SECONDS", 0.0)
    speed = speeds.classical(LinearModelSpec(kind="linear"))
    assert (speed.rows, speed.growth) == (timing.SMALLEST_FIT, 1.0)


def test_a_network_is_timed_with_as_many_steps_as_take_long_enough(
    speeds: Speeds, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[float] = []
    evaluate = evaluators.evaluate

    def spied(*arguments: Any, **options: Any) -> Any:
        evaluation = evaluate(*arguments, **options)
        steps.append(evaluation.metrics["steps"])
        return evaluation

    monkeypatch.setattr(evaluators, "evaluate", spied)
    monkeypatch.setattr(timing, "ENOUGH_SECONDS", 1000.0)
    monkeypatch.setattr(timing, "MOST_STEPS", 5)
    speed = speeds.neural(NETWORK)
    assert speed is not None
    assert steps == [1, 1, 5]
    assert min(speed.step, speed.row) > 0
    assert speed.model >= 0
    monkeypatch.setattr(timing, "ENOUGH_SECONDS", 1e-9)
    speeds.neural(NETWORK.model_copy(update={"batch_size": 8}))
    assert steps[3:] == [1, 1]


def test_the_width_is_that_of_the_trained_encoder(digits: Examples, speeds: Speeds, tmp_path: Path) -> None:
    train_encoder(NETWORK, sample(digits.in_split("train"), 10), tmp_path, seed=0, device=CPU, log=no_log)
    trained = load_encoder(NETWORK, tmp_path, digits.label_names, device=CPU)
    assert speeds._width(NETWORK) == trained.width > 10


def test_a_sample_has_every_class_and_no_more_rows_than_there_are(digits: Examples) -> None:
    drawn = sample(digits, 20)
    assert set(drawn.labels.tolist()) == set(range(10))
    assert sample(digits, 20).row_ids.tolist() == drawn.row_ids.tolist()
    assert sample(digits, 10_000) is digits


def _text_model(checkpoint: Any, **fields: Any) -> TextModelSpec:
    return TextModelSpec(kind="huggingface_text", checkpoint=str(checkpoint), **fields)


def test_weights_are_here_in_folders_and_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    assert weights_are_here(NETWORK)
    assert weights_are_here(_text_model(tmp_path))
    far = _text_model("some/model", revision="b" * 40)
    assert not weights_are_here(far)
    snapshot = tmp_path / "models--some--model" / "snapshots" / ("b" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    assert not weights_are_here(far)
    (snapshot / "model.safetensors").write_bytes(b"")
    assert weights_are_here(far)
    assert not weights_are_here(_text_model("some/model"))


def test_features_can_be_predicted_as_those_of_a_trained_encoder() -> None:
    features, labels = encoder_like_features(600, 32, 3, seed=0)
    assert (features.shape, features.dtype) == ((600, 32), np.float32)
    assert np.bincount(labels).tolist() == [200, 200, 200]
    settings = FilterSettings(target_size=500, train_size=200, slice_size=10, n_partitions=4)
    assert 0.6 < score_rows(features, labels, settings=settings, seed=0).representation_bias < 0.95


def test_more_classes_than_dimensions_and_one_dimension_are_no_problem() -> None:
    for width, classes in ((2, 5), (1, 2)):
        features, labels = encoder_like_features(60, width, classes, seed=0)
        assert np.isfinite(features).all()
        assert set(labels.tolist()) == set(range(classes))


def _timed(digits: Examples, plan: RunPlan, monkeypatch: pytest.MonkeyPatch) -> tuple[str, set[tuple[int, int]]]:
    """The note on the filter's timing, and the rows and the train size of every pass."""
    passes: set[tuple[int, int]] = set()

    def spied(features: np.ndarray, labels: np.ndarray, *, settings: FilterSettings, **options: Any) -> Any:
        passes.add((len(features), settings.train_size))
        return score_rows(features, labels, settings=settings, **options)

    monkeypatch.setattr(timing, "score_rows", spied)
    row, note = Speeds(digits, plan, CPU, no_log).filter(NETWORK)
    assert 0 < row * max(rows for rows, _ in passes) < 60
    return note, passes


def test_the_filter_is_timed_with_the_plan_s_rows_within_bounds(
    digits: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan(1000, "scored", target_size=500, train_size=100, slice_size=200)
    assert _timed(digits, plan, monkeypatch) == ("", {(1060, 100)})
    monkeypatch.setattr(timing, "MOST_ROWS", 300)
    assert _timed(digits, plan, monkeypatch) == ("measured on 300 rows", {(300, 30)})  # the planned share


def test_what_a_stage_loads_is_there() -> None:
    loaded: dict[str, Any] = {}
    exec(timing.LIBRARIES, loaded)
    assert {"mlflow", "torch", "aflite_assets"} <= set(loaded)


def test_a_process_is_really_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "LIBRARIES", "import time; time.sleep(0.2)")
    assert 0.2 < start_seconds() < 60
    monkeypatch.setattr(timing, "LIBRARIES", "import a_module_that_is_not_there")
    with pytest.raises(subprocess.CalledProcessError):
        start_seconds()
