import numpy as np
import pyarrow as pa
import pytest
import torch

from aflite_assets.models.training.dynamics import DynamicsRecorder

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
