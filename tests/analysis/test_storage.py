import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.analysis.analysis import FILES, TABLES, Analysis, analyse, read_analysis, write_analysis
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rows.table import write_predictions
from aflite_assets.analysis.tidy import to_json
from aflite_assets.errors import DataError
from tests.analysis.rows.test_predictions import examples_of


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


PAGE = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text(encoding="utf-8")


def test_the_page_names_every_table() -> None:
    named = {name for row in re.findall(r"^\| (`.+?`) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert {table.name for table, _ in TABLES} - named == set()


@pytest.mark.parametrize("made", ["planted", "by_hand"])
def test_the_pages_arithmetic_holds(made: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data: BenchmarkData = request.getfixturevalue(made)
    write_analysis(analyse(data), tmp_path)
    write_predictions(data, examples_of(data), tmp_path)

    class Result:
        """The folder of a published analysis."""

        file = staticmethod(tmp_path.joinpath)

    pd = pytest.importorskip("pandas")
    accuracies = pd.read_parquet(tmp_path / "tables" / "accuracies.parquet")
    names: dict[str, Any] = {"result": Result, "pd": pd, "accuracies": accuracies}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1:]:
        exec(code, names)  # asserts that the numbers are equal
    both = names["both"]
    assert min(len(names["full"]), len(names["rest"])) > 0
    assert len(both) == int(((accuracies["status"] == "done") & (accuracies["top"] == 1)).sum()) > 0


def test_what_another_version_wrote_is_refused_with_what_to_do(planted: BenchmarkData, tmp_path: Path) -> None:
    write_analysis(analyse(planted), tmp_path)
    (tmp_path / "tables" / "leanings.parquet").unlink()
    with pytest.raises(DataError, match=r"was written by another version .*; materialise `analysis` again"):
        read_analysis(tmp_path)
    (tmp_path / "verdict.json").write_text('[{"code": 1}]', encoding="utf-8")
    with pytest.raises(DataError, match="was written by another version"):
        read_analysis(tmp_path)
