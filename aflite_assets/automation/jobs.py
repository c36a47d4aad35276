"""The two jobs: to the filtered dataset, and to the benchmark report. External assets are no part of a job."""

import dagster as dg

from aflite_assets.assets.watched import source_files

_WATCHED = dg.AssetSelection.assets(source_files.key)
_FILTER = dg.AssetSelection.assets("published_dataset").upstream() - _WATCHED
_BENCHMARK = dg.AssetSelection.assets("benchmark_report").upstream() - _WATCHED

filter_job = dg.define_asset_job(
    "filter",
    _FILTER,
    description="From the source to the filtered dataset's folder; trains the warm-up models only.",
)
benchmark_job = dg.define_asset_job(
    "benchmark",
    _BENCHMARK,
    description="Everything: the filtered dataset, the evaluators before and after, the report.",
)
