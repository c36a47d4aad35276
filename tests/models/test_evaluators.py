from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.errors import InvalidInputError, ModelError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.evaluators import Evaluation, evaluate
from aflite_assets.specs.models.kinds import OneStageSpec
from aflite_assets.specs.models.settings import (
    EarlyStoppingSpec,
    ImageModelSpec,
    LinearModelSpec,
    MaxPpmiSpec,
    RbfSvmSpec,
    TextModelSpec,
)

IMAGES = ImageModelSpec(
    kind="timm_image", architecture="test_resnet", image_size=32, epochs=3, batch_size=8, learning_rate=5e-3
)


def _evaluate(
    settings: OneStageSpec,
    train: Examples,
    tests: dict[str, Examples],
    scratch: Path,
    *,
    seed: int = 0,
    validation: Examples | None = None,
) -> Evaluation:
    return evaluate(
        settings,
        train,
        tests,
        seed=seed,
        device=DeviceSettings("cpu"),
        scratch=scratch,
        log=lambda _: None,
        validation=validation,
    )


def _accuracy(result: Evaluation, name: str, test: Examples) -> float:
    return float(np.mean(result.predictions[name].predicted == test.labels))


def test_a_text_model_finds_the_keyword_and_only_where_it_may_look(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    train, test = keyword_pairs(60), keyword_pairs(40, seed=1)
    result = _evaluate(text_settings, train, {"test": test, "again": test}, tmp_path / "new")
    assert _accuracy(result, "test", test) > 0.9
    assert set(result.predictions) == {"test", "again"}
    assert result.dynamics is not None
    assert result.dynamics.num_rows == 6 * 60
    assert set(result.metrics) == {"train_loss", "train_accuracy", "seconds", "rows", "steps", "prediction_seconds"}
    blind = text_settings.model_copy(update={"inputs": ("text",)})
    assert _accuracy(_evaluate(blind, train, {"test": test}, tmp_path), "test", test) < 0.8
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["epochs.json"]


@pytest.mark.parametrize("kind", ["text", "image"])
def test_a_train_set_may_lack_classes(
    kind: str,
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    png_images: Callable[..., Examples],
    tmp_path: Path,
) -> None:
    examples = keyword_pairs(12) if kind == "text" else png_images(12)
    settings: OneStageSpec = text_settings if kind == "text" else IMAGES
    ones = examples.select(examples.row_ids[examples.labels == 1])
    result = _evaluate(settings, ones, {"test": examples}, tmp_path)
    probabilities = result.predictions["test"].probabilities
    assert probabilities is not None
    assert probabilities.shape == (12, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)


def test_linear_models_read_words_and_pixels(
    keyword_pairs: Callable[..., Examples], png_images: Callable[..., Examples], tmp_path: Path
) -> None:
    linear = LinearModelSpec(kind="linear", inverse_regularization=10)
    for train, test in ((keyword_pairs(60), keyword_pairs(20, seed=1)), (png_images(40), png_images(20, seed=1))):
        for settings in (linear, RbfSvmSpec(kind="rbf_svm", inverse_regularization=10)):
            result = _evaluate(settings, train, {"test": test}, tmp_path)
            assert _accuracy(result, "test", test) > 0.9
            assert result.dynamics is None
            assert result.metrics["converged"] == 1


def test_test_sets_are_checked_too(
    keyword_pairs: Callable[..., Examples], png_images: Callable[..., Examples], tmp_path: Path
) -> None:
    partial = LinearModelSpec(kind="linear", inputs=("text_pair",))
    lacking = Examples(keyword_pairs(4).table.drop_columns(["text_pair"]), ("agrees", "contradicts"))
    with pytest.raises(
        ModelError, match=r"`inputs` contains text_pair, but the dataset has no such column; choose from text"
    ):
        _evaluate(partial, keyword_pairs(4), {"test": lacking}, tmp_path)
    with pytest.raises(
        ModelError, match=r"kind 'timm_image' needs rows of type image, but the dataset's rows are of type text"
    ):
        _evaluate(IMAGES, keyword_pairs(4), {}, tmp_path)


def test_a_named_split_is_stopped_by(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"early_stopping": EarlyStoppingSpec(split="dev"), "epochs": 2})
    train, dev = keyword_pairs(20), keyword_pairs(6, seed=1)
    result = _evaluate(settings, train, {"test": dev}, tmp_path, validation=dev)
    assert (result.metrics["rows"], result.metrics["held_back_rows"]) == (20, 6)
    assert result.metrics["held_back_accuracy"] == pytest.approx(_accuracy(result, "test", dev))


@pytest.mark.parametrize("parts", [1, 2])
def test_rows_of_weight_zero_teach_nothing(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, parts: int
) -> None:
    """In whatever order and parts they are presented: a shifted weight would let wrong labels teach."""
    settings = text_settings.model_copy(update={"gradient_accumulation": parts})
    train, test = keyword_pairs(120), keyword_pairs(40, seed=1)
    wrong = np.arange(120) % 4 < 2
    labels = np.where(wrong, 1 - train.labels, train.labels)
    table = train.table.set_column(train.table.column_names.index("label"), "label", pa.array(labels))
    weights = np.where(wrong, 0, 2).astype(np.float32)
    result = evaluate(
        settings, Examples(table, train.label_names), {"test": test}, seed=0, device=DeviceSettings("cpu"),
        scratch=tmp_path, log=lambda _: None, row_weights=weights,
    )  # fmt: skip
    assert _accuracy(result, "test", test) > 0.9
    assert result.metrics["train_accuracy"] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(19, np.float32), r"`row_weights` has the shape \(19,\), but \(20,\) is needed"),
        (
            np.full(20, -1, np.float32),
            r"`row_weights` has values from -1.0 to -1.0, but .* finite and at least 0; clip",
        ),
        (np.full(20, np.nan, np.float32), r"`row_weights` has values from nan to nan"),
    ],
)
def test_weights_that_are_none_are_refused(
    keyword_pairs: Callable[..., Examples], tmp_path: Path, weights: np.ndarray, message: str
) -> None:
    settings, train = LinearModelSpec(kind="linear"), keyword_pairs(20)
    with pytest.raises(InvalidInputError, match=message):
        evaluate(
            settings, train, {}, seed=0, device=DeviceSettings("cpu"), scratch=tmp_path, log=lambda _: None,
            row_weights=weights,
        )  # fmt: skip


def test_the_same_seed_predicts_the_same_bits(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"epochs": 1})
    train, test = keyword_pairs(20), keyword_pairs(9, seed=1)
    runs = [_evaluate(settings, train, {"test": test}, tmp_path, seed=seed) for seed in (2, 2, 3)]
    first, second, other = (run.predictions["test"].probabilities for run in runs)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first, second)
    assert other is not None
    assert not np.array_equal(first, other)


def test_an_image_model_learns_colours(png_images: Callable[..., Examples], tmp_path: Path) -> None:
    train, test = png_images(33), png_images(10, seed=1)
    result = _evaluate(IMAGES, train, {"test": test}, tmp_path)
    assert _accuracy(result, "test", test) > 0.9
    assert result.dynamics is not None
    assert result.dynamics.num_rows == 3 * 33


def test_max_ppmi_reads_words(keyword_pairs: Callable[..., Examples], tmp_path: Path) -> None:
    test = keyword_pairs(20, seed=1)
    result = _evaluate(MaxPpmiSpec(kind="max_ppmi"), keyword_pairs(60), {"test": test}, tmp_path)
    assert _accuracy(result, "test", test) == 1
    assert result.dynamics is None


def test_a_share_of_the_train_rows_is_stopped_by(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"early_stopping": EarlyStoppingSpec(share=0.25), "epochs": 2})
    result = _evaluate(settings, keyword_pairs(20), {}, tmp_path)
    assert (result.metrics["rows"], result.metrics["held_back_rows"]) == (15, 5)
    assert result.dynamics is not None
    assert result.dynamics.num_rows == result.metrics["epochs"] * 15


def test_a_killed_evaluation_goes_on(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"epochs": 2})
    train, test = keyword_pairs(20), keyword_pairs(9, seed=1)
    lines: list[str] = []

    def killed(line: str) -> None:
        lines.append(line)
        if line.startswith("epoch 2"):
            raise KeyboardInterrupt

    def run(scratch: Path, log: Callable[[str], None]) -> Evaluation:
        return evaluate(settings, train, {"test": test}, seed=0, device=DeviceSettings("cpu"), scratch=scratch, log=log)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", killed)
    lines.clear()
    resumed = run(tmp_path / "killed", lines.append)
    assert [line[:12] for line in lines if line.startswith("epoch")] == ["epoch 2 of 2"]
    whole = run(tmp_path / "whole", lambda _: None)
    assert resumed.dynamics is not None
    assert resumed.dynamics.equals(whole.dynamics)
    np.testing.assert_array_equal(resumed.predictions["test"].probabilities, whole.predictions["test"].probabilities)
    assert [path.name for path in (tmp_path / "killed").iterdir()] == ["epochs.json"]
