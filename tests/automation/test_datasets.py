"""The sensor `datasets`: which partitions are listed while files come, go, break and cannot be read."""

import os
from pathlib import Path

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

import definitions
from aflite_assets.assets.partitions import DATASETS, listing_requests
from aflite_assets.automation.datasets import datasets
from aflite_assets.results import ResultKey, ResultStore
from aflite_assets.specs.registry import BUNDLED, Registry, load_spec
from resources import ResultStoreResource

SPEC = load_spec(BUNDLED / "circles_1.yaml")
TEXT = (BUNDLED / "circles_1.yaml").read_text(encoding="utf-8")
NAMES = st.sets(st.sampled_from(["a", "b", "c", "d", "e"]))


class Listing:
    """An instance on which the sensor looks, and its daemon does what it asks for."""

    def __init__(self, instance: dg.DagsterInstance, folder: Path) -> None:
        self.instance, self.folder = instance, folder

    def write(self, name: str, text: str = TEXT) -> Path:
        path = self.folder / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def look(self) -> tuple[list[str], str]:
        """The partitions listed after one tick, and what the tick says."""
        context = dg.build_sensor_context(
            instance=self.instance,
            repository_def=definitions.defs.get_repository_def(),
            resources={"result_store": ResultStoreResource()},
        )
        result = datasets(context)
        assert isinstance(result, dg.SensorResult)
        name = str(DATASETS.name)
        for request in result.dynamic_partitions_requests or ():
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions(name, list(request.partition_keys))
            else:
                for key in request.partition_keys:
                    self.instance.delete_dynamic_partition(name, key)
        assert result.skip_reason is not None
        return list(self.instance.get_dynamic_partitions(name)), str(result.skip_reason.skip_message)


@pytest.fixture
def listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Listing:
    folder = tmp_path / "datasets"
    folder.mkdir()
    monkeypatch.setenv("AFLITE_DATASETS", str(folder))
    return Listing(dg.DagsterInstance.ephemeral(str(tmp_path)), folder)


def test_it_is_on_at_first_and_looks_twice_a_minute() -> None:
    assert datasets.default_status == dg.DefaultSensorStatus.RUNNING
    assert datasets.minimum_interval_seconds == 30


def test_files_come_and_go(listing: Listing) -> None:
    assert listing.look() == ([], "no file was added or deleted")
    listing.write("two")
    listing.write("one")
    assert listing.look() == (["one", "two"], "listed: one, two")
    (listing.folder / "one.yaml").rename(listing.folder / "three.yaml")
    assert listing.look() == (["two", "three"], "listed: three; removed: one")
    assert listing.look() == (["two", "three"], "no file was added or deleted")


def test_a_broken_file_keeps_its_partition_and_gets_none(listing: Listing) -> None:
    listing.write("one")
    listing.look()
    listing.write("one", "title: [")
    listing.write("two", "title: [")
    assert listing.look() == (["one"], "no file was added or deleted")


def test_while_a_folder_cannot_be_read_nothing_is_removed(listing: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    listing.write("one")
    listing.look()
    other = listing.folder.parent / "other"
    monkeypatch.setenv("AFLITE_DATASETS", str(other))
    assert listing.look() == (["one"], "no file was added or deleted")
    other.mkdir()
    listing.folder = other
    listing.write("two")
    assert listing.look() == (["two"], "listed: two; removed: one")


def test_bundled_datasets_are_listed_once_they_have_results(listing: Listing, home: Path) -> None:
    listing.write("one")
    ResultStore(home / "results").get_or_create("raw_dataset", "digits", ResultKey("1", {}, {}), lambda draft: {})
    assert listing.look()[0] == ["digits", "one"]


def test_all_bundled_datasets_are_listed_on_demand(listing: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_BUNDLED", "1")
    assert set(listing.look()[0]) == {path.stem for path in BUNDLED.glob("*.yaml")}
    monkeypatch.delenv("AFLITE_BUNDLED")
    assert listing.look()[0] == []


def test_history_of_a_deleted_file_stays_and_is_shown_again(listing: Listing) -> None:
    path = listing.write("one")
    listing.look()
    event = dg.AssetMaterialization("raw_dataset", partition="one")
    listing.instance.report_runless_asset_event(event)
    text = path.read_text(encoding="utf-8")
    path.unlink()
    assert listing.look()[0] == []
    assert listing.instance.get_materialized_partitions(dg.AssetKey("raw_dataset")) == {"one"}
    path.write_text(text, encoding="utf-8")
    assert listing.look()[0] == ["one"]
    assert listing.instance.get_materialized_partitions(dg.AssetKey("raw_dataset")) == {"one"}


@given(specs=NAMES, refused=NAMES, listed=NAMES, is_unreadable=st.booleans())
def test_requests_make_the_list_that_of_the_files(
    specs: set[str], refused: set[str], listed: set[str], is_unreadable: bool
) -> None:
    folder = Path(os.devnull)
    failures = {Path(f"/files/{name}.yaml"): "broken" for name in refused} | ({folder: "gone"} if is_unreadable else {})
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AFLITE_DATASETS", str(folder))
        requests = listing_requests(Registry(dict.fromkeys(specs, SPEC), {}, failures), listed)
    after = set(listed)
    for request in requests:
        assert request.partition_keys
        if isinstance(request, dg.AddDynamicPartitionsRequest):
            assert not after & set(request.partition_keys)
            after |= set(request.partition_keys)
        else:
            after -= set(request.partition_keys)
    assert after == (specs | listed if is_unreadable else specs | (listed & refused))
