"""Assets of the group `evaluation`: models trained before and after filtering, and statistics of the rows."""

from typing import Any

import dagster as dg
import pyarrow.parquet as pq
from pydantic import Field

from aflite_assets.assets.common import AssetRun, first_rows, stage_asset, table
from aflite_assets.assets.display.numbers import grid_numbers
from aflite_assets.assets.display.pictures import result_pictures


class CellChoice(dg.Config):
    """Cells of the evaluator grid to train in this run.

    Results of earlier training runs are reused. All other cells have the status "not run".
    """

    evaluators: list[str] = Field(default=[], description="evaluators to train, by name; empty: all evaluators")
    train_sets: list[str] = Field(
        default=[], description="train sets to train on, such as full, random, filtered; empty: all train sets"
    )
    representations: list[str] = Field(
        default=[],
        description="representations with the filtered and control sets to train on; empty: all representations",
    )
    seeds: list[int] = Field(
        default=[], description="seeds to train with, from the dataset's YAML file; empty: all seeds"
    )


@stage_asset(group="evaluation", kinds={"pytorch", "scikitlearn"}, on_cluster=True, config=CellChoice)
def evaluator_models(run: AssetRun) -> dict[str, Any]:
    """Evaluators, each trained on every train set with every seed, and their predictions on all test sets.

    Each cell (evaluator, train set, seed) is a separate result. Mean accuracies (in [0, 1]) are plotted under Metadata,
    Plots; `accuracy.of` names their evaluator and test set.
    """
    cells = pq.read_table(run.result.file("cells.parquet")).to_pylist()
    return {
        "cells": table({name: value for name, value in cell.items() if value is not None} for cell in cells),
        "done": sum(cell["status"] == "done" for cell in cells),
        **grid_numbers(run.result),
        "fitted": 0 if run.obtained.cached else run.summary["fitted"],
    }


@stage_asset(group="evaluation", kinds={"parquet"})
def leaning_sets(run: AssetRun) -> dict[str, Any]:
    """At most three properties associated with the label, and train rows that can show whether models use a property.

    `evaluator_models` trains an evaluator on rows in which a property is not associated with any class. For comparison,
    `evaluator_models` trains the evaluator on the same number of rows in which the property is associated.
    """
    return {
        "candidates": first_rows(pq.read_table(run.result.file("candidates.parquet"))),
        "evaluator": str(run.summary["evaluator"]),
    }


@stage_asset(group="evaluation", kinds={"parquet"})
def bias_evidence(run: AssetRun) -> dict[str, Any]:
    """Statistics of kept and removed rows, and of the differences between them.

    The tables cover classes, attributes, scores, text lengths, and words that are significantly associated with a
    class. Distances to the nearest train rows and similarities of pairs are compared with those of random rows. Further
    tables cover annotators' agreement, possible label errors, the overlap between the removed rows of representations,
    and a simple model that the filter did not use. Click [Show Markdown] to see pictures.
    """
    from aflite_assets.stages.shared.report_inputs import read_evidence

    tables = {each.title: first_rows(each.table) for each in read_evidence(run.result)}
    return {**tables, **result_pictures(run.result)}


@stage_asset(group="evaluation", kinds={"parquet"})
def analysis(run: AssetRun) -> dict[str, Any]:
    """Every number of the report, computed once: scores, differences with intervals, and verdicts, also as tables for
    pandas.

    `tables` is the folder of Parquet files. `docs/analysis.md` describes the columns of the tables and how to join the
    tables.
    """
    tables = sorted((run.result.path / "tables").glob("*.parquet"))
    return {
        "verdict": str(run.summary["verdict"]),
        "tables": dg.MetadataValue.path(str(run.result.path / "tables")),
        "rows_of_tables": table({"table": path.stem, "rows": pq.read_metadata(path).num_rows} for path in tables),
        "rows": dg.MetadataValue.path(str(run.result.file("rows.parquet"))),
    }
