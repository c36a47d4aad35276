"""The planted sets of `benchmarks.rows`, as features for a linear model: bundled texts and images, and 95/5."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer

from aflite_assets.data.synthetic.circles import circles
from aflite_assets.data.synthetic.digits import digits
from aflite_assets.data.synthetic.template_nli import LABELS, template_nli
from aflite_assets.specs.registry import BUNDLED
from aflite_assets.specs.sources import CirclesSource, DigitsSource, TemplateNliSource

Test = tuple[np.ndarray, np.ndarray]
"""Features and labels of test rows."""


@dataclass(frozen=True)
class PlantedRows:
    """Rows x width float32 features, int64 labels, and per row (bool) whether it carries the cue or a wrong label.

    `clean`: rows without a cue; `turned`: rows whose cue names another class.
    """

    features: np.ndarray
    labels: np.ndarray
    carries: np.ndarray
    wrong: np.ndarray
    clean: Test
    turned: Test


def _source(name: str, seed: int) -> dict[str, Any]:
    import yaml

    content = yaml.safe_load((BUNDLED / f"{name}.yaml").read_text(encoding="utf-8"))["source"]
    return {**content, "seed": seed}


def circle_rows(seed: int) -> PlantedRows:
    """1,000 rows of the bundled circles_1; turned rows have the bias of the other circle."""
    given = _source("circles_1", seed) | {"splits": {"train": 1000}}
    table = circles(CirclesSource(**given))["train"]
    plain = {"flipped_share": 0.0, "splits": {"test": 1000}, "seed": seed + 1000}
    clean = circles(CirclesSource(**(given | plain | {"biased_share": 0.0})))["test"]
    biased = circles(CirclesSource(**(given | plain | {"biased_share": 1.0, "seed": seed + 2000})))["test"]
    turned, labels = _numbers(biased), biased["label"].to_numpy()
    turned[:, 2:] *= -1
    return PlantedRows(
        _numbers(table),
        table["label"].to_numpy(),
        _is(table, "biased", "yes"),
        _is(table, "flipped", "yes"),
        (_numbers(clean), clean["label"].to_numpy()),
        (turned, labels),
    )


def _numbers(table: pa.Table) -> np.ndarray:
    return np.array(table["features"].to_pylist(), dtype=np.float32)


def _is(table: pa.Table, column: str, value: str) -> np.ndarray:
    return np.array([one == value for one in table[column].to_pylist()])


def digit_rows(seed: int) -> PlantedRows:
    """Return the 1,258 train images of marked_digits as pixels in [0, 1]; no label is wrong, but some marks are."""
    given = _source("marked_digits", seed)
    train = digits(DigitsSource(**given))["train"]
    tests = [
        digits(DigitsSource(**(given | {"marks": marks})))["test"]
        for marks in ({"share": 0.0}, {"share": 1.0, "wrong_share": 1.0})
    ]
    labels = train["label"].to_numpy()
    clean, turned = ((_pixels(test), test["label"].to_numpy()) for test in tests)
    return PlantedRows(_pixels(train), labels, _is(train, "mark", "right"), np.zeros(len(labels), bool), clean, turned)


def _pixels(table: pa.Table) -> np.ndarray:
    images = [np.asarray(Image.open(io.BytesIO(one["bytes"]))) for one in table["image"].to_pylist()]
    return np.stack(images).reshape(len(images), -1).astype(np.float32) / 255


def pair_rows(seed: int) -> PlantedRows:
    """1,200 pairs of template_nli as 50 components of counted words and word pairs of both texts and their overlap."""
    given = _source("template_nli", seed) | {"splits": {"train": 1200}}
    test = {"splits": {"test": 900}}
    train = template_nli(TemplateNliSource(**given))["train"]
    clean = template_nli(TemplateNliSource(**(given | test | {"planted_share": 0.0, "seed": seed + 1000})))["test"]
    changes = test | {"planted_share": 1.0, "cues": "reversed", "seed": seed + 2000}
    turned = template_nli(TemplateNliSource(**(given | changes)))["test"]
    encode = _encoder(train, seed)
    carries = ~_is(train, "cue", "none")
    return PlantedRows(
        encode(train), _codes(train), carries, np.zeros(len(carries), bool),
        (encode(clean), _codes(clean)), (encode(turned), _codes(turned)),
    )  # fmt: skip


def _codes(table: pa.Table) -> np.ndarray:
    return np.array([LABELS.index(one) if isinstance(one, str) else one for one in table["label"].to_pylist()])


def _encoder(train: pa.Table, seed: int) -> Callable[[pa.Table], np.ndarray]:
    first, second = (name for name in train.column_names if name in ("premise", "hypothesis", "text", "text_pair"))
    vectors = CountVectorizer(ngram_range=(1, 2), min_df=3).fit(train[second].to_pylist())
    counts = vectors.transform(train[second].to_pylist())
    parts = TruncatedSVD(49, random_state=seed).fit(counts)

    def encode(table: pa.Table) -> np.ndarray:
        pairs = zip(table[first].to_pylist(), table[second].to_pylist(), strict=True)
        shared = [len(set(a.split()) & set(b.split())) / len(set(b.split())) for a, b in pairs]
        whole = parts.transform(vectors.transform(table[second].to_pylist()))
        return np.column_stack([whole, shared]).astype(np.float32)

    return encode


def rare_rows(seed: int) -> PlantedRows:
    """1,500 rows, 5 % of the rarer class, 5 % wrong labels; 60 % carry a cue, which follows the label as given."""
    rng = np.random.default_rng([seed, 95])
    truth = (rng.random(1500) < 0.05).astype(np.int64)
    wrong = rng.random(1500) < 0.05
    labels = np.where(wrong, 1 - truth, truth)
    carries = rng.random(1500) < 0.6
    tests = []
    for share in (0.0, 1.0):
        own = np.resize([0, 1], 1000)
        tests.append((_rare(rng, own, 1 - own, rng.random(1000) < share), own))
    return PlantedRows(_rare(rng, truth, labels, carries), labels, carries, wrong, tests[0], tests[1])


def _rare(rng: np.random.Generator, truth: np.ndarray, named: np.ndarray, carries: np.ndarray) -> np.ndarray:
    features = rng.normal(size=(len(truth), 10))
    features[:, :4] += 0.8 * (2 * truth - 1)[:, None]
    features[:, 4] = np.where(carries, 3.0 * (2 * named - 1) + rng.normal(0, 0.3, len(truth)), features[:, 4] * 0.3)
    return features.astype(np.float32)


SETS: Mapping[str, Callable[[int], PlantedRows]] = {
    "circles": circle_rows,
    "marked_digits": digit_rows,
    "template_nli": pair_rows,
    "95/5": rare_rows,
}
