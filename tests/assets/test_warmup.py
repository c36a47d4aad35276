"""How a warm-up size that learning curves chose stands in Dagster: picture, points, check."""

from typing import Any

import dagster as dg
import pytest

from aflite_assets.assets import data, warmup
from tests.assets.made import TEMPLATES, materialize, plotted, register, told

pytestmark = pytest.mark.usefixtures("made_here", "tracking_home")
MODEL = {"kind": "small_transformer", "vocabulary": 100, "width": 8, "layers": 1, "heads": 1, "max_length": 16}


def _materialized(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> tuple[dict[str, Any], dg.AssetCheckEvaluation]:
    """What `warmup_split` tells Dagster of a small dataset, and the outcome of its check of the curves."""
    register(monkeypatch, TEMPLATES | {"representations": {"small": {**MODEL, "epochs": 1}}} | changes)
    result = materialize([data.raw_dataset, warmup.warmup_split])
    return told(result, "warmup_split", "learning_curves_flatten")


def test_learning_curves_are_shown(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, check = _materialized(monkeypatch, warmup={"size": "auto"})
    assert shown["chosen"].startswith("By their learning curves, the encoders need a sample of ")
    points = [record.data for record in shown["learning_curve_points"].records]
    assert [(point["representation"], point["rows"], point["held_back_rows"]) for point in points] == [
        ("small", rows, 100) for rows in (40, 80, 160, 320)
    ]
    assert sum(bool(point["elbow"]) for point in points) == 1
    assert shown["dagster/row_count"] == 100 + next(point["rows"] for point in points if point["chosen"])
    plotted(shown["learning_curve"])
    # In one epoch of so few rows nothing is learnt, which is said and stops nothing.
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "small: no sample gave its encoder a higher accuracy than predicting only the most frequent class" in str(
        check.metadata["found"].value
    )


def test_a_size_that_is_given_has_no_curve(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, check = _materialized(monkeypatch, warmup={"size": 0.1})
    assert shown["dagster/row_count"] == 200
    assert not {"chosen", "learning_curve", "learning_curve_points"} & set(shown)
    assert check.passed
    assert check.metadata["result"].value == "does not apply to this dataset"
