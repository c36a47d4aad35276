"""Challenge sets from their source to the report: class maps, collapse, class masks, limits, sets that are missing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.loading import load_source
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.diagnostics.properties.values import properties_of
from aflite_assets.errors import DataError, MissingDataError
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.core import ChallengeSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.data import challenge_sets
from aflite_assets.stages.data.challenge_sets import build_challenge, load_challenge
from aflite_assets.stages.pipeline import run_pipeline, run_stage
from aflite_assets.stages.shared.published import category_columns, read_challenge_sets
from aflite_assets.stages.stage import Progress
from tests.page_details import details_of

pytestmark = pytest.mark.usefixtures("undrawn")

CLASSES = ("a", "b", "c")


def _table(rows: int, seed: int, classes: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % classes
    features = rng.normal(size=(rows, 3)) + 1.2 * np.eye(3)[labels]
    return pa.table({"x0": features[:, 0], "x1": features[:, 1], "x2": features[:, 2], "label": labels})


def _content(folder: Path, **challenges: dict[str, Any]) -> dict[str, Any]:
    """A spec of three overlapping classes; challenge sets come as keywords and read the file of their name."""
    for split, rows in (("train", 150), ("test", 60)):
        pq.write_table(_table(rows, len(split)), folder / f"{split}.parquet")
    columns = {"features": ["x0", "x1", "x2"]}

    def source(*splits: tuple[str, str]) -> dict[str, Any]:
        return {"format": "parquet", "splits": {split: str(folder / f"{name}.parquet") for split, name in splits}}

    return {
        "name": "three",
        "source": source(("train", "train"), ("test", "test")),
        "columns": columns,
        "labels": list(CLASSES),
        "representations": {"given": {"kind": "identity"}},
        "filter": {"target_size": 60, "train_size": 30, "slice_size": 30, "n_partitions": 8, "threshold": 0.5},
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [0],
        "challenge_sets": {
            name: {"source": source(("test", name)), "columns": columns, **settings}
            for name, settings in challenges.items()
        },
    }


def _write(folder: Path, name: str, labels: list[str] | None = None, *, rows: int = 90, classes: int = 3) -> None:
    table = _table(rows, 9, classes)
    if labels is not None:
        names = pa.array([labels[number] for number in table["label"].to_pylist()])
        table = table.set_column(table.column_names.index("label"), "label", names)
    pq.write_table(table, folder / f"{name}.parquet")


def _grid(results: dict[str, StoredResult], name: str) -> dict[str, np.ndarray]:
    """What linear trained on full said of one challenge set: labels of the file, predicted, probabilities."""
    part = results["evaluator_models"].result.part("linear.full.0")
    table = pq.read_table(part.file("predictions.parquet"), filters=[("test_set", "=", name)])
    probabilities = np.array(table["probabilities"].to_pylist())
    return {"predicted": table["predicted"].to_numpy(), "probabilities": probabilities}


def _reported(results: dict[str, StoredResult], name: str, evaluator: str = "linear") -> dict[str, Any]:
    report = json.loads(results["benchmark_report"].result.file("report.json").read_text())
    rows: list[dict[str, Any]] = report["tables"]["accuracies"]
    return next(
        row
        for row in rows
        if (row["test_set"], row["evaluator"], row["train_set"]) == (name, evaluator, "full")
        and row["column"] is row["label"] is None
        and row["top"] == 1
    )


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredResult]:
    """One walk with a challenge set of every kind, and an evaluator without probabilities."""
    folder = tmp_path_factory.mktemp("walk")
    for name in ("by_label", "by_probability", "same", "turned", "swapped"):
        _write(folder, name, list(CLASSES))
    for name in ("mask", "unmasked"):
        _write(folder, name, ["c", "a"], classes=2)
    _write(folder, "some", [*CLASSES[:2], "?"], rows=1500)
    two = {"labels": {"no": ["b", "c"], "yes": "a"}, "map": {"a": "yes", "b": "no", "c": "no"}}
    content = _content(
        folder,
        by_label=two,
        by_probability={**two, "collapse": "probability"},
        same={},
        turned={"labels": ["c", "b", "a"]},
        swapped={"map": {"a": "b", "b": "a", "c": "c"}},
        mask={"collapse": "probability"},
        unmasked={},
        some={"unlabelled": ["?"], "limit": 40},
    )
    content["evaluators"]["svm"] = {"kind": "rbf_svm"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AFLITE_HOME", str(folder / "home"))
        return run_pipeline(parse_spec(content), store=ResultStore(folder / "results"))


def _page(walk: dict[str, StoredResult]) -> str:
    return walk["benchmark_report"].result.file("report.html").read_text()


def test_two_collapses_give_the_accuracies_of_the_stored_predictions(walk: dict[str, StoredResult]) -> None:
    said = _grid(walk, "by_label")
    gold = np.arange(90) % 3 == 0
    by_label = (said["predicted"] == 0) == gold
    by_probability = (said["probabilities"][:, 0] >= said["probabilities"][:, 1:].sum(axis=1)) == gold
    assert by_label.mean() != by_probability.mean()
    assert _reported(walk, "by_label")["accuracy"] == pytest.approx(by_label.mean())
    assert _reported(walk, "by_probability")["accuracy"] == pytest.approx(by_probability.mean())


def test_an_evaluator_without_probabilities_is_scored_by_label_alone(walk: dict[str, StoredResult]) -> None:
    svm = _reported(walk, "by_probability", "svm")
    assert (svm["status"], svm["reason"]) == ("no probabilities", "svm gives none to add up")
    assert _reported(walk, "by_label", "svm")["status"] == "done"
    assert "no probabilities: svm gives none to add up" in _page(walk)


def test_the_report_says_how_predictions_were_mapped(walk: dict[str, StoredResult]) -> None:
    assert "(collapse: probability): b and c as no; a as yes." in _page(walk)
    tables = json.loads(walk["benchmark_report"].result.file("tables.json").read_text())
    assert r"**by\_label**" in tables["challenge_sets_given"]
    assert (
        r"The predicted label is mapped \(collapse: label\): b and c as no; a as yes."
        in (tables["challenge_sets_given"])
    )


def test_a_class_mask_is_the_likeliest_class_of_the_subset(walk: dict[str, StoredResult]) -> None:
    said = _grid(walk, "mask")
    gold = np.where(np.arange(90) % 2 == 0, 2, 0)
    masked = np.where(said["probabilities"][:, 0] >= said["probabilities"][:, 2], 0, 2) == gold
    assert (said["predicted"] == 1).any()
    assert _reported(walk, "mask")["accuracy"] == pytest.approx(masked.mean())
    assert _reported(walk, "unmasked")["accuracy"] == pytest.approx((said["predicted"] == gold).mean())


def test_own_classes_are_logged_with_the_cells_and_others_are_the_reports(walk: dict[str, StoredResult]) -> None:
    said = _grid(walk, "same")["predicted"]
    gold = np.arange(90) % 3
    same, swapped = (said == gold).mean(), (np.array([1, 0, 2])[said] == gold).mean()
    right = {"same": same, "turned": same, "swapped": swapped}
    assert {name: _reported(walk, name)["accuracy"] for name in right} == pytest.approx(right)
    metrics = walk["evaluator_models"].result.part("linear.full.0").summary
    logged = {name: value for name, value in metrics.items() if name.startswith("accuracy.")}
    assert set(logged) == {"accuracy.test", "accuracy.same"}
    assert logged["accuracy.same"] == pytest.approx(same)


def test_a_limit_and_dropped_rows_are_told(walk: dict[str, StoredResult]) -> None:
    facts = read_challenge_sets(walk["challenge_sets"].result)
    assert facts.missing == {}
    assert facts.sets["some"].as_json() == {
        "rows": 40,
        "source_rows": 1500,
        "unlabelled_rows": 500,
        "label_names": ["a", "b"],
        "dataset_classes": False,
        "undecodable_images": 0,
    }
    assert walk["challenge_sets"].result.summary["rows"]["some"] == 40
    assert "The spec limits it to 40 of 1,000 rows." in _page(walk)
    assert "Rows without a label were dropped: 500." in _page(walk)


def test_a_new_map_is_a_new_report_of_the_same_models(tmp_path: Path, store: ResultStore) -> None:
    _write(tmp_path, "two", ["yes", "no", "no"])
    first, second = (
        run_pipeline(
            parse_spec(_content(tmp_path, two={"map": {"a": "yes", "b": other, "c": "no"}, "collapse": collapse})),
            store=store,
        )
        for other, collapse in (("no", "label"), ("yes", "probability"))
    )
    assert second["evaluator_models"].cached
    assert not second["benchmark_report"].cached
    before, after = (_reported(each, "two")["accuracy"] for each in (first, second))
    assert before != after


def test_a_set_that_vanished_is_left_out_told_and_looked_for_again(
    tmp_path: Path, store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "gone"):
        _write(tmp_path, name, list(CLASSES))
    spec = parse_spec(_content(tmp_path, here={}, gone={"required": False}))

    def lose(source: Any, **settings: Any) -> Any:
        if "gone" in str(source.splits):
            raise MissingDataError("the hub <b> cannot be reached; try again")
        return load_source(source, **settings)

    monkeypatch.setattr(challenge_sets, "load_source", lose)
    logged: list[str] = []
    first = run_pipeline(spec, store=store, progress=Progress(logged.append))
    reason = "challenge set 'gone': the hub <b> cannot be reached; try again"
    assert f"challenge set gone is left out: {reason}" in logged
    summary = first["challenge_sets"].result.summary
    assert (summary["rows"], summary["missing"]) == ({"here": 90}, {"gone": reason})
    assert read_challenge_sets(first["challenge_sets"].result).missing == {"gone": reason}
    assert not (first["challenge_sets"].result.path / "gone").exists()
    predictions = pq.read_table(first["evaluator_models"].result.part("linear.full.0").file("predictions.parquet"))
    assert set(predictions["test_set"].to_pylist()) == {"test", "here"}
    page = first["benchmark_report"].result.file("report.html").read_text()
    shown = next(one for one in details_of(page) if one["title"] == "Challenge sets that are not available")
    assert shown["rows"][0][0] == "gone"
    assert shown["rows"][0][1].startswith("challenge set 'gone': the hub <b> cannot be")
    assert "the hub <b>" not in page
    tables = json.loads(first["benchmark_report"].result.file("tables.json").read_text())
    assert "| gone | challenge set 'gone': the hub &lt;b&gt;" in tables["missing_sets"]

    still = run_stage("challenge_sets", spec, store=store)
    assert not still.cached
    assert still.result.data_version == first["challenge_sets"].result.data_version
    monkeypatch.undo()
    found = run_stage("challenge_sets", spec, store=store)
    assert found.result.summary["rows"] == {"here": 90, "gone": 90}
    assert run_stage("challenge_sets", spec, store=store).cached


def test_a_set_whose_file_is_missing_is_found_as_missing_until_it_is_there(tmp_path: Path, store: ResultStore) -> None:
    spec = parse_spec(_content(tmp_path, gone={"required": False}))
    first = run_pipeline(spec, store=store)
    assert list(first["challenge_sets"].result.summary["missing"]) == ["gone"]
    report = json.loads(first["benchmark_report"].result.file("report.json").read_text())
    assert "gone.parquet' does not exist" in report["dataset"]["missing_sets"]["gone"]
    assert "These challenge sets are not available, so nothing was tested on them: gone." in report["summary"]
    assert run_stage("challenge_sets", spec, store=store).cached
    _write(tmp_path, "gone", list(CLASSES))
    second = run_pipeline(spec, store=store)
    assert second["challenge_sets"].result.summary["missing"] == {}
    assert _reported(second, "gone")["status"] == "done"


def test_a_required_set_must_be_there(tmp_path: Path, store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, "gone", list(CLASSES))
    spec = parse_spec(_content(tmp_path, gone={}))

    def lose(source: Any, **settings: Any) -> Any:
        raise MissingDataError("no such file")

    monkeypatch.setattr(challenge_sets, "load_source", lose)
    run_stage("raw_dataset", spec, store=store)
    with pytest.raises(MissingDataError, match="challenge set 'gone': no such file"):
        run_stage("challenge_sets", spec, store=store)


def test_a_set_that_is_not_required_must_still_be_well_formed(tmp_path: Path, store: ResultStore) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no parquet")
    spec = parse_spec(_content(tmp_path, bad={"required": False}))
    run_stage("raw_dataset", spec, store=store)
    with pytest.raises(DataError, match="challenge set 'bad': ") as raised:
        run_stage("challenge_sets", spec, store=store)
    assert not isinstance(raised.value, MissingDataError)


def test_a_set_without_a_map_that_fits_is_refused_before_it_is_published(tmp_path: Path, store: ResultStore) -> None:
    _write(tmp_path, "odd", ["yes", "no", "no"])
    spec = parse_spec(_content(tmp_path, odd={"required": False}))
    run_stage("raw_dataset", spec, store=store)
    with pytest.raises(DataError, match=r"challenge set 'odd' has labels \['no', 'yes'\].*set `map` so that"):
        run_stage("challenge_sets", spec, store=store)


def test_inputs_of_another_width_are_refused(tmp_path: Path, store: ResultStore) -> None:
    _write(tmp_path, "thin", list(CLASSES))
    content = _content(tmp_path, thin={"columns": {"features": ["x0", "x1"]}})
    spec = parse_spec(content)
    run_stage("raw_dataset", spec, store=store)
    with pytest.raises(
        DataError, match="challenge set 'thin' has 2 features, but the dataset has 3; both need the same"
    ):
        run_stage("challenge_sets", spec, store=store)


def test_a_category_with_the_name_of_the_answers_own_column_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,A,B,key,label\nq,yes,no,A,easy\nr,up,down,B,hard\n")
    table = {"format": "csv", "splits": {"test": str(tmp_path / "q.csv")}}
    source = {
        "format": "multiple_choice",
        "table": table,
        "question": "question",
        "answers": ["A", "B"],
        "right": "key",
    }
    challenge = ChallengeSpec.model_validate({"source": source, "category": "label"})
    tables = load_challenge("asked", challenge)
    raw = Examples(pa.table({"text": ["q"], "text_pair": ["a"], "label": [0]}), ("right", "wrong"))
    with pytest.raises(
        DataError, match="challenge set 'asked': the column 'label' cannot be an attribute, subset or cat"
    ):
        build_challenge("asked", challenge, tables, raw, seed=0)


def test_a_category_of_as_many_values_as_rows_is_refused(tmp_path: Path, store: ResultStore) -> None:
    _write(tmp_path, "ids", rows=300)
    spec = parse_spec(_content(tmp_path, ids={"category": "x0"}))
    run_stage("raw_dataset", spec, store=store)
    with pytest.raises(
        DataError,
        match=r"category column 'x0' of challenge set 'ids' has 300 different values in 300 rows",
    ):
        run_stage("challenge_sets", spec, store=store)


def test_where_a_missing_set_was_looked_for_trains_nothing_anew(tmp_path: Path, store: ResultStore) -> None:
    versions = set()
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        content = _content(tmp_path, gone={"required": False})
        content["challenge_sets"]["gone"]["source"]["splits"]["test"] = str(tmp_path / folder / "gone.parquet")
        for name in ("raw_dataset", "challenge_sets"):
            obtained = run_stage(name, parse_spec(content), store=store)
        assert folder in read_challenge_sets(obtained.result).missing["gone"]
        versions.add(obtained.result.data_version)
    assert len(versions) == 1


@pytest.mark.parametrize(("attributes", "stays"), [((), False), (("site",), True)])
def test_a_category_that_is_also_an_attribute_stays_one(
    attributes: tuple[str, ...], stays: bool, tmp_path: Path, store: ResultStore
) -> None:
    _write(tmp_path, "crossed", list(CLASSES))
    table = pq.read_table(tmp_path / "crossed.parquet")
    pq.write_table(table.append_column("site", pa.array(["north", "south", "west"] * 30)), tmp_path / "crossed.parquet")
    columns = {"features": ["x0", "x1", "x2"], "attributes": list(attributes)}
    spec = parse_spec(_content(tmp_path, crossed={"category": "site", "columns": columns}))
    run_stage("raw_dataset", spec, store=store)
    examples = load_examples(run_stage("challenge_sets", spec, store=store).result.path / "crossed")
    assert category_columns(examples)["site"].tolist() == ["north", "south", "west"] * 30
    kept = [one.name for one in properties_of(examples) if one.kind == "attribute" and one.name == "site"]
    assert kept == (["site"] if stays else [])
