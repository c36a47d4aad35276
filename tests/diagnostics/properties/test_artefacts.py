"""One list says what is an artefact by nature; the verdict and the scan both read it."""

import numpy as np
import pytest

from aflite_assets.diagnostics.properties.artefacts import (
    ARTEFACTS,
    BLANKS,
    TYPOGRAPHY,
    VERDICT_TYPOGRAPHY,
    is_identifier,
    reason_of,
)


def test_reasons() -> None:
    assert [reason_of(kind) for kind in ("typography", "order", "words", "length")] == [
        "artefact",
        "artefact",
        None,
        None,
    ]
    assert reason_of("words", declared=True) == reason_of("order", declared=True) == "declared"
    assert {"typography", "blanks", "order", "identifier", "file format", "missing values", "position"} <= ARTEFACTS


def test_the_verdict_and_the_scan_mean_the_same_by_a_name() -> None:
    assert all(TYPOGRAPHY[name] is has for name, has in VERDICT_TYPOGRAPHY.items())
    assert not TYPOGRAPHY.keys() & BLANKS.keys()


@pytest.mark.parametrize(
    ("name", "values", "identifier"),
    [
        ("record_no", np.arange(100.0), True),
        ("id", np.arange(100.0), True),
        ("width", np.arange(100.0), False),
        ("record_no", np.arange(100.0) / 2, False),
        ("record_no", np.arange(100.0) % 10, False),
        ("record_no", np.full(100, np.nan), False),
    ],
)
def test_identifiers(name: str, values: np.ndarray, identifier: bool) -> None:
    assert is_identifier(name, values) is identifier
