from pathlib import Path

import pytest

from aflite_assets.sources.loading import content_fingerprint, load_source
from aflite_assets.sources.raw_table import build_raw_table, implied_columns
from aflite_assets.sources.registry import BUNDLED, load_spec
from aflite_assets.sources.source_specs import HubSource

FILES = sorted(BUNDLED.glob("*.yaml"))
DRAWN = [path for path in FILES if not isinstance(load_spec(path).source, HubSource)]
"""Datasets that need no network; those of the hub are tried in `hub/test_bundled_specs.py`."""


def test_nothing_else_is_bundled() -> None:
    assert len(FILES) >= 2
    assert sorted(BUNDLED.iterdir()) == FILES


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_bundled_dataset_gives_its_raw_table_without_any_file(path: Path) -> None:
    spec = load_spec(path)
    assert spec.title
    assert spec.description
    assert content_fingerprint(spec.source) == {}
    raw = build_raw_table(
        load_source(spec.source),
        columns=implied_columns(spec.source, spec.columns),
        label_names=spec.labels,
        unlabelled=spec.unlabelled,
        limit=spec.limit,
        seed=spec.seed,
    )
    assert set(raw.unlabelled_rows.values()) == {0}
    for split in spec.source.splits:
        examples = raw.examples.in_split(split)
        assert set(examples.labels.tolist()) == set(range(len(raw.examples.label_names)))


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_bundled_challenge_sets_have_the_datasets_labels(path: Path) -> None:
    spec = load_spec(path)
    for challenge in spec.challenge_sets.values():
        tables = load_source(challenge.source)
        assert tables[challenge.split].num_rows > 0
        assert challenge.labels == spec.labels
