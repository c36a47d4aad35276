"""The number of rows, for the report."""

from aflite_assets.stages.evaluation.analysis.studied import StudyReader

PART = StudyReader("counted_rows", lambda result, context: result.summary.get("rows"))
