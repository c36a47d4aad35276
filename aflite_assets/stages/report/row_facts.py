"""Stored facts about single rows, gathered for the report: scores of every iteration and whatever else is kept."""

from collections.abc import Mapping

import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.row_facts import RowFacts, row_facts
from aflite_assets.data.examples import Examples
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import plausible_label_errors, predicted_instead
from aflite_assets.stages.shared.report_inputs import read_nearest_kept


def read_row_facts(
    parts: Mapping[str, PublishedResult], evidence: PublishedResult, raw: Examples
) -> dict[str, RowFacts]:
    """The facts about the rows of each filtered set by representation; results of earlier versions have fewer."""
    nearest = read_nearest_kept(evidence)
    return {
        name: row_facts(
            pq.read_table(part.file("rows.parquet")),
            ((int(file.stem), pq.read_table(file)) for file in sorted((part.path / "scores").glob("*.parquet"))),
            instead=predicted_instead(part),
            nearest=nearest.get(name),
            suspects=plausible_label_errors(part, raw),
        )
        for name, part in parts.items()
    }
