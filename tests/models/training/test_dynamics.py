import numpy as np
import pyarrow as pa
import pytest
import torch

from aflite_assets.errors import ModelError
from aflite_assets.models.training.dynamics import DynamicsRecorder, EpochDynamics, check_divergence

CPU = torch.device("cpu")


def test_recorded_numbers_are_softmax_and_argmax() -> None:
    recorder = DynamicsRecorder(3)
    recorder.begin_epoch(CPU)
    logits = torch.tensor([[0.0, np.log(3.0)], [2.0, 2.0 - np.log(4.0)]])
    recorder.record(torch.tensor([2, 0]), torch.tensor([0, 0]), logits)
    recorder.record(torch.tensor([1]), torch.tensor([1]), logits[:1])
    epoch = recorder.end_epoch()
    assert epoch.loss == pytest.approx(-np.log([0.8, 0.75, 0.25]).mean())
    assert epoch.accuracy == pytest.approx(2 / 3)
    table = recorder.table(np.array([7, 8, 9]))
    assert table["row_id"].to_pylist() == [7, 8, 9]
    assert table["label_probability"].to_pylist() == pytest.approx([0.8, 0.75, 0.25])
    assert table["correct"].to_pylist() == [True, True, False]


def test_epochs_are_kept_one_after_the_other() -> None:
    recorder = DynamicsRecorder(2)
    for shift in (0.0, 5.0):
        recorder.begin_epoch(CPU)
        recorder.record(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.tensor([[0.0, shift], [0.0, shift]]))
        recorder.end_epoch()
    table = recorder.table(np.array([3, 4]))
    assert table.schema == pa.schema(
        {"row_id": pa.int64(), "epoch": pa.int64(), "label_probability": pa.float32(), "correct": pa.bool_()}
    )
    assert table["epoch"].to_pylist() == [0, 0, 1, 1]
    assert table["row_id"].to_pylist() == [3, 4, 3, 4]
    high = 1 / (1 + np.exp(-5))
    assert table["label_probability"].to_pylist() == pytest.approx([0.5, 0.5, high, 1 - high], abs=1e-6)


def test_a_row_that_was_not_presented_makes_the_loss_nan() -> None:
    recorder = DynamicsRecorder(2)
    recorder.begin_epoch(CPU)
    recorder.record(torch.tensor([0]), torch.tensor([0]), torch.tensor([[1.0, 0.0]]))
    assert np.isnan(recorder.end_epoch().loss)


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
    with pytest.raises(
        ModelError, match=rf"training diverged: the loss of epoch {kept} is {losses[kept]:.4g}, but the loss before"
    ):
        _check(*losses, kept=kept)


def test_the_numbers_are_named() -> None:
    with pytest.raises(
        ModelError,
        match=r"training diverged: the loss of epoch 2 is 16.5, but the loss before the first step was 1.5 and "
        r"guessing among 5 "
        r"classes gives 1.609; lower `learning_rate` \(now 0.5\)",
    ):
        _check(1.5, 2.0, 16.5, classes=5)
    _check(1.5, 2.0, 16.0, classes=5)


def test_one_class_is_never_hopeless() -> None:
    _check(0.0, 0.0, 0.0, classes=1)
