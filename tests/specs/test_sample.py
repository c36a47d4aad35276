"""What a dataset's file may say about a sample of the train rows, and what is refused."""

from typing import Any

import pytest

from aflite_assets.errors import SpecError
from aflite_assets.reports.tables.published import published_tables
from aflite_assets.specs.registry import BUNDLED, load_spec, parse_spec
from aflite_assets.studies.sample.specs.settings import SampleSettings
from tests.small_datasets import circles

LINEAR = {"kind": "linear"}
BAG = {"kind": "siamese_bag"}


def _parsed(**sample: Any) -> Any:
    return parse_spec(circles("small_circles", sample={"most": 20_000, "model": LINEAR} | sample))


def test_the_papers_steps_are_the_default() -> None:
    sample = _parsed(most=25_000).sample
    assert sample.sizes == (5_000, 10_000, 15_000, 20_000, 25_000)
    assert (sample.stop, sample.repeats) == ("flat", 1)


def test_the_bundled_sample_has_the_papers_tables_and_sets() -> None:
    """Tables 2 and 3 of SustaiNLP 2020: sizes, with and without the term, beside all 550,000 rows."""
    spec = load_spec(BUNDLED / "snli_sample.yaml")
    assert spec.filter.compare == ("predictability",)
    assert {**spec.train_sets, "5k": spec.filter.target_size} == {
        "15k": 15_000, "12k": 12_000, "10k": 10_000, "8k": 8_000, "5k": 5_000,
    }  # fmt: skip
    printed = {one.kind: one.rows for one in published_tables("snli") if one.source.startswith("SustaiNLP")}
    assert set(printed["rankings"]) == {*spec.train_sets, "5k"}
    assert set(printed["fine_action"]) == {"550k", "20k", *printed["rankings"]}
    assert spec.full_includes_warmup
    # "the first 5k", grown by 5k: the held-back rows alone are in no train set
    sample = SampleSettings.of(spec).sample
    assert sample is not None
    assert (sample.start, sample.step, sample.stop) == (5_000, 5_000, "falls")


def test_sizes_end_at_the_most() -> None:
    assert _parsed(start=100, step=40, most=215).sample.sizes == (100, 140, 180)


def test_no_sample_is_the_default() -> None:
    assert SampleSettings.of(parse_spec(circles("small_circles"))).sample is None


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (
            {"start": 15_001},
            "`start` 15001 and `step` 5000 give only one sample up to `most` 20000, but at least two are "
            "compared; set `most` to 20001 or more, or lower `start` or `step`",
        ),
        ({"stop": "rises"}, r"sample\.stop.*flat.*falls"),
        ({"repeats": 3}, "`repeats` is 3, but a model of kind 'linear' is the same for every seed; remove `repeats`"),
        (
            {"model": {**BAG, "early_stopping": {"split": "test"}}},
            "`model.early_stopping.split` is 'test', but the size of the sample must depend on train "
            "rows only; remove `split`, so that a share of the sample is used instead",
        ),
        ({"model": {"kind": "identity"}}, r"sample\.model.*identity"),
        ({"start": 0}, r"sample\.start"),
        ({"size": 10}, r"sample\.size"),
    ],
)
def test_what_cannot_be_is_refused(sample: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=f"(?s){message}"):
        _parsed(**sample)


@pytest.mark.parametrize(
    ("filtering", "message"),
    [
        (
            {"target_size": 20_001},
            "`filter.target_size` is 20001, but with `sample.most` 22000, the filter gets at most "
            "20000 rows; lower `filter.target_size`, or set `sample.most` to more than 20001",
        ),
        (
            {"target_size": 0.5, "train_size": 10_000, "evaluation_rows": "kept"},
            "`filter.train_size` is 10000, but with `sample.most` 22000 and `filter.target_size` "
            "0.5, it may be at most 9999; set `filter.train_size` to a share such as 0.02, or raise "
            "`sample.most`",
        ),
        (
            {"target_size": 6_000, "slice_size": 6_001, "evaluation_rows": "scored"},
            r"`filter\.slice_size` is 6001, but .*target_size` 6000, it may be at most",
        ),
    ],
)
def test_sizes_of_the_filter_that_no_sample_meets_are_refused(filtering: dict[str, Any], message: str) -> None:
    sample = {"most": 22_000, "model": LINEAR}
    with pytest.raises(SpecError, match=f"(?s){message}"):
        parse_spec(circles("small_circles", sample=sample, filter=filtering))


@pytest.mark.parametrize(
    "filtering",
    [
        {"target_size": 20_000},
        {"target_size": 0.5, "train_size": 9_999, "evaluation_rows": "kept"},
        {"target_size": 0.5, "train_size": 10_000},  # of a pool that has rows of other splits, too
    ],
)
def test_sizes_that_some_sample_may_meet_are_taken(filtering: dict[str, Any]) -> None:
    spec = parse_spec(circles("small_circles", sample={"most": 22_000, "model": LINEAR}, filter=filtering))
    assert SampleSettings.of(spec).sample


def test_repeats_are_for_models_with_seeds() -> None:
    assert _parsed(model=BAG, repeats=3).sample.repeats == 3
