"""How a sample that is enough stands in Dagster: picture, points, check; and that nothing is shown of none."""

from typing import Any

import dagster as dg
import pytest

from aflite_assets.assets import data
from aflite_assets.studies.sample.assets.assets import train_sample
from tests.assets.made import TEMPLATES, materialize, plotted, register, told

pytestmark = pytest.mark.usefixtures("made_here", "tracking_home")


def _materialized(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> tuple[dict[str, Any], dg.AssetCheckEvaluation]:
    """What `train_sample` tells Dagster of a small dataset, and the outcome of its check."""
    register(monkeypatch, TEMPLATES | changes)
    return told(materialize([data.raw_dataset, train_sample]), "train_sample", "sample_curve_flattens")


def test_the_curve_is_shown(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = {"start": 12, "step": 388, "most": 400, "model": {"kind": "linear"}}
    shown, check = _materialized(monkeypatch, sample=sample)
    assert (shown["sample_rows"], shown["held_back_rows"], shown["train_rows"]) == (400, 100, 2000)
    assert shown["dagster/row_count"] == 500
    assert shown["chosen"].startswith("A sample of 400 train rows is filtered: it is the largest that could be tried")
    points = [record.data for record in shown["sample_curve_points"].records]
    assert [(point["rows"], point["held_back_rows"], point["chosen"]) for point in points] == [
        (12, 100, False), (400, 100, True),
    ]  # fmt: skip
    plotted(shown["sample_curve"])
    schema = {column.name: column for column in shown["dagster/column_schema"].columns}
    assert schema.keys() == {"row_id", "held_back"}
    assert "from raw_dataset.row_id" in str(schema["row_id"].description)
    # It rises to the end, which is said and stops nothing.
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "accuracy still rises at 400 rows, the largest sample" in str(check.metadata["found"].value)


def test_all_rows_pass_where_no_sample_is_asked_for(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, check = _materialized(monkeypatch)
    assert shown["chosen"] == "all train rows"
    assert not {"sample_curve", "sample_curve_points", "sample_rows"} & set(shown)
    assert check.passed
    assert check.metadata["result"].value == "does not apply to this dataset"
