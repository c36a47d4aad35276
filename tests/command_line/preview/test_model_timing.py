"""What is measured once, what a fit of another size costs, and which models are here."""

from pathlib import Path
from typing import Any

import pytest

from aflite_assets.command_line.preview import model_timing
from aflite_assets.command_line.preview.model_timing import (
    ClassicalTiming,
    encoder_width,
    measure_classical,
    measure_neural,
    sample,
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


def test_models_that_differ_in_length_and_rate_alone_are_one() -> None:
    longer = NETWORK.model_copy(update={"epochs": 50, "learning_rate": 0.1, "weight_decay": 0.5, "warmup_share": 0.2})
    assert timing_key(longer) == timing_key(NETWORK)
    for changes in ({"batch_size": 8}, {"image_size": 32}, {"augmentation": "flip_crop"}):
        assert timing_key(NETWORK.model_copy(update=changes)) != timing_key(NETWORK)


@pytest.mark.parametrize(("grows", "seconds"), [(False, 3.0 * 4 + 100 * 0.01), (True, 3.0 * 4 + 100 * 0.01 * 4)])
def test_a_fit_of_another_size_grows_by_its_power(grows: bool, seconds: float) -> None:
    speed = ClassicalTiming(rows=50, fit=3.0, growth=1.0, row=0.01, row_grows=grows)
    assert speed.seconds(200, 100) == pytest.approx(seconds)
    assert ClassicalTiming(50, 3.0, 2.0, 0.0, grows).seconds(100, 0) == pytest.approx(12.0)


@pytest.mark.parametrize("settings", [LinearModelSpec(kind="linear"), RbfSvmSpec(kind="rbf_svm")])
def test_classical_models_are_fitted_on_all_rows_where_that_is_quick(
    settings: LinearModelSpec | RbfSvmSpec, digits: Examples
) -> None:
    train, tests = digits.in_split("train"), digits.in_split("test")
    speed = measure_classical(settings, train, tests)
    assert speed.rows == 200
    low, high = model_timing.GROWTH[type(settings)]
    assert low <= speed.growth <= high
    assert speed.seconds(200, 60) >= speed.fit > 0
    assert speed.row_grows == (settings.kind == "rbf_svm")


def test_a_slow_fit_is_measured_on_few_rows(digits: Examples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_timing, "ENOUGH_SECONDS", 0.0)
    speed = measure_classical(LinearModelSpec(kind="linear"), digits.in_split("train"), digits.in_split("test"))
    assert (speed.rows, speed.growth) == (model_timing.SMALLEST_FIT, 1.0)


def test_a_network_is_timed_with_more_steps_until_they_take_long_enough(
    digits: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[float] = []
    evaluate = evaluators.evaluate

    def spied(*arguments: Any, **options: Any) -> Any:
        evaluation = evaluate(*arguments, **options)
        steps.append(evaluation.metrics["steps"])
        return evaluation

    monkeypatch.setattr(evaluators, "evaluate", spied)
    monkeypatch.setattr(model_timing, "ENOUGH_SECONDS", 1000.0)
    monkeypatch.setattr(model_timing, "MOST_STEPS", 5)
    timing = measure_neural(NETWORK, digits.in_split("train"), digits.in_split("test"), device=CPU)
    assert steps == [1, 1, 5]
    assert min(timing.step, timing.row) > 0
    assert timing.model >= 0


def test_the_width_is_that_of_the_trained_encoder(digits: Examples, tmp_path: Path) -> None:
    train = digits.in_split("train")
    train_encoder(NETWORK, sample(train, 10), tmp_path, seed=0, device=CPU, log=no_log)
    trained = load_encoder(NETWORK, tmp_path, digits.label_names, width=None, device=CPU)
    assert encoder_width(NETWORK, train, device=CPU) == trained.width > 10


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
