"""The stage of `cue_scan` on small files: what it publishes, what its check says, and which rows are shown of a cue."""

import csv
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.scan.cues import CUE_ROWS, CUE_SETS, SURFACE_CUES
from aflite_assets.specs.registry import load_registry, parse_spec
from aflite_assets.stages.checks import stage_checks
from aflite_assets.stages.data.cue_scan import CUE_SCAN, carriers_of, example_carriers, grouped_with_copies, read_scan
from aflite_assets.stages.evaluation.leaning_sets import cue_properties
from aflite_assets.stages.pipeline import run_stage
from tests.planted_reviews import WORDS, planted_reviews, write_reviews

BEFORE = ("raw_dataset", "challenge_sets", "cue_scan")
CUE = "ellipsis sign (…) (review)"


def made(folder: Path, store: ResultStore, *, share: float) -> dict[str, PublishedResult]:
    spec = parse_spec(planted_reviews(folder, share=share))
    return {name: run_stage(name, spec, store=store).result for name in BEFORE}


def outcome(results: dict[str, PublishedResult]) -> tuple[str, str]:
    any_settings = load_registry()["circles_1"]  # these checks read none
    check, of_questions = stage_checks(CUE_SCAN, results["cue_scan"], any_settings, results)
    assert not of_questions.applies
    return check.outcome, check.said


def test_a_sign_that_goes_with_a_class_is_named_with_its_rows(tmp_path: Path, store: ResultStore) -> None:
    results = made(tmp_path, store, share=0.6)
    carriers = write_reviews(tmp_path / "again.csv", 600, seed=1, share=0.6)
    result = results["cue_scan"]
    assert (result.summary["verdict"], result.summary["artefacts"], result.summary["rows"]) == ("artefact", 1, 600)
    cue = read_scan(result).artefacts[0]
    assert (cue.name, cue.label, cue.reason, cue.rows) == (CUE, "good", "artefact", len(carriers))
    assert (cue.precision, cue.share_of_rest) == (1.0, 0.0)
    tables = {name: pq.read_table(result.file(f"{name}.parquet")) for name in ("surface_cues", "cue_sets", "cue_rows")}
    assert [tables[name].schema for name in tables] == [SURFACE_CUES, CUE_SETS, CUE_ROWS]
    own = tables["cue_rows"].filter(pc.equal(tables["cue_rows"]["cue"], cue.number))
    assert own.filter(pc.equal(own["set"], "train"))["row_id"].to_pylist() == carriers
    elsewhere = tables["cue_sets"].filter(pc.equal(tables["cue_sets"]["cue"], cue.number)).to_pylist()
    assert [(one["set"], one["rows"], one["state"]) for one in elsewhere] == [
        ("test", 200, "holds"),
        ("clean", 200, "gone"),
    ]
    assert outcome(results)[0] == "failed"
    assert outcome(results)[1].startswith(f"Found 1 artefact that tells the label (“{CUE}” for class “good”, 79 %)")
    assert "To do: mend the source" in outcome(results)[1]


def test_without_a_tie_nothing_is_found_and_the_check_passes(tmp_path: Path, store: ResultStore) -> None:
    results = made(tmp_path, store, share=0.0)
    assert results["cue_scan"].summary["verdict"] == "nothing"
    assert read_scan(results["cue_scan"]).cues == ()
    assert outcome(results) == ("passed", "Nothing found: none of " + outcome(results)[1].partition("none of ")[2])
    assert cue_properties(results["cue_scan"]) == ()


def test_rows_of_the_class_that_carry_a_cue_are_drawn_as_examples(tmp_path: Path, store: ResultStore) -> None:
    results = made(tmp_path, store, share=0.6)
    raw = load_examples(results["raw_dataset"].path)
    number = read_scan(results["cue_scan"]).artefacts[0].number
    drawn = example_carriers(results["cue_scan"], raw, most=3)[number]
    assert len(drawn) == 3
    texts = raw.select(drawn).texts("text")
    assert all(text is not None and "…" in text for text in texts)
    assert example_carriers(results["cue_scan"], raw, most=3)[number] == drawn


def test_all_rows_that_carry_a_cue_are_known_by_their_ids(tmp_path: Path, store: ResultStore) -> None:
    results = made(tmp_path, store, share=0.6)
    raw = load_examples(results["raw_dataset"].path)
    number = read_scan(results["cue_scan"]).artefacts[0].number
    carriers = carriers_of(results["cue_scan"], raw)[number]
    marked = ["…" in (text or "") for text in raw.texts("text")]
    assert np.sort(carriers).tolist() == raw.row_ids[marked].tolist()
    splits = np.array(raw.table["split"].to_pylist())
    of_train = carriers_of(results["cue_scan"], raw, ("train",))[number]
    assert np.sort(of_train).tolist() == raw.row_ids[np.array(marked) & (splits == "train")].tolist()
    assert len(of_train) < len(carriers)


def test_a_cue_is_a_property_of_the_rows_of_every_set(tmp_path: Path, store: ResultStore) -> None:
    results = made(tmp_path, store, share=0.6)
    (one,) = (each for each in cue_properties(results["cue_scan"]) if each.name == CUE)
    assert (one.kind, one.reason) == ("typography", "artefact")
    raw, clean = (
        load_examples(path) for path in (results["raw_dataset"].path, results["challenge_sets"].path / "clean")
    )
    values = one.values(raw.in_split("train"))
    assert values is not None
    assert [row for row, value in enumerate(values.tolist()) if value == "yes"] == write_reviews(
        tmp_path / "again.csv", 600, seed=1, share=0.6
    )
    elsewhere = one.values(clean, "clean")
    assert elsewhere is not None
    assert set(elsewhere.tolist()) == {"no"}
    assert one.values(clean, "a set that was not scanned") is None


def test_rows_beyond_the_sample_of_a_large_set_have_no_value(
    tmp_path: Path, store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("aflite_assets.stages.data.cue_scan.MOST_ROWS", 500)
    results = made(tmp_path, store, share=0.6)
    assert read_scan(results["cue_scan"]).notes == ("Of 1,000 rows a random sample of 900 was scanned.",)
    (one,) = (each for each in cue_properties(results["cue_scan"]) if each.name == CUE)
    values = one.values(load_examples(results["raw_dataset"].path).in_split("train"))
    assert values is not None
    assert set(values.tolist()) == {"yes", "no", "not scanned"}
    assert (values == "not scanned").sum() == 100


def test_near_copies_are_of_one_group(tmp_path: Path, store: ResultStore) -> None:
    words = np.random.default_rng(0).choice(WORDS, (40, 120))
    families = [f"{' '.join(words[row // 5])} end {row % 5}" for row in range(200)]
    with (tmp_path / "copies.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [(text, ("bad", "good")[row // 5 % 2], row // 20) for row, text in enumerate(families)]
        csv.writer(file).writerows([("text", "label", "who"), *rows])
    spec = {
        **planted_reviews(tmp_path, share=0.0),
        "source": {"format": "csv", "splits": {"train": str(tmp_path / "copies.csv")}},
        "challenge_sets": {},
        "holdout": {"test": 0.2},
    }

    def groups(name: str, columns: dict[str, str]) -> tuple[np.ndarray, np.ndarray]:
        parsed = parse_spec({**spec, "name": name, "columns": columns})
        made = {stage: run_stage(stage, parsed, store=store).result for stage in BEFORE}
        raw = load_examples(made["raw_dataset"].path)
        found = grouped_with_copies(made["cue_scan"], raw).groups
        assert found is not None
        return raw.row_ids, found

    for columns in ({"text": "text", "label": "label"}, {"text": "text", "label": "label", "group": "who"}):
        row_ids, found = groups("copies" + "_grouped" * ("group" in columns), columns)
        expected = row_ids // (20 if "group" in columns else 5)
        same = found[:, None] == found
        assert np.array_equal(same, expected[:, None] == expected)
