"""What is collected of stored results: rendered by the present code, from nothing but what was stored, and compared."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.errors import InvalidInputError, StoreError
from aflite_assets.models import evaluators
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import STAGES, run_stage
from tests.compatibility.__main__ import main
from tests.compatibility.collected import Recorder, collect, values_of
from tests.compatibility.flat import Leaves
from tests.compatibility.kept import small_specs, unpack_store
from tests.compatibility.pinned import STORED, chosen_specs, pinned_specs, rendered
from tests.compatibility.pinned_files import write_files
from tests.undrawn import undrawn_figures

FULL = "[representation=given, evaluator=linear, train_set=full, test_set=test, tested_on=full, top=1].accuracy"


@pytest.fixture(scope="module")
def spec() -> DatasetSpec:
    return next(one for one in small_specs("kept_specs.yaml") if one.name == "kept_circles")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    return ResultStore(unpack_store(tmp_path_factory.mktemp("kept")))


@pytest.fixture(autouse=True)
def undrawn() -> Iterator[None]:
    with undrawn_figures():
        yield


@pytest.fixture(scope="module")
def leaves(spec: DatasetSpec, store: ResultStore) -> Leaves:
    with undrawn_figures():
        return collect(spec, store)


def test_the_same_number_is_collected_wherever_it_is_published(leaves: Leaves) -> None:
    accuracy = leaves[f"tables.accuracies{FULL}"]
    assert isinstance(accuracy, float)
    assert 0.5 < accuracy < 1
    assert leaves[f"analysis.files.tables.accuracies{FULL}"] == accuracy
    assert leaves["mlflow.analysis.given.linear.full.test.full"] == accuracy
    shown = leaves["layouts.accuracy_given[evaluator=linear, trained on=full].test, full (n = 150)"]
    assert isinstance(shown, str)
    assert shown.startswith(f"{100 * accuracy:.1f}")


def test_tables_are_collected_from_the_document_and_from_their_files_alike(leaves: Leaves) -> None:
    document = {path: value for path, value in leaves.items() if path.startswith("tables.")}
    start = "analysis.files."
    files = {path.removeprefix(start): value for path, value in leaves.items() if path.startswith(f"{start}tables.")}
    files |= {path: value for path, value in document.items() if path.startswith("tables.published")}
    assert document == files
    assert len(document) > 1_000


PLACES = (
    "verdict.evidence.", "cells[", "evidence[", "provenance.",
    "summary.benchmark_report.", "dagster.benchmark_report.accuracy.of", "dagster.filtered_sets.share_kept",
    "dagster.evaluator_models.accuracy.full", "mlflow.bias_evidence.cues_of_the_removed_rows",
    "mlflow.analysis.cells", "files.figures.", "analysis.files.pvi.", "analysis.files.rows.row_id",
)  # fmt: skip


@pytest.mark.parametrize("start", PLACES)
def test_everything_that_a_report_publishes_is_collected(leaves: Leaves, start: str) -> None:
    assert [path for path in leaves if path.startswith(start)]


def test_no_path_or_value_names_a_folder_of_this_machine(leaves: Leaves, store: ResultStore) -> None:
    folder = str(store.root.parent)
    assert not [path for path, value in leaves.items() if folder in path or folder in str(value)]


def test_the_report_is_rendered_by_the_present_code_though_one_is_stored(
    spec: DatasetSpec, store: ResultStore, leaves: Leaves, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stage in ("analysis", "benchmark_report"):
        run_stage(stage, spec, store=store)
    before = published(store)
    # An interval of another confidence, as a slip in a statistic would give.
    monkeypatch.setattr("aflite_assets.analysis.comparisons.falls.CONFIDENCE", 0.9)
    monkeypatch.setattr(evaluators, "evaluate", lambda *args, **options: pytest.fail("a model was trained"))
    now = collect(spec, store)
    assert now.keys() == leaves.keys()
    changed = {path for path in now if now[path] != leaves[path]}
    bounds = {path for path in changed if path.startswith("tables.falls[")}
    assert bounds
    assert {path.rpartition(".")[2] for path in bounds} == {"low", "high"}
    assert not {path for path in changed if path.startswith(("tables.accuracies", "tables.differences"))}
    assert published(store) == before


def published(store: ResultStore) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in store.root.rglob("manifest.json")}


def test_results_are_read_whatever_key_the_present_code_gives_them(
    spec: DatasetSpec, store: ResultStore, leaves: Leaves
) -> None:
    other = spec.model_copy(update={"filter": spec.filter.model_copy(update={"n_partitions": 99})})
    now = collect(other, store)
    assert now[f"tables.accuracies{FULL}"] == leaves[f"tables.accuracies{FULL}"]


def test_a_missing_result_is_refused(spec: DatasetSpec, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"^raw_dataset of 'kept_circles' was never materialised below"):
        collect(spec, ResultStore(tmp_path / "results"))


class _Result(PublishedResult):
    """A result without parts, in a folder."""

    @property
    def summary(self) -> dict[str, Any]:
        return {}


def test_a_file_that_nothing_reads_is_refused(tmp_path: Path, store: ResultStore, spec: DatasetSpec) -> None:
    with rendered(spec, store, Recorder()) as results:
        (tmp_path / "notes.txt").write_text("12", encoding="utf-8")
        other = _Result("other", spec.name, "key", tmp_path)
        with pytest.raises(InvalidInputError, match=r"nothing collects 'notes\.txt'; say in .*collected\.py how"):
            values_of({**results, "other": other}, Recorder(), store)


def test_tables_of_a_further_stage_stand_under_its_name(tmp_path: Path, store: ResultStore, spec: DatasetSpec) -> None:
    with rendered(spec, store, Recorder()) as results:
        (tmp_path / "tables").mkdir()
        pq.write_table(pa.table({"evaluator": ["linear"], "accuracy": [0.5]}), tmp_path / "tables" / "scores.parquet")
        (tmp_path / "facts.json").write_text('{"rows": 3}', encoding="utf-8")
        other = _Result("other", spec.name, "key", tmp_path)
        found = values_of({**results, "other": other}, Recorder(), store)
    assert {path: value for path, value in found.items() if path.startswith("other.")} == {
        "other.files.facts.rows": 3,
        "other.files.tables.scores[evaluator=linear].accuracy": 0.5,
    }


def test_of_a_table_with_a_row_per_row_the_columns_are_hashed_in_any_order(
    tmp_path: Path, store: ResultStore, spec: DatasetSpec
) -> None:
    table = pa.table({"row_id": [3, 1, 2], "pvi": [0.1, 0.2, 0.3], "text": ["a", "b", "c"]})
    tables = [table, table.take([2, 0, 1]), table.set_column(1, "pvi", [[0.1, 0.2, 0.3001]])]
    found = []
    with rendered(spec, store, Recorder()) as results:
        for one in tables:
            pq.write_table(one, tmp_path / "rows.parquet")
            other = _Result("other", spec.name, "key", tmp_path)
            every = values_of({**results, "other": other}, Recorder(), store)
            found.append({path: value for path, value in every.items() if path.startswith("other.")})
    assert found[0] == found[1]
    assert {path for path in found[0] if found[0][path] != found[2][path]} == {"other.files.rows.pvi"}
    kinds = {path.rpartition(".")[2]: type(value) for path, value in found[0].items()}
    assert kinds == {"rows": int, "row_id": int, "pvi": int, "text": str}


def test_pinned_files_are_the_same_whenever_they_are_drawn(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_files(tmp_path / name)
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two
    assert len(one) == 23


def test_unknown_names_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [spec.name for spec in chosen_specs(tmp_path, [])] == list(pinned_specs(tmp_path))
    assert main(["runs", str(tmp_path), "pinned_noise", "nothing"]) == 2
    assert capsys.readouterr().err.startswith("no pinned dataset is named ['nothing']; name some of ['kept_circles', ")


def test_the_report_is_the_last_of_the_stages_that_are_run_anew() -> None:
    assert set(STORED) < STAGES.keys()
    assert [stage for stage in STAGES if stage not in STORED][-1] == "benchmark_report"


def test_a_run_is_found_again_and_collected_twice_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, name = tmp_path / "runs", "pinned_kept_whole"
    assert main(["runs", str(folder), name]) == 0
    assert capsys.readouterr().out.startswith(f"{name}: made raw_dataset, challenge_sets, ")
    assert main(["runs", str(folder), name]) == 0
    assert capsys.readouterr().out == f"{name}: made nothing, all was found\n"
    for side in ("before", "after"):
        assert main(["collect", str(folder), str(tmp_path / side), name]) == 0
    (tmp_path / "none.yaml").write_text("renamed: []\n", encoding="utf-8")
    options = ["--changes", str(tmp_path / "none.yaml"), "--words"]
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after"), *options]) == 0
    said = capsys.readouterr().out
    pairs = [line.strip().split("  ", 1) for line in said.splitlines() if "  " in line]
    counts = {name: count for count, name in pairs}
    assert counts.pop("paths compared") == counts.pop("equal") != "0"
    assert set(counts.values()) == {"0"}
