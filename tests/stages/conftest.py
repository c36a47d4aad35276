"""What the stages' tests leave out of each walk."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_walks(few_permutations: None) -> None:
    """Labels are permuted a few times in every walk."""
