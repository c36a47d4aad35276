"""A tiny dataset that trains no network."""

from pathlib import Path
from typing import Any

import pytest

from tests.small_datasets import feature_vectors


@pytest.fixture
def feature_content(tmp_path: Path) -> dict[str, Any]:
    """The plain values of its spec."""
    return feature_vectors(tmp_path)
