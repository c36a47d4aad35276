"""Stored facts about single rows, gathered for the report: scores of every iteration and whatever else is kept."""

import pyarrow.parquet as pq

from aflite_assets.reports.inputs.row_facts import RowFacts, row_facts
from aflite_assets.results import PublishedResult


def read_row_facts(part: PublishedResult) -> RowFacts:
    """The facts about the rows of one filtered set; results of earlier versions have fewer."""
    files = sorted((part.path / "scores").glob("*.parquet"))
    scores = ((int(file.stem), pq.read_table(file)) for file in files)
    return row_facts(pq.read_table(part.file("rows.parquet")), scores)
