"""The learning curve that chose the sample, for the report."""

from aflite_assets.stages.evaluation.analysis.studied import StudyReader
from aflite_assets.studies.sample.stages.train_sample import read_sample_curve

PART = StudyReader("train_sample", lambda result, context: read_sample_curve(result))
