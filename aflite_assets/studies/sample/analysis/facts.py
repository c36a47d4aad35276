"""Facts about the sample that are in no table."""

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.studies.sample.analysis.curve import curve_of


def sample_facts(data: BenchmarkData) -> dict[str, object]:
    """Return the size of the sample and the rule that chose it, by field of `DatasetFacts`."""
    curve = curve_of(data)
    return {} if curve is None else {"sample_rows": curve.chosen, "sample_stop": curve.stop}


PART = sample_facts
