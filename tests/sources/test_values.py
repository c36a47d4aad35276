import math
from typing import Any

import pyarrow as pa
import pytest

from aflite_assets.sources.values import as_texts


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, -1, None], ["1", "-1", None]),
        ([1.0, 2.5, math.nan, math.inf], ["1", "2.5", None, "inf"]),
        (["1", "", " ", "007"], ["1", None, " ", "007"]),
        ([True, False], ["True", "False"]),
        ([b"\x00"], ["b'\\x00'"]),
    ],
)
def test_values_as_text(values: list[Any], texts: list[str | None]) -> None:
    assert as_texts(pa.chunked_array([pa.array(values)])) == texts


def test_dictionary_encoded_values_are_decoded() -> None:
    assert as_texts(pa.chunked_array([pa.array(["b", "a", None]).dictionary_encode()])) == ["b", "a", None]
