"""The bundled datasets that need no network; those of the hub are tried in `hub/test_bundled_specs`."""

from typing import Any

import numpy as np
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.loading import content_fingerprint, load_source
from aflite_assets.data.raw_table.table import build_raw_table, implied_columns
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.settings import ImageModelSpec
from aflite_assets.specs.registry import BUNDLED, load_spec
from aflite_assets.specs.sources import hub_of
from aflite_assets.stages.shared.sizes import filter_settings, in_pool, warmup_rows

SPECS = {path.stem: load_spec(path) for path in sorted(BUNDLED.glob("*.yaml"))}
OFFLINE = [name for name, spec in SPECS.items() if hub_of(spec.source) is None]
CIRCLES = {"circles_1": (3.0, 0.05), "circles_2": (2.0, 0.0), "circles_3": (1.8, 0.0), "circles_4": (1.6, 0.0)}
"""Outer radius and share of flipped labels; the inner radius is 1."""


def _examples(described: Any) -> Examples:
    """All rows of a dataset, or of a challenge set."""
    columns = implied_columns(described.source, described.columns)
    return build_raw_table(
        load_source(described.source),
        columns=columns,
        label_names=described.labels,
        unlabelled=described.unlabelled,
        limit=None,
        seed=0,
    ).examples


def _attribute(examples: Examples, name: str) -> np.ndarray:
    return np.array(examples.table[f"attribute.{name}"].to_pylist())


def test_nothing_but_specs_is_bundled() -> None:
    assert sorted(path.stem for path in BUNDLED.iterdir()) == sorted(SPECS)
    assert set(OFFLINE) == {*CIRCLES, "digits", "marked_digits", "template_nli"}


@pytest.mark.parametrize("name", OFFLINE)
def test_a_bundled_dataset_gives_its_raw_table_and_can_be_filtered(name: str) -> None:
    spec = SPECS[name]
    assert spec.title
    assert spec.description
    assert content_fingerprint(spec.source) == {}
    examples = _examples(spec)
    for split in spec.source.splits:
        classes = set(examples.in_split(split).labels.tolist())
        assert classes == set(range(len(examples.label_names)))
    _check_sizes(spec, examples)


def _check_sizes(spec: DatasetSpec, examples: Examples) -> None:
    needed = any(encoder.kind != "identity" for encoder in spec.representations.values())
    warmup = warmup_rows(spec.warmup, len(examples.in_split("train")), needed=needed)
    pool = int(in_pool(spec.filter, examples.table["split"].to_numpy(zero_copy_only=False)).sum()) - warmup
    settings = filter_settings(spec.filter, pool, warmup)
    assert settings.train_size < settings.target_size < pool


@pytest.mark.parametrize("name", OFFLINE)
def test_bundled_challenge_sets_have_the_datasets_labels(name: str) -> None:
    spec = SPECS[name]
    for challenge in spec.challenge_sets.values():
        examples = _examples(challenge)
        assert len(examples.in_split(challenge.split)) > 0
        assert challenge.labels == spec.labels


@pytest.mark.parametrize("name", CIRCLES)
def test_circles_are_as_far_apart_and_as_biased_as_they_say(name: str) -> None:
    outer, flipped_share = CIRCLES[name]
    spec = SPECS[name]
    rows, unbiased = _examples(spec), _examples(spec.challenge_sets["unbiased"])
    assert set(_attribute(unbiased, "biased")) == {"no"}
    for split, expected_rows in (("train", 4000), ("test", 2000)):
        part = rows.in_split(split)
        biased, flipped = (_attribute(part, attribute) == "yes" for attribute in ("biased", "flipped"))
        number = 0.75 * expected_rows
        assert (len(part), biased.sum()) == (expected_rows, number)
        assert abs(flipped.sum() - number * flipped_share) <= 5 * np.sqrt(number * flipped_share)
        assert not (flipped & ~biased).any()
    train = rows.in_split("train")
    flipped = _attribute(train, "flipped") == "yes"
    for examples, circle in ((train, np.where(flipped, 1 - train.labels, train.labels)), (unbiased, unbiased.labels)):
        radius = np.linalg.norm(examples.features[:, :2], axis=1)
        for number, expected in enumerate((1.0, outer)):
            on_circle = radius[circle == number]
            assert on_circle.mean() == pytest.approx(expected, abs=0.02)
            assert on_circle.std() == pytest.approx(0.25, abs=0.015)


@pytest.mark.parametrize(
    ("name", "least"), [("circles_1", 1.0), ("circles_2", 0.95), ("circles_3", 0.92), ("circles_4", 0.85)]
)
def test_circles_can_be_told_apart_by_a_curved_boundary_and_by_no_line(name: str, least: float) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    unbiased = _examples(SPECS[name].challenge_sets["unbiased"])
    halves = np.arange(len(unbiased)) % 2 == 0
    scores = [
        model.fit(unbiased.features[halves], unbiased.labels[halves]).score(
            unbiased.features[~halves], unbiased.labels[~halves]
        )
        for model in (SVC(), LogisticRegression())
    ]
    assert scores[0] >= least
    assert scores[1] < 0.56


def test_template_pairs_carry_the_cues_that_the_spec_says() -> None:
    spec = SPECS["template_nli"]
    planted = {
        name: float((_attribute(_examples(part), "cue") != "none").mean()) for name, part in _parts(spec).items()
    }
    assert planted == {"dataset": pytest.approx(0.6, abs=0.001), "clean": 0.0, "cues_reversed": 1.0}


def test_no_template_pair_to_be_trained_on_is_tested_on() -> None:
    parts = {name: _examples(part) for name, part in _parts(SPECS["template_nli"]).items()}
    pairs = {name: set(zip(rows.texts(), rows.texts("text_pair"), strict=True)) for name, rows in parts.items()}
    assert len(pairs["dataset"]) == len(parts["dataset"])
    assert not pairs["dataset"] & (pairs["clean"] | pairs["cues_reversed"])


def test_marked_digits_differ_from_their_challenge_sets_in_the_marks_alone() -> None:
    spec = SPECS["marked_digits"]
    assert spec.challenge_sets.keys() == {"clean", "marks_reversed"}
    assert len(spec.seeds) >= 5
    source, dataset = spec.source.model_dump(), _examples(spec)
    train_ids = set(dataset.in_split("train").table["source_id"].to_pylist())
    for name, marks in (("clean", {"none"}), ("marks_reversed", {"wrong"})):
        challenge = spec.challenge_sets[name]
        assert challenge.source.model_dump() | {"marks": None} == source | {"marks": None}
        tested = _examples(challenge).in_split(challenge.split)
        assert set(_attribute(tested, "mark")) == marks
        assert tested.table["source_id"].to_pylist() == dataset.in_split("test").table["source_id"].to_pylist()
        assert not train_ids & set(tested.table["source_id"].to_pylist())
    carried = _attribute(dataset.in_split("train"), "mark").tolist()
    assert [carried.count(value) for value in ("right", "wrong", "none")] == [829, 53, 376]  # 70 % of 1,258, 6 % of 882


@pytest.mark.parametrize("name", OFFLINE)
def test_planted_values_stand_on_train_rows(name: str) -> None:
    spec = SPECS[name]
    train = _examples(spec).in_split("train")
    assert bool(spec.planted) == (name != "digits")
    for attribute, values in spec.planted.items():
        assert {values} if isinstance(values, str) else set(values) < set(_attribute(train, attribute))


def _parts(spec: DatasetSpec) -> dict[str, Any]:
    return {"dataset": spec, **spec.challenge_sets}


@pytest.mark.parametrize(
    ("name", "share"), [("efficientnet_b7", 0.4), ("efficientnet_b7_autoaugment", 0.2)], ids=["ICML", "ICLR"]
)
def test_imagenet_is_filtered_to_the_papers_shares(name: str, share: float) -> None:
    """ICML 2020, section 5, and ICLR 2020, section 3.3: shares of all train images, 20 % of which train the encoder."""
    spec, images = SPECS["imagenet_1k"], 1_281_167
    pool = images - warmup_rows(spec.warmup, images, needed=True)
    settings = filter_settings(spec.filter.of_representation(name), pool, images - pool)
    assert settings.target_size / images == pytest.approx(share, abs=1e-5)
    encoder = spec.representations[name]
    assert isinstance(encoder, ImageModelSpec)
    assert (encoder.architecture, encoder.autoaugment) == ("efficientnet_b7", name.endswith("_autoaugment"))
    assert (encoder.randaugment is None) == encoder.autoaugment
