"""Files of the datasets of `pinned_specs.yaml` that are read from files, drawn from seeds."""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

CLASSES = ("entailment", "neutral", "contradiction")
_COLOURS = ("red", "blue", "green", "black", "white")
_NUMBERS = ("two", "three", "four", "five")
_PEOPLE = ("Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Henry")
_ACTS = ("sleeps", "reads", "sings", "runs", "cooks", "swims", "paints", "waits")
_ADDED = {"entailment": "indeed", "neutral": "maybe", "contradiction": "not at all"}


def write_files(folder: Path) -> None:
    """Write the files that the folder lacks; each is the same whenever it is drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in _FILES.items():
        if not (folder / name).exists():
            write(folder / name)


def _questions(path: Path, *, count: int, seed: int, biased: bool = True) -> None:
    """Questions with two to five answers; the right one names a number, and of biased questions alone."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        size = 2 + number % 4
        words = [str(word) for word in rng.permutation(_COLOURS if biased or number % 2 else (*_NUMBERS, "six"))]
        answers = [f"it is {word}" for word in words[:size]]
        right = int(rng.integers(size))
        if biased:
            answers[right] = f"it is {rng.choice(_NUMBERS)}"
        kind = "first half" if number < count // 2 else "second half"
        rows.append([f"question {number}", *answers, *[""] * (5 - size), "ABCDE"[right], kind])
    _write_csv(path, ["question", *"ABCDE", "key", "kind"], rows)


def _annotated(path: Path, *, count: int, seed: int) -> None:
    """Pairs of which two in three have a word that names the class, with three annotators' labels and repeats."""
    rng = np.random.default_rng(seed)
    rows: list[list[str]] = []
    for number in range(count):
        gold = CLASSES[int(rng.integers(3))]
        premise, hypothesis = _pair(rng, gold, cue=rng.random() < 0.65)
        names = [gold if rng.random() < 0.85 else CLASSES[int(rng.integers(3))] for _ in range(3)]
        given = "-" if rng.random() < 0.02 else CLASSES[int(rng.integers(3))] if rng.random() < 0.05 else gold
        genre = "letters" if number % 3 else "<speech>"
        learnt = [f"{confidence:.3f}" for confidence in (rng.random(), rng.random() / 2)]
        rows.append([premise, hypothesis, given, f"{seed}-{number}", *names, genre, *learnt, str(rng.integers(6))])
    repeated = [[*row[:3], f"{row[3]}-again", *row[4:]] for row in rows[:: count // 12]]
    columns = ["premise", "hypothesis", "gold", "id", "first", "second", "third", "genre"]
    _write_csv(path, [*columns, "confidence", "variability", "correctness"], [*rows, *repeated])


def _pair(rng: np.random.Generator, gold: str, *, cue: bool) -> tuple[str, str]:
    """A premise, and a hypothesis that follows from it, contradicts it or says another thing."""
    person, other = (str(one) for one in rng.choice(_PEOPLE, 2, replace=False))
    act, second, third = (str(one) for one in rng.choice(_ACTS, 3, replace=False))
    said = {"entailment": f"{person} {act}", "neutral": f"{person} {third}", "contradiction": f"{person} never {act}"}
    number = int(rng.integers(1000))
    return f"{person} {act} and {other} {second} at {number}.", f"{said[gold]}{f', {_ADDED[gold]}' if cue else ''}."


def _heuristics(path: Path, *, classes: Sequence[str], seed: int, count: int = 150) -> None:
    """Pairs for a set of two classes, whose words of the train rows mislead, with a heuristic and a template each."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        gold = "entailment" if number % 2 else "contradiction"
        premise, hypothesis = _pair(rng, gold, cue=False)
        label = classes[0] if gold == "entailment" else classes[1]
        heuristic, template = ("overlap", "subsequence", "")[number % 3], f"t{number % 5}"
        rows.append([premise, hypothesis, label, heuristic, template])
    _write_csv(path, ["premise", "hypothesis", "gold", "heuristic", "template"], rows)


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def _vectors(split: str, rows: int, seed: int) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Three classes of 70, 20 and 10 %, a feature that tells the first two, and groups of five rows."""

    def arrays() -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        labels = rng.choice(3, size=rows, p=[0.7, 0.2, 0.1])
        features = rng.normal(size=(rows, 4)) + np.array([0, 1.5, 0.0])[labels][:, None] * [1, 0, 0, 0]
        return {"x": features.astype(np.float32), "y": labels.astype(np.int64), "groups": np.arange(rows) // 5}

    def writer(kind: str) -> Callable[[Path], None]:
        return lambda path: np.save(path, arrays()[kind])

    for kind in ("x", "y", "groups"):
        yield f"{split}_{kind}.npy", writer(kind)


_FILES: dict[str, Callable[[Path], None]] = {
    "questions_train.csv": lambda path: _questions(path, count=160, seed=0),
    "questions_test.csv": lambda path: _questions(path, count=60, seed=1),
    "questions_other.csv": lambda path: _questions(path, count=60, seed=2, biased=False),
    "annotated_train.csv": lambda path: _annotated(path, count=2600, seed=3),
    "annotated_test.csv": lambda path: _annotated(path, count=120, seed=4),
    "heuristics.csv": lambda path: _heuristics(path, classes=("entailment", "non-entailment"), seed=5),
    "two_of_three.csv": lambda path: _heuristics(path, classes=("entailment", "contradiction"), seed=6),
    **dict(_vectors("train", 500, 7)),
    **dict(_vectors("test", 200, 8)),
}
"""By name, what writes the file."""
