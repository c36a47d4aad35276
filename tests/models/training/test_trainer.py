"""Which trainings are told to have diverged."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import new_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training.dynamics import EpochDynamics
from aflite_assets.models.training.train import train_classifier
from aflite_assets.models.training.trainer import check_divergence
from aflite_assets.specs.models import TextModelSpec


def _epoch(*losses: float) -> EpochDynamics:
    return EpochDynamics(-torch.tensor(losses), torch.zeros(len(losses), dtype=torch.bool))


def _check(first_batch: float, *losses: float, kept: int | None = None, classes: int = 2) -> None:
    """Epochs of two rows with these mean losses; the first row is the first batch."""
    first = _epoch(first_batch, 2 * losses[0] - first_batch)
    epochs = [first, *(_epoch(loss, loss) for loss in losses[1:])]
    check_divergence(epochs, [0], kept=kept or len(losses), classes=classes, rate=0.5)


@pytest.mark.parametrize(
    ("losses", "kept"),
    [
        ((0.7, 0.5, 0.1), 2),  # learnt
        ((0.7, 0.5, 6.9), 2),  # ten times what guessing gives is 6.93
        ((30.0, 20.0, 15.0), 2),  # it began there and falls
        ((0.7, 0.5, 30.0, 40.0), 1),  # the weights that stay are those of before
        ((0.7, 20.0, 0.1, 0.1), 1),  # what stays was fine when the second epoch began
        ((30.0, 20.0, 15.0, 15.0), 1),
        ((20.0, 20.0), 1),  # as before the first step: no epoch has shown more
        ((20.0, 30.0), 1),  # by chance of the batch
    ],
)
def test_what_learns_or_may_have_learnt_stays(losses: tuple[float, ...], kept: int) -> None:
    _check(*losses, kept=kept)


@pytest.mark.parametrize(
    ("losses", "kept"),
    [
        ((0.7, 0.5, 7.0), 2),
        ((0.7, 91.0, 46.0), 2),  # falls with the rate
        ((0.7, 91.0, 46.0), 1),
        ((50.0, 50.0, 50.0), 2),
        ((50.0, 50.0, 49.99), 2),  # noise
        ((50.0, 40.0, 20.0, 60.0), 3),
        ((50.0, 50.0, 60.0), 1),
        ((0.7, 77.0), 1),
    ],
)
def test_what_ended_far_from_any_use_has_diverged(losses: tuple[float, ...], kept: int) -> None:
    with pytest.raises(ModelError, match=rf"training diverged: the loss of epoch {kept} is {losses[kept]:.4g}, "):
        _check(*losses, kept=kept)


def test_the_numbers_are_named() -> None:
    with pytest.raises(
        ModelError,
        match=r"training diverged: the loss of epoch 2 is 16.5, before the first step it was 1.5, and guessing among 5 "
        r"classes gives 1.609; lower learning_rate \(now 0.5\)",
    ):
        _check(1.5, 2.0, 16.5, classes=5)
    _check(1.5, 2.0, 16.0, classes=5)


def test_one_class_is_never_hopeless() -> None:
    _check(0.0, 0.0, 0.0, classes=1)


@pytest.mark.parametrize("epochs", [1, 3])
def test_too_high_a_rate_is_no_finished_training(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, epochs: int
) -> None:
    settings = text_settings.model_copy(update={"learning_rate": 9.5, "epochs": epochs, "batch_size": 5})
    examples = keyword_pairs(40)
    with isolated_random_state(0):
        classifier = new_classifier(settings, examples, lambda _: None)
        with pytest.raises(
            ModelError, match=rf"training diverged: the loss of epoch {epochs} is \d+\.?\d*, before the f"
        ):
            train_classifier(
                classifier, examples, seed=0, device=DeviceSettings("cpu"), scratch=tmp_path, log=lambda _: None
            )
    assert all(np.isfinite(weight.detach().numpy()).all() for weight in classifier.model.parameters())
    assert list(tmp_path.iterdir()) == []
