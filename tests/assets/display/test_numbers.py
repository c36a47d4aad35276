"""The numbers that Dagster plots: which they are, under which names, and that they are plain numbers."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.assets.display.numbers import filter_numbers, grid_numbers, report_numbers
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore


def published(
    folder: Path,
    asset: str,
    *,
    summary: Mapping[str, Any] | None = None,
    parts: Mapping[str, Mapping[str, Any]] | None = None,
) -> PublishedResult:
    """A result with this summary, of parts with these."""

    def write(draft: Draft) -> Mapping[str, Any]:
        for name, numbers in (parts or {}).items():
            draft.part(name, ResultKey("1", {"part": name}, {}), partial(_numbers, numbers))
        return summary or {}

    return ResultStore(folder).get_or_create(asset, "digits", ResultKey("1", {}, {}), write).result


def _numbers(numbers: Mapping[str, Any], draft: Draft) -> Mapping[str, Any]:
    return numbers


def test_of_the_filter(tmp_path: Path) -> None:
    def outcome(kept: int, before: float | None) -> dict[str, Any]:
        rows = {"train": 200, "test": 50}
        return {
            "kept": {"train": kept, "test": 9}, "rows": rows, "bias_before": before, "bias_after": 0.5, "iterations": 7,
        }  # fmt: skip

    summary = {"bert": outcome(80, 0.9), "esim": outcome(100, None)}
    assert filter_numbers(published(tmp_path / "a", "filtered_sets", summary=summary)) == {
        "train_rows_kept": 80, "share_kept": 0.4, "bias_before": 0.9, "bias_after": 0.5, "iterations": 7,
        "train_rows_kept.esim": 100, "share_kept.esim": 0.5, "bias_after.esim": 0.5, "iterations.esim": 7,
    }  # fmt: skip


def grid(tmp_path: Path, cells: list[tuple[str, str, str | None, int, str, dict[str, float]]]) -> PublishedResult:
    rows = []
    parts = {}
    for evaluator, train_set, representation, seed, status, summary in cells:
        name = f"{evaluator}.{train_set}.{representation}.{seed}"
        rows.append(
            {"name": name, "evaluator": evaluator, "train_set": train_set, "representation": representation,
             "seed": seed, "status": status}
        )  # fmt: skip
        if status == "done":
            parts[name] = summary
    result = published(tmp_path / "key", "evaluator_models", parts=parts)
    pq.write_table(pa.Table.from_pylist(rows), result.path / "cells.parquet")
    return result


def test_of_the_grid(tmp_path: Path) -> None:
    result = grid(
        tmp_path,
        [
            ("linear", "full", None, 0, "done", {"accuracy.test": 0.8, "accuracy.other": 0.1, "seconds": 3.0}),
            ("linear", "full", None, 1, "done", {"accuracy.test": 0.6}),
            ("linear", "filtered", "bert", 0, "done", {"accuracy.test": 0.5}),
            ("linear", "filtered", "bert", 1, "failed", {}),
            ("linear", "filtered", "esim", 0, "done", {"accuracy.test": 0.25}),
            ("linear", "random_matched", "bert", 0, "not run", {}),
            ("linear", "random", "bert", 0, "done", {"accuracy.test": 0.75}),
            ("other", "full", None, 0, "done", {"accuracy.test": 0.99}),
        ],
    )
    assert grid_numbers(result) == {
        "accuracy.of": "linear on test, mean of the finished seeds",
        "accuracy.full": pytest.approx(0.7),
        "accuracy.filtered": 0.5,
        "accuracy.filtered.esim": 0.25,
    }


def test_of_a_grid_of_which_nothing_is_done(tmp_path: Path) -> None:
    assert grid_numbers(grid(tmp_path, [("linear", "full", None, 0, "failed", {})])) == {}


def compared(test_set: str, **changes: Any) -> dict[str, Any]:
    return {
        "comparison": "control", "representation": "bert", "evaluator": "linear", "train_set": "filtered",
        "test_set": test_set, "tested_on": "full", "family": "whole sets", "difference": 1.0, "low": -1.0, "high": 3.0,
        "adjusted_p": None, **changes,
    }  # fmt: skip


def accuracy(train_set: str, test_set: str, value: float | None, **changes: Any) -> dict[str, Any]:
    return {
        "representation": "bert", "evaluator": "linear", "train_set": train_set, "test_set": test_set,
        "tested_on": "full", "column": None, "label": None, "top": 1, "accuracy": value, **changes,
    }  # fmt: skip


def report(tmp_path: Path, **tables: list[dict[str, Any]]) -> PublishedResult:
    result = published(tmp_path / "report", "benchmark_report")
    (result.path / "tables").mkdir()
    for name in ("differences", "accuracies"):
        rows = tables.get(name, [])
        pq.write_table(pa.Table.from_pylist(rows) if rows else pa.table({}), result.path / "tables" / f"{name}.parquet")
    return result


def test_of_a_report_with_deciding_comparisons(tmp_path: Path) -> None:
    hard = [
        accuracy(name, "hard", value, tested_on="all")
        for name, value in (("full", 0.5), ("filtered", 0.4), ("random_matched", 0.3), ("random", 0.2))
    ]
    result = report(
        tmp_path,
        differences=[
            compared("hard", tested_on="all", comparison="means", family="deciding", difference=1.5),
            compared("test"),
            compared("harder", tested_on="all", family="deciding", adjusted_p=0.2, difference=2.5, low=-7.0, high=8.0),
            compared("hard", tested_on="all", family="deciding", adjusted_p=0.01, difference=12.5, low=7.0, high=18.0),
            compared("test", representation="esim"),
        ],
        accuracies=[
            accuracy("full", "test", 0.9),
            accuracy("full", "test", 0.6, tested_on="filtered", representation="esim"),
            accuracy("filtered", "test", 0.7, representation="esim"),
            accuracy("filtered", "test", 0.8, representation="esim", top=5),
            accuracy("random_matched", "test", None, representation="esim"),
            *hard,
            accuracy("full", "hard", 0.1, tested_on="all", column="kind"),
        ],
    )
    assert report_numbers(result) == {
        "difference": 12.5, "difference_low": 7.0, "difference_high": 18.0, "accuracy.full": 0.5,
        "accuracy.filtered": 0.4, "accuracy.random_matched": 0.3,
        "accuracy.of": "linear on hard: the most significant comparison that decides the verdict",
        "accuracy.filtered.esim": 0.7,
    }  # fmt: skip


def test_of_a_report_without_one(tmp_path: Path) -> None:
    result = report(
        tmp_path,
        differences=[compared("test", tested_on="filtered"), compared("test")],
        accuracies=[
            accuracy("full", "test", 0.9),
            accuracy("full", "test", 0.4, tested_on="filtered"),
            accuracy("filtered", "test", 0.2, tested_on="own"),
        ],
    )
    assert report_numbers(result) == {
        "accuracy.full": 0.9,
        "accuracy.of": "linear on test: the first comparison, because no comparison decides the verdict",
    }


def test_of_a_report_about_nothing(tmp_path: Path) -> None:
    assert report_numbers(report(tmp_path)) == {}
