"""What the stages' tests leave out of each walk."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def few_permutations() -> Iterator[None]:
    """The filter's chance is of 4 permutations: 20 take a quarter of a small dataset's walk.

    A module to which it matters what is over chance, or what another process makes, has a fixture of this name that
    leaves all 20; `tests/algorithm/test_chance.py` counts them.
    """
    from aflite_assets.algorithm import score_permuted

    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(score_permuted.__kwdefaults__, "passes", 4)
        yield
