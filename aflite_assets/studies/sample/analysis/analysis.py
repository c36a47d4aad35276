"""The table of the study: one line per size of the sample."""

from aflite_assets.studies.sample.analysis.curve import SAMPLE_CURVE, curve_of, sample_points

PART = ((SAMPLE_CURVE, lambda data: sample_points(curve_of(data))),)
