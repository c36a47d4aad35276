"""Further training of a trained model in stages. Each stage has a new optimiser and schedule. A killed run resumes in
the stage that was interrupted.

The module `train` trains a single stage. The module `sources.recipes` describes the rows and settings of each stage.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aflite_assets.data.examples import Examples
from aflite_assets.models.classifiers import NeuralClassifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training.checkpoints import CheckpointStore, copied_weights, fingerprint
from aflite_assets.models.training.early_stopping import TrainingRows
from aflite_assets.models.training.epochs import read_epochs, write_epochs
from aflite_assets.models.training.train import train_classifier
from aflite_assets.results.files import write_json
from aflite_assets.specs.models.kinds import NeuralModelSpec

_METRICS = "metrics.json"
_LAST = 0
"""Epoch number under which `CheckpointStore` saves the final weights of a finished stage."""


@dataclass(frozen=True)
class FineTuning:
    """One stage of fine-tuning: train rows with the model's classes, and settings for the model's kind. `name`: the
    name of the row set.
    """

    name: str
    rows: Examples
    settings: NeuralModelSpec


def fine_tune(
    classifier: NeuralClassifier,
    stages: Sequence[FineTuning],
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
) -> tuple[NeuralClassifier, dict[str, float]]:
    """Train the classifier in place, stage by stage. Return the classifier and the metrics of all stages.

    The metrics are the metrics of `train_classifier`, renamed to `stage_1.train_loss` and so on. The random generators
    are seeded with `seed` in every stage. The results are therefore bit-identical if a run resumes from finished stages
    in `scratch`.

    Raises:
        ModelError: a stage diverged or needs too much memory.
        DataError: texts or images cannot be read.
    """
    metrics: dict[str, float] = {}
    by_epoch: dict[str, list[float]] = {}
    folders = [scratch / f"stage_{number}" for number in range(1, len(stages) + 1)]
    for number, (stage, folder) in enumerate(zip(stages, folders, strict=True), 1):
        log(f"stage {number} of {len(stages)}: {len(stage.rows)} rows of {stage.name}")
        classifier = replace(classifier, settings=stage.settings)
        stage_metrics = _stage(classifier, stage, seed, device, folder, log, keep=number < len(stages))
        metrics |= {f"stage_{number}.{name}": value for name, value in stage_metrics.items()}
        by_epoch |= {f"stage_{number}.{name}": values for name, values in read_epochs(folder).items()}
    if stages:
        write_epochs(scratch, by_epoch)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return classifier, metrics


def _stage(
    classifier: NeuralClassifier,
    stage: FineTuning,
    seed: int,
    device: DeviceSettings,
    folder: Path,
    log: Callable[[str], None],
    *,
    keep: bool,
) -> dict[str, float]:
    """Train one stage, or load its final weights if the stage is finished. `keep` is True if the final weights must be
    saved, because another stage follows.
    """
    start = copied_weights(classifier.model)
    mark = fingerprint(stage.settings, TrainingRows(stage.rows, None), start, seed=seed, device=device)
    del start
    ended = CheckpointStore(folder / "ended", mark, log)
    if (ended.folder / f"best-{_LAST}.pt").is_file():
        log(f"stage {stage.name} was finished by an earlier run")
        classifier.model.load_state_dict(ended.best(_LAST))
        metrics: dict[str, float] = json.loads((ended.folder / _METRICS).read_text(encoding="utf-8"))
        return metrics
    with isolated_random_state(seed):
        result = train_classifier(classifier, stage.rows, seed=seed, device=device, scratch=folder, log=log)
    if keep:
        # The weights come last: where they are, all is.
        write_json(ended.folder / _METRICS, dict(result.metrics))
        ended.save_best(_LAST, copied_weights(classifier.model))
    return dict(result.metrics)
