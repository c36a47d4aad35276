"""Classifiers that tests make and train on the CPU."""

from pathlib import Path
from typing import Any

import torch

from aflite_assets.data.examples import Examples
from aflite_assets.models.classifiers import NeuralClassifier, new_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training.train import TrainingResult, train_classifier

CPU = DeviceSettings("cpu")


class Killed(Exception):
    """What stands for the end of a process."""


def ignore(_: str) -> None:
    """A log that nobody reads."""


def made(settings: Any, train: Examples, *, seed: int = 0, lines: list[str] | None = None) -> NeuralClassifier:
    with isolated_random_state(seed):
        return new_classifier(settings, train, ignore if lines is None else lines.append)


@torch.no_grad()
def logits(classifier: NeuralClassifier, examples: Examples) -> torch.Tensor:
    batch = classifier.inputs(examples).batch(range(len(examples)))
    return classifier.model.eval()(**batch).logits


def trained(
    settings: Any,
    examples: Examples,
    scratch: Path,
    *,
    seed: int = 0,
    device: DeviceSettings = CPU,
    lines: list[str] | None = None,
    killed_in: int | None = None,
    **options: Any,
) -> tuple[NeuralClassifier, TrainingResult]:
    """Train a new classifier; `killed_in` is the epoch in which the process ends."""

    def log(line: str) -> None:
        if lines is not None:
            lines.append(line)
        if killed_in is not None and line.startswith(f"epoch {killed_in} "):
            raise Killed(line)

    with isolated_random_state(seed):
        classifier = new_classifier(settings, examples, log)
        given = {"seed": seed, "device": device, "scratch": scratch, "log": log, **options}
        return classifier, train_classifier(classifier, examples, **given)
