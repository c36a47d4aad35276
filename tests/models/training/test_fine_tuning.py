"""Later stages of a trained model: what they train, and how a run that was stopped between them goes on."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.evaluators import Evaluation, evaluate, evaluate_saved, train_and_save
from aflite_assets.models.training.epochs import read_epochs
from aflite_assets.models.training.fine_tuning import FineTuning
from aflite_assets.specs.models.kinds import NeuralModelSpec
from aflite_assets.specs.models.settings import EsimSpec, ImageModelSpec, SiameseBagSpec, SiameseLstmSpec, TextModelSpec

SILENT: Callable[[str], None] = lambda line: None  # noqa: E731


@pytest.fixture
def two_epochs(text_settings: TextModelSpec) -> TextModelSpec:
    return text_settings.model_copy(update={"epochs": 2})


def _continued(
    settings: NeuralModelSpec,
    folder: Path,
    stages: list[FineTuning],
    test: Examples,
    scratch: Path,
    log: Callable[[str], None] = SILENT,
) -> Evaluation:
    return evaluate_saved(
        settings, folder, stages, {"test": test}, label_names=test.label_names, seed=3,
        device=DeviceSettings("cpu"), scratch=scratch, log=log,
    )  # fmt: skip


def _probabilities(evaluation: Evaluation) -> np.ndarray:
    found = evaluation.predictions["test"].probabilities
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["text", "image", "esim", "siamese_bag", "siamese_lstm"])
def test_a_saved_model_gives_the_bits_of_the_one_that_was_trained(
    kind: str,
    two_epochs: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    png_images: Callable[..., Examples],
    tmp_path: Path,
    cpu: DeviceSettings,
) -> None:
    settings: NeuralModelSpec = {
        "text": two_epochs,
        "image": ImageModelSpec(
            kind="timm_image", architecture="test_resnet", image_size=16, epochs=2, augmentation="flip_crop"
        ),
        "esim": EsimSpec(kind="esim", vector_width=8, width=8, epochs=2),
        "siamese_bag": SiameseBagSpec(kind="siamese_bag", vector_width=8, projection=8, hidden=8, epochs=2),
        "siamese_lstm": SiameseLstmSpec(kind="siamese_lstm", vector_width=8, width=8, hidden=8, epochs=2),
    }[kind]  # type: ignore[assignment]
    make = png_images if kind == "image" else keyword_pairs
    train, test = make(24), make(12, seed=1)
    whole = evaluate(settings, train, {"test": test}, seed=3, device=cpu, scratch=tmp_path / "a", log=SILENT)
    result = train_and_save(settings, train, tmp_path / "m", seed=3, device=cpu, scratch=tmp_path / "b", log=SILENT)
    assert whole.dynamics is not None
    assert result.dynamics.equals(whole.dynamics)
    saved = _continued(settings, tmp_path / "m", [], test, tmp_path / "c")
    assert np.array_equal(_probabilities(saved), _probabilities(whole))
    assert set(saved.metrics) == {"prediction_seconds"}


def test_a_stopped_run_goes_on_after_the_stages_that_it_finished(
    two_epochs: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, cpu: DeviceSettings
) -> None:
    train, test = keyword_pairs(20), keyword_pairs(10, seed=9)
    train_and_save(two_epochs, train, tmp_path / "m", seed=3, device=cpu, scratch=tmp_path / "s", log=SILENT)
    stages = [FineTuning(f"set{number}", keyword_pairs(10 * number, seed=number), two_epochs) for number in (1, 2, 3)]
    whole = _continued(two_epochs, tmp_path / "m", stages, test, tmp_path / "whole")
    assert {name: value for name, value in whole.metrics.items() if name.endswith(".rows")} == {
        "stage_1.rows": 10, "stage_2.rows": 20, "stage_3.rows": 30,
    }  # fmt: skip

    def stop(line: str) -> None:
        if line == "stage 3 of 3: 30 rows of set3":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _continued(two_epochs, tmp_path / "m", stages, test, tmp_path / "stopped", stop)
    lines: list[str] = []
    resumed = _continued(two_epochs, tmp_path / "m", stages, test, tmp_path / "stopped", lines.append)
    assert [line for line in lines if line.endswith("by an earlier run")] == [
        "stage set1 was finished by an earlier run",
        "stage set2 was finished by an earlier run",
    ]
    assert np.array_equal(_probabilities(resumed), _probabilities(whole))
    assert [file.name for file in (tmp_path / "stopped").iterdir()] == ["epochs.json"]
    by_epoch = read_epochs(tmp_path / "stopped")
    assert by_epoch == read_epochs(tmp_path / "whole")
    names = [f"stage_{number}.{name}" for number in (1, 2, 3) for name in ("train_loss", "train_accuracy")]
    assert {name: len(values) for name, values in by_epoch.items()} == dict.fromkeys(names, 2)
    assert all(by_epoch[name][-1] == whole.metrics[name] for name in names)

    with pytest.raises(KeyboardInterrupt):
        _continued(two_epochs, tmp_path / "m", stages, test, tmp_path / "stopped", stop)
    slower = two_epochs.model_copy(update={"learning_rate": 1e-4})
    other = [FineTuning("set1", stages[0].rows, slower), *stages[1:]]
    lines.clear()
    _continued(two_epochs, tmp_path / "m", other, test, tmp_path / "stopped", lines.append)
    assert not [line for line in lines if line.endswith("by an earlier run")]


def test_a_folder_without_a_model_is_named(
    two_epochs: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    with pytest.raises(
        ModelError, match=r"the trained model in .*gone cannot be loaded .*materialise the asset `evaluator_models`"
    ):
        _continued(two_epochs, tmp_path / "gone", [], keyword_pairs(4), tmp_path / "s")
