"""What a dataset's file may say about a sample of the train rows, and what is refused."""

from typing import Any

import pytest

from aflite_assets.errors import SpecError
from aflite_assets.specs.registry import parse_spec
from tests.small_datasets import circles

LINEAR = {"kind": "linear"}
BAG = {"kind": "siamese_bag"}


def _parsed(**sample: Any) -> Any:
    return parse_spec(circles("small_circles", sample={"most": 20_000, "model": LINEAR} | sample))


def test_the_papers_steps_are_the_default() -> None:
    sample = _parsed(most=25_000).sample
    assert sample.sizes == (5_000, 10_000, 15_000, 20_000, 25_000)
    assert (sample.stop, sample.repeats) == ("flat", 1)


def test_sizes_end_at_the_most() -> None:
    assert _parsed(start=100, step=40, most=215).sample.sizes == (100, 140, 180)


def test_no_sample_is_the_default_and_in_no_key() -> None:
    spec = parse_spec(circles("small_circles"))
    assert spec.sample is None
    assert "sample" not in spec.model_dump(mode="json")
    assert "sample" in _parsed().model_dump(mode="json")


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"start": 15_001}, r"start 15001 with step 5000 is one sample up to most 20000.*raise most to 20001 or more"),
        ({"stop": "rises"}, r"sample\.stop.*flat.*falls"),
        ({"repeats": 3}, r"repeats is 3, but a model of kind 'linear' is the same for every seed; leave repeats out"),
        (
            {"model": {**BAG, "early_stopping": {"split": "test"}}},
            r"model\.early_stopping names the split 'test', but the sample is chosen by train rows alone",
        ),
        ({"model": {"kind": "identity"}}, r"sample\.model.*identity"),
        ({"start": 0}, r"sample\.start"),
        ({"size": 10}, r"sample\.size"),
    ],
)
def test_what_cannot_be_is_refused(sample: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=f"(?s){message}"):
        _parsed(**sample)


def test_repeats_are_for_models_with_seeds() -> None:
    assert _parsed(model=BAG, repeats=3).sample.repeats == 3
