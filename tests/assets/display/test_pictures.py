"""Pictures and tables as Dagster shows them: small, escaped, from published results."""

import base64
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from PIL import Image

from aflite_assets.assets.common import first_rows
from aflite_assets.assets.display.pictures import markdown_picture, report_pictures, result_pictures
from aflite_assets.assets.report import report_tables
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_pipeline
from tests.small_datasets import circles

HOSTILE = "![x](y) <script> $a_{"
CONTENT = circles("tiny", labels=["inner", HOSTILE])


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredResult]:
    folder = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AFLITE_HOME", str(folder / "home"))
        return run_pipeline(parse_spec(CONTENT), store=ResultStore(folder / "results"))


def png_of(value: dg.MarkdownMetadataValue) -> Image.Image:
    found = re.fullmatch(r"!\[.*\]\(data:image/png;base64,([A-Za-z0-9+/=]+)\)", str(value.value))
    assert found is not None
    png = base64.b64decode(found[1])
    assert len(png) < 50_000
    return Image.open(io.BytesIO(png))


def test_pictures_of_each_asset(walk: dict[str, StoredResult]) -> None:
    shown = {
        **result_pictures(walk["filtered_sets"].result),
        **result_pictures(walk["bias_evidence"].result),
        **report_pictures(walk["benchmark_report"].result),
    }
    assert set(shown) == {
        "curve_given",
        "scores_given",
        "similarity_given_0",
        "similarity_given_1",
        "overview_given",
        "falls_given",
        "filtering_curves",
        "scatter_before_given",
        "scatter_after_given",
    }
    assert all(png_of(value).width > 400 for value in shown.values())


def test_names_of_classes_are_literal_text(walk: dict[str, StoredResult]) -> None:
    alt = str(result_pictures(walk["bias_evidence"].result)["similarity_given_1"].value).rpartition("](data:")[0]
    assert r"class \!\[x\]\(y\) &lt;script&gt; \$a\_\{, representation given" in alt


def test_alternatives_are_escaped() -> None:
    assert markdown_picture(b"", "a](b)<i>").value == r"![a\]\(b\)&lt;i&gt;](data:image/png;base64,)"


def test_columns_without_a_value_are_left_out() -> None:
    value = first_rows(pa.table({"a": [1, None, 3], "b": pa.array([None, None, "x"], pa.string())}), 2)
    assert isinstance(value, dg.TableMetadataValue)
    assert [record.data for record in value.records] == [{"a": 1}, {"a": ""}]


def test_tables_are_laid_out_as_in_the_report(walk: dict[str, StoredResult]) -> None:
    found = report_tables(walk["benchmark_report"].result)
    shown = {name: value for name, value in found.items() if isinstance(value, dg.TableMetadataValue)}
    assert list(shown) == [
        "surface_cues", "by_attribute biased", "falls_given test", "accuracy_given", "in_distribution test",
        "by_class_given linear", "paired_given",
    ]  # fmt: skip
    first = shown["accuracy_given"].records[0].data
    assert list(first)[:4] == ["evaluator", "trained on", "train rows", "test, full (n = 200)"]
    assert (first["evaluator"], first["trained on"]) == ("linear", "full")


def test_headings_that_are_empty_or_alike_stay_columns_of_their_own(tmp_path: Path) -> None:
    layouts = [
        {"title": "x", "columns": ["", "a", "a", "a (2)"], "rows": [["1", "2", "3", "4"]], "notes": []},
        {"title": "x", "columns": ["a"], "rows": [["5"]], "notes": ["Points rise.", "n is a <count>."]},
    ]
    (tmp_path / "layouts.json").write_text(json.dumps({"zero_shot": layouts}), encoding="utf-8")
    result: Any = SimpleNamespace(path=tmp_path, file=lambda name: tmp_path / name)
    found = report_tables(result)
    assert found["zero_shot x"].records[0].data == {"row": "1", "a": "2", "a (2)": "3", "a (2) (2)": "4"}
    assert found["zero_shot x (2)"].records[0].data == {"a": "5"}
    assert found["zero_shot x notes"].value == "Points rise. n is a <count>."
