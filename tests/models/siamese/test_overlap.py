"""The model of seven overlaps of words, against the features in plain Python, and on pairs that overlap decides."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.classifiers import new_classifier, saved_classifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.evaluators import evaluate
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.preflight import check_model
from aflite_assets.models.siamese.overlap import FEATURES, WordOverlapNetwork, overlap_features
from aflite_assets.models.words.word_inputs import NO_WORD, UNKNOWN_WORD
from aflite_assets.specs.models.settings import WordOverlapSpec

SETTINGS = WordOverlapSpec(kind="word_overlap", vocabulary=200, vector_width=64, batch_size=10)


def _reference(first: list[int], second: list[int], vectors: np.ndarray) -> list[float]:
    """The features of one pair as Clark et al. 2019 define them, word by word."""
    known = [word for word in second if word > UNKNOWN_WORD]
    found = [word for word in known if word in first]
    windows = [first[start : start + len(second)] for start in range(len(first) - len(second) + 1)]
    scaled = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    others = [scaled[word] for word in first if word > UNKNOWN_WORD]
    highest = sorted(max(float(scaled[word] @ other) for other in others) for word in known) if others else []
    return [
        float(len(known) == len(second) and second in windows),
        float(len(found) == len(second)),
        len(found) / len(second),
        math.log(max(len(first) - len(second), 1)),
        sum(highest) / len(second),
        highest[0] if highest else 0.0,
        highest[1] if len(highest) > 1 else 0.0,
    ]


def _padded(rows: list[list[int]]) -> torch.Tensor:
    longest = max(map(len, rows)) + 2
    return torch.tensor([row + [NO_WORD] * (longest - len(row)) for row in rows])


def test_features_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(9, 5)).astype(np.float32)
    first = [rng.integers(1, 9, rng.integers(1, 9)).tolist() for _ in range(400)]
    second = [rng.integers(1, 9, rng.integers(1, 4)).tolist() for _ in range(200)]
    second += [row[start : start + 3] for row, start in zip(first[200:], rng.integers(0, 2, 200), strict=True)]
    second = [row or [UNKNOWN_WORD] for row in second]
    words, table = (_padded(first), _padded(second)), torch.from_numpy(vectors)
    found = overlap_features(*words, table[words[0]], table[words[1]])
    expected = [_reference(*pair, vectors) for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(found.numpy(), np.array(expected), atol=1e-5)
    whole, every = found[:, 0].bool(), found[:, 1].bool()
    assert 100 < whole.sum() < every.sum() < 400


def test_swapped_words_overlap_without_standing_there() -> None:
    """The pair of section 2.1: the president advised the doctor, the doctor advised the president."""
    first, second = torch.tensor([[2, 3, 4, 2, 5]]), torch.tensor([[2, 5, 4, 2, 3]])
    table = torch.eye(6)
    (row,) = overlap_features(first, second, table[first], table[second]).tolist()
    assert dict(zip(FEATURES, row, strict=True)) == {
        "part of the first text": 0, "all words in the first text": 1, "share of words in the first text": 1,
        "log of the difference in length": 0, "mean similarity": 1, "lowest similarity": 1,
        "second lowest similarity": 1,
    }  # fmt: skip


def _pairs(rows: int, seed: int) -> Examples:
    """Pairs of which every other hypothesis is made of the premise's words."""
    rng = np.random.default_rng(seed)
    premises = [rng.choice(40, 8, replace=False) for _ in range(rows)]
    labels = np.arange(rows) % 2
    hypotheses = [
        rng.choice(premise if label else 40 + premise, 3, replace=False)
        for premise, label in zip(premises, labels, strict=True)
    ]
    texts = [[" ".join(f"word{word}" for word in text) for text in side] for side in (premises, hypotheses)]
    ids = [f"pair {row}" for row in range(rows)]
    columns = {"row_id": np.arange(rows), "source_id": ids, "label": labels, "text": texts[0], "text_pair": texts[1]}
    return Examples(pa.table(columns), ("other", "overlaps"))


def test_it_learns_overlap_and_nothing_else(cpu: DeviceSettings, tmp_path: Path) -> None:
    tests = {"test": _pairs(200, 1)}
    done = evaluate(SETTINGS, _pairs(400, 0), tests, seed=0, device=cpu, scratch=tmp_path, log=lambda line: None)
    assert (done.predictions["test"].predicted == tests["test"].labels).mean() > 0.97
    assert done.dynamics is not None
    assert done.dynamics.num_rows == 5 * 400


def test_a_saved_model_has_seven_numbers_per_class_and_predicts_the_same_bits(tmp_path: Path) -> None:
    rows = _pairs(30, 0)
    with isolated_random_state(0):
        made = new_classifier(SETTINGS, rows, lambda line: None)
    assert isinstance(made.model, WordOverlapNetwork)
    learnt = {name: value.numel() for name, value in made.model.named_parameters() if value.requires_grad}
    assert learnt == {"output.weight": 7 * 2, "output.bias": 2}
    made.save(tmp_path)
    again = saved_classifier(SETTINGS, tmp_path, rows.label_names)
    logits = [one.model.eval()(**one.inputs(rows).batch(range(30))).logits for one in (made, again)]
    assert torch.equal(*logits)


def test_it_needs_two_texts(keyword_pairs: Callable[..., Examples]) -> None:
    rows = keyword_pairs(20)
    check_model(SETTINGS, rows)
    alone = Examples(rows.table.drop_columns(["text_pair"]), rows.label_names)
    with pytest.raises(ModelError, match="a model of kind 'word_overlap' compares two texts"):
        check_model(SETTINGS, alone)
