"""The table of the sample's learning curve."""

from aflite_assets.reports.tables.listings import CHOICE, POINT, values_of
from aflite_assets.reports.tables.table import TableSpec, declared
from aflite_assets.studies.sample.analysis.curve import SAMPLE_CURVE

SAMPLE_TABLE = TableSpec(
    "sample_curve",
    "Accuracy by the size of the sample",
    {"rows trained on": "{rows:,}"},
    values_of(SAMPLE_CURVE, **POINT, repeats="trainings", lowest="lowest", highest="highest", **CHOICE),
    of="How large a sample is enough",
)


PART = {"sample_curve": declared(SAMPLE_TABLE)}
