"""Measure what wrong labels and the second rate do to a second phase on forgettable rows.

    python -m benchmarks.forgotten_labels

Grid: the bundled `template_nli` (6,000 train rows, a cue on 60 %) with no label and with 4 % of the train labels
changed to another class at random. A bag of words (5 epochs, batch 256) says which rows are forgettable; all are taken.
The dataset's small transformer is trained for 8 epochs on all rows, and for 8 more on these, on those of them whose
label was not changed, and on as many random ones, at the first phase's rate and at a fifth of it; seeds 0, 1 and 2.
Test labels are right. Printed: what is forgotten, accuracies, and each set against random rows at the same rate, in
points with the 95 % interval. About five minutes of one core.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.intervals import CrossedInterval, crossed_interval
from aflite_assets.data.examples import Examples
from aflite_assets.data.synthetic.template_nli import LABELS, template_nli
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.evaluators import evaluate, evaluate_saved, train_and_save
from aflite_assets.models.training.fine_tuning import FineTuning
from aflite_assets.models.training.forgetting import epochs_by_rows, forgetting
from aflite_assets.models.training.predictions import no_log
from aflite_assets.paths import configure_libraries
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.settings import SiameseBagSpec, SmallTransformerSpec
from aflite_assets.specs.registry import load_registry
from aflite_assets.specs.sources import TemplateNliSource

SHARES = (0.0, 0.04)
RATES = (1.0, 0.2)
"""Rates of the second phase, as parts of the first's."""
SEEDS = (0, 1, 2)
EPOCHS = 8
WEAK = SiameseBagSpec(kind="siamese_bag", epochs=5, batch_size=256)
CPU = DeviceSettings("cpu")


@dataclass(frozen=True)
class Made:
    """The train rows, which of their labels were changed and which have a cue, bool, and the test sets."""

    train: Examples
    changed: np.ndarray
    cued: np.ndarray
    tests: Mapping[str, Examples]


def made(spec: DatasetSpec, share: float) -> Made:
    """Return the dataset with a share of its train labels changed."""
    assert isinstance(spec.source, TemplateNliSource)
    splits = template_nli(spec.source)
    tests = {"test": _examples(splits["test"])}
    for name, challenge in spec.challenge_sets.items():
        assert isinstance(challenge.source, TemplateNliSource)
        tests[name] = _examples(template_nli(challenge.source)["test"])
    train, rng = _examples(splits["train"]), np.random.default_rng(0)
    changed = rng.random(len(train)) < share
    labels = np.where(changed, (train.labels + rng.integers(1, len(LABELS), len(train))) % len(LABELS), train.labels)
    place = train.table.column_names.index("label")
    given = Examples(train.table.set_column(place, "label", pa.array(labels)), LABELS)
    return Made(given, changed, np.array(splits["train"]["cue"].to_pylist()) != "none", tests)


def _examples(rows: pa.Table) -> Examples:
    labels = [LABELS.index(label) for label in rows["label"].to_pylist()]
    numbers = pa.array(np.arange(rows.num_rows))
    columns = {"row_id": numbers, "source_id": rows["id"], "label": pa.array(labels)}
    return Examples(pa.table({**columns, "text": rows["text"], "text_pair": rows["text_pair"]}), LABELS)


def forgotten(data: Made, scratch: Path) -> np.ndarray:
    """Which rows the bag of words forgets or never learns, bool; prints what they are."""
    answers = evaluate(WEAK, data.train, data.tests, seed=0, device=CPU, scratch=scratch, log=no_log)
    assert answers.dynamics is not None
    counted = forgetting(epochs_by_rows(answers.dynamics["correct"], WEAK.epochs))
    for name, rows in (("forgettable", counted.forgettable), ("never learnt", counted.never_learnt)):
        cued = rows & data.cued
        print(f"{name}: {rows.sum():,} of {len(rows):,} rows, {_share(data.cued[rows])} with a cue ", end="")
        print(f"({_share(data.changed[cued])} of them with a changed label), ", end="")
        print(f"{_share(data.changed[rows])} with a changed label; ", end="")
        print(f"of the changed labels {_share(rows[data.changed])}, of the others {_share(rows[~data.changed])}")
    tests = {name: _share(answers.predictions[name].predicted == test.labels) for name, test in data.tests.items()}
    print(f"the bag of words gets {tests}")
    return counted.forgettable


def _share(rows: np.ndarray) -> str:
    return f"{100 * rows.mean():.1f} %" if len(rows) else "none"


def second_phases(
    model: SmallTransformerSpec, data: Made, sets: Mapping[str, np.ndarray], seed: int, folder: Path
) -> dict[tuple[str, float], dict[str, np.ndarray]]:
    """By set and part of the rate, and ("none", 0): which rows of every test set are right, bool."""
    train_and_save(model, data.train, folder / "start", seed=seed, device=CPU, scratch=folder / "scratch", log=no_log)
    phases: dict[tuple[str, float], list[FineTuning]] = {("none", 0.0): []}
    for name, rows in sets.items():
        for part in RATES:
            settings = model.model_copy(update={"learning_rate": part * model.learning_rate})
            phases[name, part] = [FineTuning(name, data.train.select(np.flatnonzero(rows)), settings)]
    right = {}
    for phase, stages in phases.items():
        answers = evaluate_saved(
            model, folder / "start", stages, data.tests,
            label_names=LABELS, seed=seed, device=CPU, scratch=folder / "scratch", log=no_log,
        )  # fmt: skip
        right[phase] = {name: answers.predictions[name].predicted == one.labels for name, one in data.tests.items()}
    return right


def trained(model: SmallTransformerSpec, data: Made, forgettable: np.ndarray) -> None:
    """Print accuracies after every second phase, and differences to random rows at the same rate."""
    runs = []
    for seed in SEEDS:
        random = np.zeros(len(forgettable), dtype=bool)
        random[np.random.default_rng(seed).choice(len(random), int(forgettable.sum()), replace=False)] = True
        sets = {"random": random, "forgettable": forgettable}
        if data.changed.any():
            sets["forgettable, right label"] = forgettable & ~data.changed
        with tempfile.TemporaryDirectory() as folder:
            runs.append(second_phases(model, data, sets, seed, Path(folder)))
    for phase in runs[0]:
        name, part = phase
        cells = []
        for test in data.tests:
            right = [run[phase][test] for run in runs]
            cell = f"{test} {100 * np.mean(right):.1f}"
            if name.startswith("forgettable"):
                cell += f" ({_text(crossed_interval(right, [run['random', part][test] for run in runs]))})"
            cells.append(cell)
        print(f"{name}, {part:g} of the rate: {'; '.join(cells)}")


def _text(difference: CrossedInterval) -> str:
    return f"{difference.difference:+.1f} [{difference.low:.1f}, {difference.high:.1f}]"


def main() -> None:
    """Print a block for every share of changed labels."""
    configure_libraries()
    spec = load_registry()["template_nli"]
    encoder = spec.representations["small_transformer"]
    assert isinstance(encoder, SmallTransformerSpec)
    model = encoder.model_copy(update={"epochs": EPOCHS})
    for share in SHARES:
        print(f"\n{100 * share:g} % of the train labels changed, first phase at {model.learning_rate:g}")
        data = made(spec, share)
        with tempfile.TemporaryDirectory() as folder:
            forgettable = forgotten(data, Path(folder))
        trained(model, data, forgettable)


if __name__ == "__main__":
    main()
