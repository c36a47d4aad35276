import gc
import json
import random
import shutil
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import set_seed

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.classifiers import NeuralClassifier, new_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training import train as training
from aflite_assets.models.training.batches import epoch_order
from aflite_assets.models.training.checkpoints import fingerprint
from aflite_assets.models.training.dynamics import DynamicsRecorder
from aflite_assets.models.training.early_stopping import TrainingRows, training_rows
from aflite_assets.models.training.train import TrainingResult, train_classifier
from aflite_assets.specs.models.settings import EarlyStoppingSpec, ImageModelSpec, TextModelSpec
from aflite_assets.specs.registry import BUNDLED, load_spec
from tests.models.made import trained


def test_a_keyword_is_learnt_and_reported(
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines: list[str] = []
    _, result = trained(text_settings, keyword_pairs(60), tmp_path, lines=lines)
    assert result.metrics["train_accuracy"] > 0.9
    assert result.metrics["train_loss"] < 0.3
    assert (result.metrics["rows"], result.metrics["steps"]) == (60, 36)
    assert result.metrics["seconds"] > 0
    assert len(lines) == 6
    assert lines[-1].startswith("epoch 6 of 6: loss 0.")
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_dynamics_hold_each_row_once_per_epoch(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"epochs": 3})
    examples = keyword_pairs(23)
    _, result = trained(settings, examples, tmp_path)
    dynamics = result.dynamics
    assert dynamics.schema == pa.schema(
        {"row_id": pa.int64(), "epoch": pa.int64(), "label_probability": pa.float32(), "correct": pa.bool_()}
    )
    np.testing.assert_array_equal(dynamics["row_id"], np.tile(examples.row_ids, 3))
    np.testing.assert_array_equal(dynamics["epoch"], np.repeat([0, 1, 2], 23))
    probability = dynamics["label_probability"].to_numpy()
    correct = dynamics["correct"].to_numpy()
    assert ((probability > 0) & (probability <= 1)).all()
    # With two classes the label wins exactly when its probability is over a half.
    np.testing.assert_array_equal(correct, probability > 0.5)
    last = slice(46, None)
    assert result.metrics["train_accuracy"] == pytest.approx(correct[last].mean())
    assert result.metrics["train_loss"] == pytest.approx(-np.log(probability[last]).mean(), rel=1e-5)


def test_the_first_epoch_is_seen_before_it_is_learnt(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples = keyword_pairs(8)
    settings = text_settings.model_copy(update={"epochs": 1, "batch_size": 8})
    _, result = trained(settings, examples, tmp_path / "a")
    _, slower = trained(settings.model_copy(update={"learning_rate": 1e-6}), examples, tmp_path / "b")
    assert result.dynamics.equals(slower.dynamics)


def test_the_same_seed_gives_the_same_bits(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples = keyword_pairs(30)
    settings = text_settings.model_copy(update={"epochs": 2})
    set_seed(1)
    first, first_result = trained(settings, examples, tmp_path, seed=4)
    set_seed(2)
    second, second_result = trained(settings, examples, tmp_path, seed=4)
    _, other_result = trained(settings, examples, tmp_path, seed=5)
    for name, value in first.model.state_dict().items():
        assert torch.equal(value, second.model.state_dict()[name]), name
    assert first_result.dynamics.equals(second_result.dynamics)
    assert not first_result.dynamics.equals(other_result.dynamics)


def test_a_trained_model_keeps_no_keys_and_values(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    classifier, _ = trained(text_settings.model_copy(update={"epochs": 1}), keyword_pairs(4), tmp_path)
    assert classifier.model.config.use_cache is False


@pytest.mark.parametrize("rows", [1, 9])
def test_a_last_batch_of_one_row_passes_batch_normalisation(
    image_settings: ImageModelSpec, png_images: Callable[..., Examples], tmp_path: Path, rows: int
) -> None:
    classifier, result = trained(image_settings, png_images(rows), tmp_path)
    assert np.isfinite(result.dynamics["label_probability"].to_numpy()).all()
    assert all(torch.isfinite(p).all() for p in classifier.model.parameters())


def test_an_efficientnet_b7_takes_a_step_as_its_papers_train_it(
    png_images: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = load_spec(BUNDLED / "imagenet_1k.yaml").evaluators["efficientnet_b7"]
    assert isinstance(settings, ImageModelSpec)
    small = settings.model_copy(update={"image_size": 64, "epochs": 1, "batch_size": 3, "warmup_share": 0.0})
    classifier, result = trained(small, png_images(3, sizes=[(48, 40), (32, 64), (36, 36)]), tmp_path)
    assert result.metrics["steps"] == 1
    assert np.isfinite(result.metrics["train_loss"])
    assert classifier.model.timm_model.num_features == 2560
    assert classifier.model.config.model_args == {"drop_rate": 0.5, "drop_path_rate": 0.2}
    # timm begins with 0, and Adam's first step is the learning rate itself.
    bias = classifier.model.timm_model.classifier.bias.detach()
    np.testing.assert_allclose(bias.abs(), settings.learning_rate, rtol=0.05)


def test_bfloat16_keeps_float32_weights(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"epochs": 1})
    examples = keyword_pairs(20)
    classifier, half = trained(settings, examples, tmp_path, device=DeviceSettings("cpu", "bfloat16"))
    _, full = trained(settings, examples, tmp_path)
    assert {p.dtype for p in classifier.model.parameters()} == {torch.float32}
    assert not half.dynamics.equals(full.dynamics)
    np.testing.assert_allclose(half.dynamics["label_probability"], full.dynamics["label_probability"], atol=0.05)


def test_weights_move_as_the_settings_say(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    still = text_settings.model_copy(update={"epochs": 1, "learning_rate": 1e-12})
    before = new_classifier(still, keyword_pairs(2), lambda _: None).model.state_dict()
    after, _ = trained(still, keyword_pairs(10), tmp_path)
    moved, _ = trained(text_settings.model_copy(update={"epochs": 1}), keyword_pairs(10), tmp_path)
    name = "bert.pooler.dense.weight"
    np.testing.assert_allclose(after.model.state_dict()[name], before[name], atol=1e-9)
    # One step at the peak rate: Adam's first step is the learning rate itself.
    assert float((moved.model.state_dict()[name] - before[name]).abs().max()) == pytest.approx(5e-3, rel=0.05)


@pytest.fixture
def without_dropout(bert_folder: Path, text_settings: TextModelSpec, tmp_path: Path) -> TextModelSpec:
    folder = shutil.copytree(bert_folder, tmp_path / "without-dropout")
    configuration = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps({**configuration, **still}), encoding="utf-8")
    return text_settings.model_copy(update={"checkpoint": str(folder), "epochs": 2, "learning_rate": 1e-3})


@pytest.mark.parametrize("bucketing", [True, False])
@pytest.mark.parametrize("parts", [2, 5, 10])
def test_a_batch_in_parts_is_the_same_batch(
    without_dropout: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, parts: int, bucketing: bool
) -> None:
    whole = without_dropout.model_copy(update={"length_bucketing": bucketing})
    # Two whole batches and one of 3 rows, which 2 and 5 parts share unevenly.
    examples = keyword_pairs(23)
    in_parts = whole.model_copy(update={"gradient_accumulation": parts})
    at_once, expected = trained(whole, examples, tmp_path)
    divided, found = trained(in_parts, examples, tmp_path)
    assert found.metrics["steps"] == expected.metrics["steps"] == 6
    np.testing.assert_allclose(
        found.dynamics["label_probability"], expected.dynamics["label_probability"], rtol=0, atol=2e-6
    )
    for name, weight in at_once.model.state_dict().items():
        # The gradient of a key's bias is zero but for rounding, which Adam makes as large as any other.
        if not name.endswith("key.bias"):
            np.testing.assert_allclose(divided.model.state_dict()[name], weight, atol=2e-5, err_msg=name)


def test_the_ragged_last_batch_is_a_mean_over_its_own_rows(
    without_dropout: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples = keyword_pairs(3)
    settings = without_dropout.model_copy(update={"epochs": 1})
    few, _ = trained(settings.model_copy(update={"batch_size": 3}), examples, tmp_path)
    many, _ = trained(settings.model_copy(update={"batch_size": 32, "gradient_accumulation": 16}), examples, tmp_path)
    for name, weight in few.model.state_dict().items():
        if not name.endswith("key.bias"):
            np.testing.assert_allclose(many.model.state_dict()[name], weight, atol=2e-5, err_msg=name)


def test_steps_are_those_of_a_plain_loop(
    without_dropout: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    changes = {"learning_rate": 5e-3, "weight_decay": 0.3, "warmup_share": 0.5, "label_smoothing": 0.1}
    settings = without_dropout.model_copy(update=changes)
    examples = keyword_pairs(23)
    done, _ = trained(settings, examples, tmp_path)
    with isolated_random_state(0):
        classifier = new_classifier(settings, examples, lambda _: None)
    model, inputs, labels = classifier.model, classifier.inputs(examples), torch.tensor(examples.labels)
    still = [weights for name, weights in model.named_parameters() if "bias" in name or "LayerNorm" in name]
    decayed = [weights for weights in model.parameters() if all(weights is not other for other in still)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.3}, {"params": still, "weight_decay": 0.0}])
    norms = []
    for step in range(6):
        order = epoch_order(23, batch_size=10, lengths=inputs.lengths, seed=0, epoch=step // 3)
        rows = order[step % 3 * 10 :][:10]
        logits = model(**inputs.batch(rows)).logits
        torch.nn.functional.cross_entropy(logits, labels[rows], label_smoothing=0.1).backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * (step / 3 if step < 3 else (6 - step) / 3)
        optimizer.step()
        optimizer.zero_grad()
    assert max(norms) > 1
    for name, weight in model.state_dict().items():
        if not name.endswith("key.bias"):
            np.testing.assert_allclose(done.model.state_dict()[name], weight, atol=2e-5, err_msg=name)


@pytest.mark.parametrize(
    ("architecture", "decayed", "still"),
    [
        (
            "test_vit",
            {"blocks.0.attn.qkv.weight", "head.weight"},
            {"blocks.0.norm1.weight", "norm.weight", "head.bias"},
        ),
        ("test_resnet", {"layer1.0.conv1.weight", "bn1.weight"}, {"bn1.bias", "fc.bias"}),
    ],
)
def test_biases_and_layer_normalisations_do_not_decay(
    image_settings: ImageModelSpec,
    png_images: Callable[..., Examples],
    architecture: str,
    decayed: set[str],
    still: set[str],
) -> None:
    settings = image_settings.model_copy(update={"architecture": architecture, "weight_decay": 0.25})
    with isolated_random_state(0):
        model = new_classifier(settings, png_images(2), lambda _: None).model
    next(model.parameters()).requires_grad_(False)
    names = {id(weights): name.removeprefix("timm_model.") for name, weights in model.named_parameters()}
    groups = training._adamw(model, settings).param_groups
    found = [{names[id(weights)] for weights in group["params"]} for group in groups]
    assert [group["weight_decay"] for group in groups] == [0.25, 0.0]
    assert decayed <= found[0]
    assert still <= found[1]
    assert len(found[0]) + len(found[1]) == len(names) - 1


def test_label_smoothing_holds_probabilities_back_and_not_the_record(
    without_dropout: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    smoothed = without_dropout.model_copy(update={"epochs": 12, "learning_rate": 5e-3, "label_smoothing": 0.4})
    _, result = trained(smoothed, keyword_pairs(60), tmp_path)
    last = result.dynamics["label_probability"].to_numpy()[-60:]
    # Two classes share 0.4, so that a label is left 0.8.
    assert np.median(last) == pytest.approx(0.8, abs=0.03)
    assert result.metrics["train_accuracy"] > 0.9
    assert result.metrics["train_loss"] == pytest.approx(float(-np.log(last).mean()), abs=1e-4)


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("kind", ["text", "image"])
@pytest.mark.parametrize("stopping", [None, EarlyStoppingSpec(patience=1)])
def test_what_was_trained_needs_no_garbage_collection_to_go(
    text_settings: TextModelSpec,
    image_settings: ImageModelSpec,
    keyword_pairs: Callable[..., Examples],
    png_images: Callable[..., Examples],
    tmp_path: Path,
    kind: str,
    stopping: EarlyStoppingSpec | None,
) -> None:
    settings, rows = (text_settings, keyword_pairs) if kind == "text" else (image_settings, png_images)
    settings = settings.model_copy(update={"epochs": 2, "gradient_accumulation": 2, "early_stopping": stopping})
    before = _optimizers()
    classifier, result = trained(settings, rows(40), tmp_path)
    model = weakref.ref(classifier.model)
    weights = [weakref.ref(weight) for weight in classifier.model.parameters()]
    assert result.metrics["rows"] > 30
    assert _optimizers() == before
    del classifier
    assert model() is None
    assert [weight() for weight in weights if weight() is not None] == []


def _optimizers() -> list[object]:
    kinds = (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)
    return [alive for alive in gc.get_objects() if issubclass(type(alive), kinds)]


def test_no_rows_is_an_error(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"there are no rows to train on; give the dataset more rows"):
        trained(text_settings, keyword_pairs(4).select([]), tmp_path)


@pytest.mark.parametrize("epochs", [1, 3])
def test_too_high_a_rate_is_no_finished_training(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, epochs: int
) -> None:
    settings = text_settings.model_copy(update={"learning_rate": 9.5, "epochs": epochs, "batch_size": 5})
    examples = keyword_pairs(40)
    with isolated_random_state(0):
        classifier = new_classifier(settings, examples, lambda _: None)
        with pytest.raises(
            ModelError, match=rf"training diverged: the loss of epoch {epochs} is \d+\.?\d*, but the loss before the f"
        ):
            train_classifier(
                classifier, examples, seed=0, device=DeviceSettings("cpu"), scratch=tmp_path, log=lambda _: None
            )
    assert all(np.isfinite(weight.detach().numpy()).all() for weight in classifier.model.parameters())
    assert list(tmp_path.iterdir()) == []


def test_weights_of_one_change_nothing_and_weights_follow_their_rows_past_those_held_back(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples = keyword_pairs(40)
    settings = text_settings.model_copy(update={"epochs": 2, "batch_size": 8})
    weights = np.random.default_rng(0).uniform(0.25, 4, 40).astype(np.float32)
    plain, ones, weighted = (
        trained(settings, examples, tmp_path / "whole", row_weights=each)[0].model.state_dict()
        for each in (None, np.ones(40, np.float32), weights)
    )
    for name in plain:
        torch.testing.assert_close(ones[name], plain[name], rtol=1e-4, atol=1e-5)
    assert any(not torch.allclose(weighted[name], plain[name], atol=1e-3) for name in plain)
    by_row = dict(zip(examples.row_ids.tolist(), weights.tolist(), strict=True))
    rows = training_rows(examples, EarlyStoppingSpec(share=0.25), None, seed=0, weights=weights)
    assert rows.weights is not None
    assert len(rows.train) == 30
    assert rows.weights.tolist() == [by_row[row] for row in rows.train.row_ids.tolist()]


def test_another_weight_is_another_training(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples]
) -> None:
    examples = keyword_pairs(8)
    marks = {
        fingerprint(text_settings, TrainingRows(examples, None, weights), {}, seed=0, device=DeviceSettings("cpu"))
        for weights in (None, np.ones(8, np.float32), np.full(8, 2, np.float32))
    }
    assert len(marks) == 3


def _train(
    settings: TextModelSpec | ImageModelSpec,
    examples: Examples,
    scratch: Path,
    *,
    seed: int = 0,
    device: DeviceSettings | None = None,
    lines: list[str] | None = None,
) -> tuple[NeuralClassifier, TrainingResult]:
    said: list[str] = [] if lines is None else lines
    with isolated_random_state(seed):
        classifier = new_classifier(settings, examples, said.append)
        result = train_classifier(
            classifier,
            examples,
            seed=seed,
            device=device or DeviceSettings("cpu"),
            scratch=scratch,
            log=said.append,
        )
    return classifier, result


def test_global_generators_are_left_alone(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    set_seed(11)
    expected = random.random(), np.random.random(), float(torch.rand(1))
    set_seed(11)
    _train(text_settings.model_copy(update={"epochs": 1}), keyword_pairs(10), tmp_path)
    assert (random.random(), np.random.random(), float(torch.rand(1))) == expected


def test_only_the_epochs_are_left_below_scratch(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    _train(text_settings.model_copy(update={"epochs": 1}), keyword_pairs(10), tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["epochs.json"]


def test_label_smoothing_is_the_same_in_parts(
    without_dropout: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    whole = without_dropout.model_copy(update={"label_smoothing": 0.2})
    _, expected = _train(whole, keyword_pairs(23), tmp_path)
    _, found = _train(whole.model_copy(update={"gradient_accumulation": 5}), keyword_pairs(23), tmp_path)
    _, sharp = _train(without_dropout, keyword_pairs(23), tmp_path)
    probabilities = [one.dynamics["label_probability"].to_numpy() for one in (expected, found, sharp)]
    np.testing.assert_allclose(probabilities[1], probabilities[0], rtol=0, atol=2e-6)
    assert np.abs(probabilities[2] - probabilities[0]).max() > 1e-4


def test_every_epoch_has_an_order_of_its_own(
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    presented: list[int] = []
    record = DynamicsRecorder.record

    def noted(self: DynamicsRecorder, positions: torch.Tensor, *rest: torch.Tensor) -> None:
        presented.extend(positions.tolist())
        record(self, positions, *rest)

    monkeypatch.setattr(DynamicsRecorder, "record", noted)
    settings = text_settings.model_copy(update={"epochs": 3, "length_bucketing": False})
    _train(settings, keyword_pairs(23), tmp_path, seed=5)
    expected = [epoch_order(23, batch_size=10, lengths=None, seed=5, epoch=epoch).tolist() for epoch in range(3)]
    assert [presented[start : start + 23] for start in (0, 23, 46)] == expected


def test_a_diverged_training_stops(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    examples = keyword_pairs(10)
    with isolated_random_state(0):
        classifier = new_classifier(text_settings, examples, lambda _: None)
        torch.nn.init.constant_(classifier.model.classifier.bias, float("nan"))
        with pytest.raises(
            ModelError, match=r"training diverged: the loss of epoch 1 is nan; lower `learning_rate` \(now 0.005\)"
        ):
            train_classifier(
                classifier,
                examples,
                seed=0,
                device=DeviceSettings("cpu"),
                scratch=tmp_path,
                log=lambda _: None,
            )
