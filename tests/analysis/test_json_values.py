import json
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import PurePosixPath

import numpy as np
import pytest

from aflite_assets.analysis.tidy import to_json
from aflite_assets.errors import InvalidInputError


class Stop(Enum):
    THRESHOLD = "threshold"


@dataclass(frozen=True)
class Record:
    values: tuple[float, ...]
    stop: Stop


def test_records_become_plain_values() -> None:
    given = {
        "record": Record((1.5, float("nan"), float("-inf")), Stop.THRESHOLD),
        "array": np.array([1, 2]),
        "scalar": np.float32(0.5),
        "nothing": np.float64("nan"),
        "day": date(2026, 1, 2),
        "path": PurePosixPath("a/b"),
        3: True,
    }
    assert to_json(given) == {
        "record": {"values": [1.5, None, None], "stop": "threshold"},
        "array": [1, 2],
        "scalar": 0.5,
        "nothing": None,
        "day": "2026-01-02",
        "path": "a/b",
        "3": True,
    }
    json.dumps(to_json(given), allow_nan=False)


def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="a value of type function cannot be written as JSON"):
        to_json({"f": lambda: 0})
