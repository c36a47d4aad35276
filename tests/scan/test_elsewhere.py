"""How a cue does in other sets: the words for every interval, and what is left out."""

import pytest

from aflite_assets.scan.elsewhere import _state


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (0.30, 0.49, "reversed"),
        (0.45, 0.62, "gone"),  # surely less than half of 0.75 - 0.5
        (0.45, 0.63, "cannot tell"),
        (0.51, 0.62, "weaker"),
        (0.51, 0.63, "holds"),
        (0.70, 0.80, "holds"),
    ],
)
def test_half_of_what_a_cue_tells_must_surely_be_missed(low: float, high: float, state: str) -> None:
    assert _state(low, high, 0.75) == state
