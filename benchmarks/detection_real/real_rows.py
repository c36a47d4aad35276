"""Real rows that cues are planted into: two datasets for features, texts, pairs and images each.

They come with scikit-learn, or lie in the folder that AFLITE_EXAMPLE_DATA names; nothing is copied or downloaded.
Every dataset is drawn with its real labels, in random order. Each row has at least 200 properties that were not
planted; `DISTRACTORS` random columns are added where the data have fewer by themselves.
"""

import csv
import gzip
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from aflite_assets.errors import MissingDataError
from aflite_assets.scan.rows import ScanRows, TableColumn
from benchmarks.detection_kinds import build_rows

ROWS = 3_000
"""Rows of a draw; fewer of a dataset that has fewer, and of images."""

IMAGES = 1_500
MORE_ROWS = 6_000
"""Most rows of a larger draw, which no dataset of `SMALL` has half of."""

SMALL = ("digits",)
DISTRACTORS = 180
"""Random columns beside images, whose own properties are fewer than 200."""

COLUMNS = 200
"""Columns of the embedding that are read."""


def example_data() -> Path:
    """Return the folder of example data.

    Raises:
        MissingDataError: the variable AFLITE_EXAMPLE_DATA is not set.
    """
    folder = os.environ.get("AFLITE_EXAMPLE_DATA")
    if not folder:
        raise MissingDataError("AFLITE_EXAMPLE_DATA is not set; let it name the folder of example data")
    return Path(folder)


def drawn_rows(source: ScanRows, rng: np.random.Generator, count: int) -> ScanRows:
    """Return at most `count` random rows of the source in random order, numbered in that order."""
    taken = source.taken(rng.permutation(len(source))[:count])
    return replace(taken, order=np.arange(len(taken), dtype=np.float64))


def _rows(labels: Sequence[str], **given: object) -> ScanRows:
    names, codes = np.unique(np.array(labels), return_inverse=True)
    rows = build_rows(codes.astype(np.int64), **given)  # type: ignore[arg-type]
    return replace(rows, label_names=tuple(names.tolist()))


@cache
def digits_table() -> ScanRows:
    """Return scikit-learn's handwritten digits as 64 columns of grey levels; 1,797 rows of ten classes."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    columns = {f"pixel_{place}": TableColumn("column", digits.data[:, place]) for place in range(64)}
    return _rows([str(label) for label in digits.target], columns=columns)


@cache
def sentence_embedding() -> ScanRows:
    """Return the first `COLUMNS` columns of an encoder's features of SNLI; 17,700 rows of three classes."""
    folder = example_data() / "features"
    features = np.load(folder / "snli_minilm_features.npy", mmap_mode="r", allow_pickle=False)[:, :COLUMNS]
    labels = np.load(folder / "snli_minilm_labels.npy", allow_pickle=False)
    groups = np.load(folder / "snli_minilm_groups.npy", allow_pickle=False)
    columns = {f"f{place}": TableColumn("column", features[:, place].astype(np.float64)) for place in range(COLUMNS)}
    return _rows([str(label) for label in labels], columns=columns, groups=groups.astype(np.int64))


def _read_pairs(name: str) -> list[dict[str, str]]:
    with (example_data() / name / "validation.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def mnli_hypotheses() -> ScanRows:
    """Return the hypotheses of MultiNLI's development rows as single texts; 19,647 rows of three classes."""
    rows = _read_pairs("multi_nli")
    return _rows([row["label"] for row in rows], texts={"text": [row["hypothesis"] for row in rows]})


@cache
def assistant_replies() -> ScanRows:
    """Return the last replies of the preference pairs, chosen or rejected; 4,624 rows, grouped by pair."""
    texts, labels, groups = [], [], []
    with gzip.open(example_data() / "preferences" / "harmless_base_test.jsonl.gz", "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            pair = json.loads(line)
            for label in ("chosen", "rejected"):
                texts.append(pair[label].rpartition("\n\nAssistant:")[2].strip())
                labels.append(label)
                groups.append(number)
    return _rows(labels, texts={"text": texts}, groups=np.array(groups, dtype=np.int64))


def _pairs(name: str) -> ScanRows:
    rows = _read_pairs(name)
    texts = {"text": [row["premise"] for row in rows], "text_pair": [row["hypothesis"] for row in rows]}
    _, groups = np.unique(np.array(texts["text"], dtype=object), return_inverse=True)
    return _rows([row["label"] for row in rows], texts=texts, groups=groups.astype(np.int64))


@cache
def mnli_pairs() -> ScanRows:
    """Return MultiNLI's development rows as pairs, grouped by premise; 19,647 rows of three classes."""
    return _pairs("multi_nli")


@cache
def qnli_pairs() -> ScanRows:
    """Return QNLI's development rows as pairs, grouped by question; 5,732 rows of two classes."""
    return _pairs("qnli")


@cache
def cifar_pixels() -> tuple[np.ndarray, tuple[str, ...]]:
    """Return CIFAR-10 pictures, uint8 of shape (4000, 32, 32, 3), and the class of each."""
    from PIL import Image

    paths = sorted((example_data() / "cifar10" / "train").glob("*/*.jpg"))
    return np.stack([np.asarray(Image.open(path).convert("RGB")) for path in paths]), tuple(
        path.parent.name for path in paths
    )


@cache
def digit_pixels() -> tuple[np.ndarray, tuple[str, ...]]:
    """Return scikit-learn's digits as pictures of 32 x 32, uint8 of shape (1797, 32, 32, 3), and the class of each."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    grey = (digits.images * 15).astype(np.uint8).repeat(4, axis=1).repeat(4, axis=2)
    return np.repeat(grey[..., None], 3, axis=3), tuple(str(label) for label in digits.target)


def random_columns(rng: np.random.Generator, rows: int) -> dict[str, TableColumn]:
    """Return `DISTRACTORS` attributes without any tie to the label: numbers of three shapes, and names."""
    columns = {}
    for place in range(DISTRACTORS):
        values = (
            rng.normal(size=rows),
            rng.standard_cauchy(rows),
            rng.integers(0, 8, rows).astype(np.float64),
            [f"site {code}" for code in rng.integers(0, 6, rows)],
        )[place % 4]
        columns[f"extra_{place}"] = TableColumn("attribute", values)
    return columns


Source = Callable[[], ScanRows]
Pixels = Callable[[], tuple[np.ndarray, tuple[str, ...]]]

TABLES: Mapping[str, Source] = {"digits": digits_table, "SNLI embedding": sentence_embedding}
TEXTS: Mapping[str, Source] = {"MultiNLI hypotheses": mnli_hypotheses, "assistant replies": assistant_replies}
PAIRS: Mapping[str, Source] = {"MultiNLI": mnli_pairs, "QNLI": qnli_pairs}
PICTURES: Mapping[str, Pixels] = {"CIFAR-10": cifar_pixels, "digits": digit_pixels}
