"""A filter that ranks rows by vocabulary, from the texts to published columns, earlier sets and a finished grid."""

import json
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import DataError
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.filtering.row_words import DatasetWords
from aflite_assets.stages.pipeline import STAGES, find_stage, run_stage
from aflite_assets.stages.shared.published import read_control_sets
from tests.small_datasets import circles, template_pairs

pytestmark = pytest.mark.usefixtures("undrawn")

BEFORE = ("raw_dataset", "challenge_sets", "cue_scan", "warmup_split", "warmup_models", "embeddings")
RANKED = {"rank": "vocabulary", "evaluation_rows": "kept", "threshold": 0.5, "target_size": 150, "slice_size": 30}


def content(**filtering: Any) -> dict[str, Any]:
    pairs = template_pairs(train=330, test=60, warmup=60, epochs=1, **(RANKED | filtering))
    return pairs | {"train_sets": {"earlier": 200}}


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    """A store in which the rows are embedded."""
    store = ResultStore(tmp_path_factory.mktemp("embedded") / "results")
    for stage in BEFORE:
        run_stage(stage, parse_spec(content()), store=store)
    return store


def filtered(store: ResultStore, spec: DatasetSpec) -> Any:
    return run_stage("filtered_sets", spec, store=store).result.part("small")


def test_what_is_published_of_words(embedded: ResultStore) -> None:
    spec = parse_spec(content())
    part = filtered(embedded, spec)
    rows = pq.read_table(part.file("rows.parquet"))
    train = rows["split"].to_numpy(zero_copy_only=False) == "train"
    raw = load_examples(embedded.current("raw_dataset", "templates").path)
    words = DatasetWords.of(raw).of_rows(rows["row_id"].to_numpy()[train])
    own, share = (rows[name].filter(train) for name in ("own_words", "vocabulary_share"))
    assert rows["own_words"].null_count == rows["vocabulary_share"].null_count == (~train).sum() == 60
    assert not np.array(own.to_pylist()).any()  # every word of the grammar stands in many rows
    distinct = len(np.unique(words.numbers))
    assert sum(share.to_pylist()) == pytest.approx(distinct, abs=1e-9)
    iterations = pq.read_table(part.file("iterations.parquet")).to_pylist()
    assert iterations[0]["distinct_words"] == distinct
    assert iterations[0]["words_per_row"] == pytest.approx(np.diff(words.offsets).mean())
    kept = rows["kept"].to_numpy(zero_copy_only=False)[train]
    left = words.of_rows(np.flatnonzero(kept))
    assert iterations[-1]["distinct_words"] == len(np.unique(left.numbers))
    assert iterations[-1]["words_per_row"] == pytest.approx(np.diff(left.offsets).mean())
    outcome = json.loads(part.file("filter.json").read_text())
    assert outcome["settings"]["ranking"] == "vocabulary"
    assert outcome["settings"]["evaluation_rows"] == {"test": "kept"}


def test_the_shortlist_passes_the_threshold_and_the_slice_is_its_lowest_share(embedded: ResultStore) -> None:
    part = filtered(embedded, parse_spec(content()))
    rows = pq.read_table(part.file("rows.parquet"), filters=[("split", "=", "train")])
    scores = pq.read_table(part.file("scores/000.parquet"))
    by_id = dict(zip(scores["row_id"].to_pylist(), scores["predictability"].to_pylist(), strict=True))
    share = dict(zip(rows["row_id"].to_pylist(), rows["vocabulary_share"].to_pylist(), strict=True))
    gone = rows.filter(np.array(rows["removed_in_iteration"].to_pylist()) == 0)["row_id"].to_pylist()
    assert len(gone) == 30
    assert min(by_id[row] for row in gone) >= 0.5
    stayed = [row for row, score in by_id.items() if score >= 0.5 and row not in gone]
    assert max(share[row] for row in gone) <= min(share[row] for row in stayed)
    assert len(stayed) > 30


def test_earlier_sets_are_those_of_a_filter_with_that_target(embedded: ResultStore) -> None:
    spec = parse_spec(content())
    filtered(embedded, spec)
    controls = read_control_sets(run_stage("control_sets", spec, store=embedded).result)
    earlier = {control.name: control.row_ids for control in controls if control.name.endswith("_earlier")}
    part = filtered(embedded, parse_spec(content(target_size=200)))
    rows = pq.read_table(part.file("rows.parquet"), filters=[("split", "=", "train"), ("kept", "=", True)])
    assert np.sort(earlier["filtered_earlier"]).tolist() == sorted(rows["row_id"].to_pylist())
    assert len(earlier["random_earlier"]) == 200


def test_the_ranking_is_part_of_the_key_and_the_old_one_has_no_words(embedded: ResultStore) -> None:
    by_words = filtered(embedded, parse_spec(content()))
    spec = parse_spec(content(rank="predictability"))
    assert find_stage("filtered_sets", spec, store=embedded) is None
    part = filtered(embedded, spec)
    rows = pq.read_table(part.file("rows.parquet")).column_names
    assert rows[-1] == "label_probability"
    assert {"own_words", "vocabulary_share"}.isdisjoint(rows)
    iterations = pq.read_table(part.file("iterations.parquet")).column_names
    assert {"distinct_words", "words_per_row"}.isdisjoint(iterations)
    assert json.loads(part.file("filter.json").read_text())["settings"]["ranking"] == "predictability"
    assert part.data_version != by_words.data_version
    again = find_stage("filtered_sets", parse_spec(content()), store=embedded)
    assert again is not None
    assert again.result.part("small").data_version == by_words.data_version


def test_rankings_are_compared_by_a_second_filtered_set(embedded: ResultStore) -> None:
    spec = parse_spec(content(compare=["predictability"]))
    alone = {rank: filtered(embedded, parse_spec(content(rank=rank))) for rank in ("vocabulary", "predictability")}
    result = run_stage("filtered_sets", spec, store=embedded).result
    assert list(result.parts) == ["small", "small_by_predictability"] == list(spec.filterings)
    assert result.part("small").data_version == alone["vocabulary"].data_version
    assert result.part("small_by_predictability").data_version == alone["predictability"].data_version
    assert "representation" not in result.summary["small"]
    assert result.summary["small_by_predictability"]["representation"] == "small"
    controls = read_control_sets(run_stage("control_sets", spec, store=embedded).result)
    names = {
        name: sorted({control.name for control in controls if control.representation == name}) for name in result.parts
    }
    assert names["small"] == names["small_by_predictability"]
    assert {"random_matched", "single_pass_model", "filtered_earlier"} <= set(names["small"])
    for stage in list(STAGES)[list(STAGES).index("control_sets") + 1 :]:
        run_stage(stage, spec, store=embedded)
    cells = pq.read_table(embedded.current("evaluator_models", "templates").file("cells.parquet"))
    trained = set(zip(cells["representation"].to_pylist(), cells["train_set"].to_pylist(), strict=True))
    assert {(name, "filtered") for name in result.parts} <= trained
    assert {(name, "random_matched") for name in result.parts} <= trained
    evidence = json.loads(embedded.current("bias_evidence", "templates").file("evidence.json").read_text())
    assert any(table["title"].startswith("Overlap of the rows") for table in evidence["tables"])
    published = embedded.current("benchmark_report", "templates")
    report = json.loads(published.file("report.json").read_text())
    assert list(report["representations"]) == list(result.parts)
    check_reported_rankings(report["tables"], result, report["evidence"])
    assert embedded.current("analysis", "templates").file("tables/ranking_overlap.parquet").is_file()
    page = published.file("report.html").read_text()
    assert page.count('id="rankings"') == 1
    assert "Ranked by vocabulary and by predictability, representation small" in page


def check_reported_rankings(tables: dict[str, Any], result: Any, evidence: list[dict[str, Any]]) -> None:
    """Overlaps against the published rows and the evidence, and both sizes with an interval."""
    kept = [
        set(rows.filter(rows["kept"])["row_id"].to_pylist())
        for part in result.parts.values()
        for rows in [pq.read_table(part.file("rows.parquet"), filters=[("split", "=", "train")])]
    ]
    overlap = {row["train_set"]: row for row in tables["ranking_overlap"]}
    assert list(overlap) == ["filtered", "filtered_earlier"]
    both, either = len(kept[0] & kept[1]), len(kept[0] | kept[1])
    assert [overlap["filtered"][name] for name in ("rows", "first_rows", "second_rows", "shared")] == [
        270, *map(len, kept), both,
    ]  # fmt: skip
    assert overlap["filtered"]["jaccard"] == pytest.approx(both / either)
    assert [overlap["filtered_earlier"][name] for name in ("first_rows", "second_rows")] == [200, 200]
    assert 0 < overlap["filtered"]["jaccard_by_chance"] < overlap["filtered_earlier"]["jaccard_by_chance"] < 1
    (removed,) = next(each["rows"] for each in evidence if each["title"].startswith("Overlap of the rows"))
    assert removed["common_rows"] == 270
    assert removed["both_removed"] == 270 - either
    ranked = [row for row in tables["differences"] if row["comparison"] == "ranking"]
    found = {(row["train_set"], row["test_set"]): row for row in ranked}
    assert list(found) == [("filtered", "test"), ("filtered_earlier", "test")]
    for row in found.values():
        assert (row["representation"], row["against_representation"]) == ("small", "small_by_predictability")
        assert row["low"] <= row["difference"] <= row["high"]
        first, second = (
            next(
                one["accuracy"]
                for one in tables["accuracies"]
                if (one["representation"], one["train_set"], one["test_set"]) == (side, row["train_set"], "test")
                and (one["evaluator"], one["tested_on"], one["top"]) == (row["evaluator"], "full", 1)
            )
            for side in ("small", "small_by_predictability")
        )
        assert row["difference"] == pytest.approx(100 * (first - second))


def test_rows_without_texts_have_no_words(store: ResultStore) -> None:
    run_stage("raw_dataset", parse_spec(circles("small_circles")), store=store)
    raw = load_examples(store.current("raw_dataset", "small_circles").path)
    with pytest.raises(
        DataError, match=r"`filter\.rank` is `vocabulary`, but the rows of this dataset are features and"
    ):
        DatasetWords.of(raw)
