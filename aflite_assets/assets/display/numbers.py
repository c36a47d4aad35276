"""Numbers of a result that Dagster plots over partitions and over time; the names of the numbers do not change.

Numbers of the first representation have plain names. For other representations, the name is followed by a dot and the
representation's name. In names of tables, an underscore replaces the dot.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow.parquet as pq

from aflite_assets.results import PublishedResult

_COMPARED = ("full", "random_matched", "filtered")
_ACCURACY = "accuracy."
"""Prefix of the accuracy on a test set in the summary of a cell; the name of the test set follows."""

Row = Mapping[str, Any]


def filter_numbers(result: PublishedResult) -> dict[str, int | float]:
    """Return the numbers of a result of `filtered_sets` that Dagster plots.

    The numbers are kept train rows (count, and share in [0, 1]), representation bias before and after, and iterations.
    """
    numbers: dict[str, int | float] = {}
    for facts, suffix in zip(result.summary.values(), _suffixes(result.summary), strict=True):
        kept, rows = facts["kept"]["train"], facts["rows"]["train"]
        values = {
            "train_rows_kept": kept,
            "share_kept": kept / rows if rows else None,
            "bias_before": facts["bias_before"],
            "bias_after": facts["bias_after"],
            "iterations": facts["iterations"],
        }
        numbers |= _known(values, suffix)
    return numbers


def grid_numbers(result: PublishedResult) -> dict[str, Any]:
    """Return the numbers of a result of `evaluator_models` that Dagster plots: mean accuracy in [0, 1] per train set.

    The mean is taken over the finished seeds, for the grid's first evaluator and the first test set that has the
    dataset's own classes. `accuracy.of` names the evaluator and the test set.
    """
    cells = pq.read_table(result.file("cells.parquet")).to_pylist()
    done = [cell for cell in cells if cell["status"] == "done" and cell["evaluator"] == cells[0]["evaluator"]]
    parts = result.parts
    scores = {cell["name"]: _accuracies(parts[cell["name"]].summary) for cell in done}
    test_set = next((name for by_test_set in scores.values() for name in by_test_set), None)
    if test_set is None:
        return {}
    numbers: dict[str, Any] = {"accuracy.of": f"{done[0]['evaluator']} on {test_set}, mean of the finished seeds"}
    representations = [name for name in dict.fromkeys(cell["representation"] for cell in cells) if name is not None]
    for train_set in _COMPARED:
        of_set = [cell for cell in done if cell["train_set"] == train_set]
        for name, suffix in [(None, ""), *zip(representations, _suffixes(representations), strict=True)]:
            cell_scores = [scores[cell["name"]].get(test_set) for cell in of_set if cell["representation"] == name]
            known = [score for score in cell_scores if score is not None]
            if known:
                numbers[f"accuracy.{train_set}{suffix}"] = sum(known) / len(known)
    return numbers


def report_numbers(result: PublishedResult) -> dict[str, Any]:
    """Return the numbers of a result of `analysis` that Dagster plots.

    Accuracies are in [0, 1]. `difference`, `difference_low` and `difference_high` are in percentage points.
    `difference` is the accuracy of `filtered` minus the accuracy of its control; `difference_low` and `difference_high`
    are the ends of its 95 % interval. All numbers are from the most significant comparison that decides the verdict. If
    no comparison decides the verdict, only accuracies are returned, for the first evaluator on all rows of the first
    test set.
    """
    paired = [row for row in _rows(result, "differences") if row["comparison"] == "control"]
    accuracies = [row for row in _rows(result, "accuracies") if row["top"] == 1]
    representations = list(dict.fromkeys(row["representation"] for row in paired))
    numbers: dict[str, Any] = {}
    for name, suffix in zip(representations, _suffixes(representations), strict=True):
        compared = [row for row in paired if row["representation"] == name and row["train_set"] == "filtered"]
        deciding = [row for row in compared if row["family"] == "deciding"]
        surest = min(deciding, key=lambda row: 1.0 if row["adjusted_p"] is None else row["adjusted_p"], default=None)
        chosen = surest or next((row for row in compared if row["tested_on"] != "filtered"), None)
        if chosen is None:
            continue
        if surest is not None:
            bounds = {f"difference_{bound}": surest[bound] for bound in ("low", "high")}
            numbers |= _known({"difference": surest["difference"], **bounds}, suffix)
        numbers |= dict(_accuracies_of(chosen, accuracies, suffix))
        if not suffix:
            which = (
                "the first comparison, because no comparison decides the verdict"
                if surest is None
                else "the most significant comparison that decides the verdict"
            )
            numbers["accuracy.of"] = f"{chosen['evaluator']} on {chosen['test_set']}: {which}"
    return numbers


def _accuracies_of(chosen: Row, accuracies: Sequence[Row], suffix: str) -> Iterator[tuple[str, float]]:
    """Yield the mean accuracy of each train set in a comparison, for the comparison's evaluator and test set."""
    for row in accuracies:
        same = all(row[name] == chosen[name] for name in ("representation", "evaluator", "test_set"))
        whole = row["tested_on"] == chosen["tested_on"] and row["column"] is row["label"] is None
        if same and whole and row["train_set"] in _COMPARED and row["accuracy"] is not None:
            yield f"accuracy.{row['train_set']}{suffix}", row["accuracy"]


def _rows(result: PublishedResult, table: str) -> list[Row]:
    rows: list[Row] = pq.read_table(result.file(f"tables/{table}.parquet")).to_pylist()
    return rows


def _accuracies(summary: Mapping[str, Any]) -> dict[str, float]:
    return {name.removeprefix(_ACCURACY): accuracy for name, accuracy in summary.items() if name.startswith(_ACCURACY)}


def _suffixes(names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    return ["" if number == 0 else f".{name}" for number, name in enumerate(names)]


def _known(values: Mapping[str, int | float | None], suffix: str) -> dict[str, int | float]:
    return {f"{name}{suffix}": value for name, value in values.items() if value is not None}


__all__ = ["filter_numbers", "grid_numbers", "report_numbers"]
