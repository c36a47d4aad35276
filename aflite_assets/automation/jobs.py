"""The jobs `filter` and `benchmark`. A job cannot contain the external asset of source files."""

import dagster as dg

from aflite_assets.assets.watched import source_files

_WATCHED = dg.AssetSelection.assets(source_files.key)
_FILTER = dg.AssetSelection.assets("published_dataset").upstream() - _WATCHED
_BENCHMARK = dg.AssetSelection.assets("benchmark_report").upstream() - _WATCHED

filter_job = dg.define_asset_job(
    "filter",
    _FILTER,
    description="Computes the filtered dataset from the source; trains only the warm-up models.",
)
benchmark_job = dg.define_asset_job(
    "benchmark",
    _BENCHMARK,
    description="Computes all stages: the filtered dataset, the evaluators before and after filtering, the report.",
)
