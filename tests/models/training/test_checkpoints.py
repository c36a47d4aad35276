import random
import re
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import NeuralClassifier, new_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training import train as training
from aflite_assets.models.training.checkpoints import (
    CheckpointStore,
    TrainingState,
    copied_weights,
    fingerprint,
    generator_states,
    restore_generators,
)
from aflite_assets.models.training.dynamics import EpochDynamics
from aflite_assets.models.training.early_stopping import EarlyStopping, TrainingRows
from aflite_assets.models.training.train import FOLDER, TrainingResult, train_classifier
from aflite_assets.specs.models.settings import EarlyStoppingSpec, ImageModelSpec, TextModelSpec
from tests.models.made import CPU, Killed, trained


def _check_the_same(one: tuple[NeuralClassifier, TrainingResult], two: tuple[NeuralClassifier, TrainingResult]) -> None:
    for name, weight in one[0].model.state_dict().items():
        assert torch.equal(weight, two[0].model.state_dict()[name]), name
    assert one[1].dynamics.equals(two[1].dynamics)
    untimed = [{k: v for k, v in result.metrics.items() if k != "seconds"} for _, result in (one, two)]
    assert untimed[0] == untimed[1]


@pytest.mark.parametrize(("stopping", "parts"), [(None, 1), (EarlyStoppingSpec(share=0.2, patience=9), 2)])
def test_a_killed_training_goes_on_with_the_same_bits(
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    tmp_path: Path,
    stopping: EarlyStoppingSpec | None,
    parts: int,
) -> None:
    settings = text_settings.model_copy(
        update={"epochs": 4, "early_stopping": stopping, "gradient_accumulation": parts}
    )
    examples = keyword_pairs(33)
    whole = trained(settings, examples, tmp_path / "whole")
    for epoch in (2, 3):
        with pytest.raises(Killed):
            trained(settings, examples, tmp_path / "killed", killed_in=epoch)
    lines: list[str] = []
    resumed = trained(settings, examples, tmp_path / "killed", lines=lines)
    assert [line.split(":")[0] for line in lines] == ["epoch 3 of 4", "epoch 4 of 4"]
    _check_the_same(whole, resumed)
    assert [path.name for path in (tmp_path / "killed").iterdir()] == ["epochs.json"]


def test_augmented_images_go_on_with_the_same_bits(
    image_settings: ImageModelSpec, png_images: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = image_settings.model_copy(update={"epochs": 3})
    examples = png_images(20)
    whole = trained(settings, examples, tmp_path / "whole")
    with pytest.raises(Killed):
        trained(settings, examples, tmp_path / "killed", killed_in=2)
    _check_the_same(whole, trained(settings, examples, tmp_path / "killed"))


def test_the_best_epoch_may_lie_before_the_kill(
    text_settings: TextModelSpec,
    keyword_pairs: Callable[..., Examples],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scripted(*_: object) -> EarlyStopping:
        stopping = EarlyStopping(4, 2, lambda: [0.5, 1.0, 0.5, 0.5][len(stopping.accuracies)])
        return stopping

    monkeypatch.setattr(training, "_early_stopping", scripted)
    early = EarlyStoppingSpec(share=0.1, patience=4)
    settings = text_settings.model_copy(update={"early_stopping": early, "epochs": 4})
    examples = keyword_pairs(20)
    whole = trained(settings, examples, tmp_path / "whole")
    with pytest.raises(Killed):
        trained(settings, examples, tmp_path / "killed", killed_in=4)
    assert [path.name for path in (tmp_path / "killed").rglob("best-*")] == ["best-2.pt"]
    resumed = trained(settings, examples, tmp_path / "killed")
    assert resumed[1].metrics["best_epoch"] == 2
    _check_the_same(whole, resumed)


@pytest.mark.parametrize("change", ["settings", "seed", "rows"])
def test_what_another_training_left_is_ignored(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path, change: str
) -> None:
    settings, examples, seed = text_settings.model_copy(update={"epochs": 2}), keyword_pairs(20), 0
    with pytest.raises(Killed):
        trained(settings, examples, tmp_path / "killed", killed_in=2)
    assert (tmp_path / "killed" / FOLDER / "state.pt").is_file()
    if change == "settings":
        settings = settings.model_copy(update={"weight_decay": 0.02})
    elif change == "seed":
        seed = 1
    else:
        examples = examples.select(examples.row_ids[:-1])
    lines: list[str] = []
    found = trained(settings, examples, tmp_path / "killed", lines=lines, seed=seed)
    assert lines[0].startswith("epoch 1 of 2")
    _check_the_same(found, trained(settings, examples, tmp_path / "new", seed=seed))


def test_a_file_that_cannot_be_read_is_said_and_left_out(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings, examples = text_settings.model_copy(update={"epochs": 2}), keyword_pairs(20)
    with pytest.raises(Killed):
        trained(settings, examples, tmp_path, killed_in=2)
    path = tmp_path / FOLDER / "state.pt"
    path.write_bytes(path.read_bytes()[:1000])
    lines: list[str] = []
    trained(settings, examples, tmp_path, lines=lines)
    assert lines[0].startswith(f"the training starts from the beginning, because {path} cannot be read")
    assert lines[1].startswith("epoch 1 of 2")


class _Evil:
    """Raises when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("unpickled",))


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:300])


DAMAGE: dict[str, Callable[[Path], object]] = {
    "evil": lambda path: torch.save({"epochs": _Evil()}, path),
    "old and evil": lambda path: torch.save({"epochs": _Evil()}, path, _use_new_zipfile_serialization=False),
    "code": lambda path: path.write_bytes(b"\x80\x02cos\nsystem\n."),
    "empty": lambda path: path.write_bytes(b""),
    "junk": lambda path: path.write_bytes(b"junk"),
    "torn": _torn,
    "list": lambda path: torch.save([1], path),
}


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_checkpoint_that_is_no_state_is_never_unpickled(tmp_path: Path, damage: str) -> None:
    lines: list[str] = []
    store = CheckpointStore(tmp_path / "training", "1", lines.append)
    path = store.folder / "state.pt"
    torch.save({"epochs": []}, path)
    DAMAGE[damage](path)
    assert store.load() is None
    assert len(lines) == 1
    assert lines[0].startswith(f"the training starts from the beginning, because {path} cannot be read (")
    assert lines[0].endswith(")")
    assert "weights_only" not in lines[0]
    if "evil" in damage:
        assert "state.pt is damaged or contains objects that are not tensors" in lines[0]

    path = store.folder / "best-3.pt"
    torch.save({"epochs": []}, path)
    DAMAGE[damage](path)
    said = re.escape(f"{path} cannot be read (") + ".*; delete the folder .*training to start the training from the "
    "beginning$"
    with pytest.raises(ModelError, match=re.compile(said, re.DOTALL)) as refused:
        store.best(3)
    assert "will likely succeed" not in "".join(traceback.format_exception(refused.value))
    with pytest.raises(ModelError, match=r"best-4\.pt cannot be read \(.*No such file"):
        store.best(4)


def test_one_epoch_keeps_no_state(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"epochs": 1})
    with pytest.raises(Killed):
        trained(settings, keyword_pairs(10), tmp_path, killed_in=1)
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["fingerprint.json"]


def test_a_diverged_training_leaves_nothing(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples], tmp_path: Path
) -> None:
    settings = text_settings.model_copy(update={"learning_rate": 9.9, "epochs": 9, "batch_size": 1})
    examples = keyword_pairs(20)
    with isolated_random_state(0):
        classifier = new_classifier(settings, examples, lambda _: None)
        seen: list[str] = []

        def log(line: str) -> None:
            seen.append(line)
            torch.nn.init.constant_(classifier.model.classifier.bias, float("nan"))

        with pytest.raises(ModelError, match=r"training diverged: the loss of epoch 2 is nan"):
            train_classifier(classifier, examples, seed=0, device=CPU, scratch=tmp_path, log=log)
    assert len(seen) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    files = CheckpointStore(tmp_path / "here", "mark", lambda _: None)
    assert files.load() is None
    epoch = EpochDynamics(torch.tensor([-0.5, -1.0]), torch.tensor([True, False]))
    state = TrainingState(
        [epoch], [0.25], 2, {"w": torch.ones(2)}, {"state": {0: {"step": torch.tensor(3.0)}}}, {"last": 3}, {}
    )
    for number in (1, 2):
        files.save_best(number, {"w": torch.full((2,), float(number))})
    files.save(state, best_epoch=2)
    assert sorted(path.name for path in files.folder.iterdir()) == ["best-2.pt", "fingerprint.json", "state.pt"]
    found = CheckpointStore(tmp_path / "here", "mark", lambda _: None).load()
    assert found is not None
    assert torch.equal(found.epochs[0].log_probability, epoch.log_probability)
    assert (found.accuracies, found.parts, found.scheduler) == ([0.25], 2, {"last": 3})
    assert files.best(2)["w"].tolist() == [2, 2]
    other = CheckpointStore(tmp_path / "here", "another mark", lambda _: None)
    assert other.load() is None
    assert [path.name for path in other.folder.iterdir()] == ["fingerprint.json"]


def test_generators_come_back_as_they_were(tmp_path: Path) -> None:
    def draw() -> tuple[float, float, float, float]:
        return random.random(), np.random.standard_normal(), float(torch.rand(1)), random.gauss()

    with isolated_random_state(3):
        # One normal of a pair: the generators have more to remember than their words.
        draw()
        torch.save(generator_states(), tmp_path / "states.pt")
        expected = draw()
        restore_generators(torch.load(tmp_path / "states.pt", weights_only=True))
        assert draw() == expected


def test_fingerprints_differ_with_all_that_numbers_depend_on(
    text_settings: TextModelSpec, keyword_pairs: Callable[..., Examples]
) -> None:
    rows, weights = TrainingRows(keyword_pairs(4), None), {"w": torch.ones(2)}

    def mark(**changed: object) -> str:
        given = {"settings": text_settings, "rows": rows, "weights": weights, "seed": 0, "device": CPU, **changed}
        positional = [given.pop(name) for name in ("settings", "rows", "weights")]
        return fingerprint(*positional, **given)  # type: ignore[arg-type]

    others = [
        mark(settings=text_settings.model_copy(update={"epochs": 7})),
        mark(rows=TrainingRows(keyword_pairs(5), None)),
        mark(rows=TrainingRows(keyword_pairs(4), keyword_pairs(2))),
        mark(weights={"w": torch.zeros(2)}),
        mark(seed=1),
        mark(device=DeviceSettings("cpu", "bfloat16")),
    ]
    assert mark() == mark()
    assert len({mark(), *others}) == 7


def test_copied_weights_do_not_change_with_the_model() -> None:
    model = torch.nn.Linear(2, 1)
    before = copied_weights(model)
    torch.nn.init.constant_(model.weight, 7.0)
    assert not torch.equal(before["weight"], model.weight)
