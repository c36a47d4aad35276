from dataclasses import fields
from pathlib import Path

import pytest

from aflite_assets.analysis.analysis import Analysis, analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.json_values import to_json
from aflite_assets.analysis.storage import FILES, read_analysis, write_analysis


@pytest.mark.parametrize("made", ["planted", "by_hand", "hostile", "with_rows", "with_weak_models"])
def test_an_analysis_comes_back_as_it_was_written(made: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data: BenchmarkData = request.getfixturevalue(made)
    analysis = analyse(data)
    write_analysis(analysis, tmp_path)
    back = read_analysis(tmp_path)
    assert back.tables == analysis.tables
    for field in fields(Analysis):
        if made != "hostile":  # whose settings hold a NaN, which is null in JSON
            assert getattr(back, field.name) == getattr(analysis, field.name), field.name
        elif field.name != "tables":
            assert to_json(getattr(back, field.name)) == to_json(getattr(analysis, field.name)), field.name
    assert {path.name for path in tmp_path.iterdir()} == {"tables", *FILES.values()}
    assert {"facts.json", "verdict.json", "checks.json"} <= set(FILES.values())
