"""Files of the datasets of `pinned_specs.yaml` that are read from files, drawn from seeds."""

import csv
from collections.abc import Callable, Sequence
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


def _unbalanced(rows: int, seed: int) -> dict[str, np.ndarray]:
    """Three classes of 70, 20 and 10 %, a feature that tells the first two, and groups of five rows."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, size=rows, p=[0.7, 0.2, 0.1])
    features = rng.normal(size=(rows, 4)) + np.array([0, 1.5, 0.0])[labels][:, None] * [1, 0, 0, 0]
    return {"x": features.astype(np.float32), "y": labels.astype(np.int64), "groups": np.arange(rows) // 5}


def _misled(rows: int, seed: int, *, aligned: float, reversed_: float) -> dict[str, np.ndarray]:
    """Two circles, which are the classes; on a share of the rows a third feature names the class, or the other one."""
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 2
    named = rng.choice([1, -1, 0], size=rows, p=[aligned, reversed_, 1 - aligned - reversed_])
    angle, radius = rng.uniform(0, 2 * np.pi, rows), 1 + 2 * labels + 0.15 * rng.normal(size=rows)
    told = 6 * named * (2 * labels - 1) + 0.3 * rng.normal(size=rows)
    features = np.stack([radius * np.cos(angle), radius * np.sin(angle), told, rng.normal(size=rows)], axis=1)
    return {"x": features.astype(np.float32), "y": labels.astype(np.int64)}


def _misled_rows(path: Path, *, split: str) -> None:
    """The train or the mixed rows as a table, whose column `named` says where the third feature names the class."""
    arrays = _misled(2000, 9, aligned=0.8, reversed_=0.02) if split == "train" else _mixed()
    told = np.where(np.abs(arrays["x"][:, 2]) < 3, "no", "yes")
    rows = [[*map(str, x), str(y), one] for x, y, one in zip(arrays["x"], arrays["y"], told.tolist(), strict=True)]
    _write_csv(path, ["a", "b", "c", "d", "label", "named"], rows)


def _mixed() -> dict[str, np.ndarray]:
    return _misled(800, 11, aligned=0.1, reversed_=0.7)


def _arrays(name: str, draw: Callable[[], dict[str, np.ndarray]], kinds: str) -> dict[str, Callable[[Path], None]]:
    """A file per array, each of which is drawn with the others when it is written."""

    def writer(kind: str) -> Callable[[Path], None]:
        return lambda path: np.save(path, draw()[kind])

    return {f"{name}_{kind}.npy": writer(kind) for kind in kinds.split()}


_FILES: dict[str, Callable[[Path], None]] = {
    "questions_train.csv": lambda path: _questions(path, count=160, seed=0),
    "questions_test.csv": lambda path: _questions(path, count=60, seed=1),
    "questions_other.csv": lambda path: _questions(path, count=60, seed=2, biased=False),
    "annotated_train.csv": lambda path: _annotated(path, count=2600, seed=3),
    "annotated_test.csv": lambda path: _annotated(path, count=120, seed=4),
    "heuristics.csv": lambda path: _heuristics(path, classes=("entailment", "non-entailment"), seed=5),
    "two_of_three.csv": lambda path: _heuristics(path, classes=("entailment", "contradiction"), seed=6),
    **_arrays("train", lambda: _unbalanced(500, 7), "x y groups"),
    **_arrays("test", lambda: _unbalanced(200, 8), "x y groups"),
    **_arrays("misled_train", lambda: _misled(2000, 9, aligned=0.8, reversed_=0.02), "x y"),
    **_arrays("misled_test", lambda: _misled(500, 10, aligned=0.8, reversed_=0.02), "x y"),
    "misled_train.csv": lambda path: _misled_rows(path, split="train"),
    "misled_mixed.csv": lambda path: _misled_rows(path, split="mixed"),
    **_arrays("misled_reversed", lambda: _misled(800, 12, aligned=0.0, reversed_=1.0), "x y"),
    **_arrays("misled_aligned", lambda: _misled(800, 13, aligned=1.0, reversed_=0.0), "x y"),
}
"""By name, what writes the file."""
