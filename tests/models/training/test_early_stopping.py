from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.classifiers import NeuralClassifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.training import train as training
from aflite_assets.models.training.checkpoints import copied_weights
from aflite_assets.models.training.early_stopping import EarlyStopping, training_rows
from aflite_assets.models.training.predictions import predict
from aflite_assets.specs.models.settings import EarlyStoppingSpec, TextModelSpec
from tests.models.made import trained

NAMES = ("a", "b")


def _stopping(accuracies: list[float], patience: int = 1) -> EarlyStopping:
    scores = iter(accuracies)
    stopping = EarlyStopping(patience, 8, lambda: next(scores))
    for _ in accuracies:
        stopping.end_epoch()
    return stopping


@pytest.mark.parametrize(
    ("accuracies", "patience", "best", "over"),
    [
        ([0.5], 1, 1, False),
        ([0.5, 0.6], 1, 2, False),
        ([0.5, 0.5], 1, 1, True),
        ([0.5, 0.4], 2, 1, False),
        ([0.5, 0.4, 0.5], 2, 1, True),
        ([0.5, 0.4, 0.6], 2, 3, False),
    ],
)
def test_patience_counts_epochs_without_a_higher_accuracy(
    accuracies: list[float], patience: int, best: int, over: bool
) -> None:
    stopping = _stopping(accuracies, patience)
    assert (stopping.best_epoch, stopping.patience_is_over) == (best, over)


def test_metrics_are_of_the_best_epoch() -> None:
    assert _stopping([0.5, 0.75, 0.25]).metrics() == {
        "held_back_rows": 8,
        "best_epoch": 2,
        "held_back_accuracy": 0.75,
        "epochs": 3,
    }


def test_a_share_is_drawn_by_class_and_by_the_seed(table: Callable[..., Examples]) -> None:
    examples = table(np.arange(200) % 4 // 3, NAMES, text=["x"] * 200)
    stopping = EarlyStoppingSpec(share=0.1)
    rows = training_rows(examples, stopping, None, seed=2**40)
    assert rows.held_back is not None
    assert np.bincount(rows.held_back.labels).tolist() == [15, 5]
    both = np.concatenate([rows.train.row_ids, rows.held_back.row_ids])
    assert sorted(both) == examples.row_ids.tolist()
    again = training_rows(examples, stopping, None, seed=2**40).held_back
    other = training_rows(examples, stopping, None, seed=1).held_back
    assert again is not None
    assert other is not None
    np.testing.assert_array_equal(rows.held_back.row_ids, again.row_ids)
    assert rows.held_back.row_ids.tolist() != other.row_ids.tolist()


def test_a_share_is_of_whole_groups(table: Callable[..., Examples]) -> None:
    groups = np.arange(60) // 3
    examples = table(np.arange(60) % 2, NAMES, text=["x"] * 60, group=pa.array(groups, pa.int64()))
    rows = training_rows(examples, EarlyStoppingSpec(share=0.2), None, seed=0)
    assert rows.held_back is not None
    assert rows.held_back.groups is not None
    assert rows.train.groups is not None
    assert len(rows.held_back) == 12
    assert not set(rows.held_back.groups) & set(rows.train.groups)


def test_given_rows_leave_the_train_rows_alone(table: Callable[..., Examples]) -> None:
    examples, given = table([0, 1], NAMES, text=["x"] * 2), table([1], NAMES, text=["y"])
    rows = training_rows(examples, EarlyStoppingSpec(split="dev"), given, seed=0)
    assert (rows.train, rows.held_back) == (examples, given)
    assert training_rows(examples, None, None, seed=0).held_back is None


@pytest.mark.parametrize(
    ("count", "share", "group_size", "message"),
    [
        (
            9,
            0.05,
            1,
            r"`share` 0.05 holds back 0 of 9 rows and leaves 9 to train on, but at least 1 held-back "
            r"row and 2",
        ),
        (2, 0.3, 1, r"`share` 0.3 holds back 1 of 2 rows and leaves 1"),
        (12, 0.2, 6, r"`share` 0.2 holds back 0 of 12 rows and leaves 12.*whole groups"),
    ],
)
def test_too_few_rows_are_an_error(
    table: Callable[..., Examples], count: int, share: float, group_size: int, message: str
) -> None:
    group = pa.array(np.arange(count) // group_size, pa.int64())
    examples = table(np.arange(count) % 2, NAMES, text=["x"] * count, group=group)
    with pytest.raises(DataError, match=message):
        training_rows(examples, EarlyStoppingSpec(share=share), None, seed=0)


def test_a_split_without_rows_is_an_error(table: Callable[..., Examples]) -> None:
    examples = table([0, 1], NAMES, text=["x"] * 2)
    with pytest.raises(DataError, match=r"`split` 'dev' holds back 0 of 2 rows and leaves 2"):
        training_rows(examples, EarlyStoppingSpec(split="dev"), examples.select([]), seed=0)
    with pytest.raises(ModelError, match=r"`early_stopping.split` is 'dev', but the rows of that split were not given"):
        training_rows(examples, EarlyStoppingSpec(split="dev"), None, seed=0)


def _stops(settings: TextModelSpec, **fields: object) -> TextModelSpec:
    return settings.model_copy(update={"early_stopping": EarlyStoppingSpec.model_validate(fields)})


def test_the_weights_of_the_best_epoch_are_restored(
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[dict[str, torch.Tensor]] = []

    def scripted(classifier: NeuralClassifier, *_: object) -> EarlyStopping:
        def score() -> float:
            seen.append(copied_weights(classifier.model))
            return [0.5, 0.75, 0.75, 0.25, 1.0][len(seen) - 1]

        return EarlyStopping(2, 3, score)

    monkeypatch.setattr(training, "_early_stopping", scripted)
    lines: list[str] = []
    examples = keyword_pairs(23)
    classifier, result = trained(_stops(text_settings, share=0.13), examples, tmp_path, lines=lines)
    assert len(seen) == 4
    for name, weight in classifier.model.state_dict().items():
        assert torch.equal(weight, seen[1][name]), name
    assert not torch.equal(seen[1]["classifier.weight"], seen[3]["classifier.weight"])
    assert lines[-2].endswith("0.250 on 3 held-back rows")
    assert lines[-1] == "stopped after epoch 4: no later epoch was better than epoch 2"
    assert (result.metrics["rows"], result.metrics["steps"], result.metrics["epochs"]) == (20, 8, 4)
    assert result.dynamics.num_rows == 4 * 20
    # Loss and accuracy are those of the weights that stay.
    second = result.dynamics["label_probability"].to_numpy()[20:40]
    assert result.metrics["train_loss"] == pytest.approx(-np.log(second).mean(), rel=1e-5)
    assert list(tmp_path.rglob("*")) == [tmp_path / "epochs.json"]


def test_learning_stops_where_the_held_back_rows_say(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples, fresh = keyword_pairs(40), keyword_pairs(20, seed=1)
    # Labels the wrong way round: the more is learnt, the fewer are right.
    flipped = fresh.table.set_column(
        fresh.table.column_names.index("label"), "label", pa.array(1 - fresh.labels, pa.int64())
    )
    wrong = Examples(flipped, fresh.label_names)
    settings = _stops(text_settings, split="dev", patience=2)
    classifier, result = trained(settings, examples, tmp_path, held_back=wrong)
    assert result.metrics["epochs"] == result.metrics["best_epoch"] + 2 < 6
    assert result.metrics["rows"] == 40
    # What was said of the best epoch is true of the weights that stayed.
    kept = predict(classifier, wrong, device=DeviceSettings("cpu")).predicted
    assert result.metrics["held_back_accuracy"] == pytest.approx(np.mean(kept == wrong.labels))
    assert result.metrics["held_back_rows"] == 20


def test_held_back_rows_are_not_trained_on(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples = keyword_pairs(40)
    settings = _stops(text_settings, share=0.2, patience=9).model_copy(update={"epochs": 2})
    _, result = trained(settings, examples, tmp_path)
    held = training_rows(examples, settings.early_stopping, None, seed=0).held_back
    assert held is not None
    assert set(result.dynamics["row_id"].to_pylist()) == set(examples.row_ids) - set(held.row_ids)
    assert (result.metrics["held_back_rows"], result.metrics["rows"], result.metrics["epochs"]) == (8, 32, 2)
