"""A dataset's file as plain values."""

from typing import Any

import pytest


@pytest.fixture
def spec_content() -> dict[str, Any]:
    """The smallest dataset that a spec can describe."""
    return {
        "name": "tiny",
        "source": {"format": "csv", "splits": {"train": "train.csv", "test": "test.csv"}},
        "representations": {"given": {"kind": "identity"}},
        "evaluators": {"linear": {"kind": "linear"}},
    }
