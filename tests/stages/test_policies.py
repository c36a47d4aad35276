"""Choices of the filter, groups, several representations and odd splits: every walk ends and its checks hold."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.assets.filtering import _filter_checks
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import DataError, SpecError
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_pipeline, run_stage
from aflite_assets.stages.shared.published import full_rows, kept_rows, read_control_sets
from aflite_assets.stages.shared.report_inputs import trial_note
from aflite_assets.stages.shared.train_sets import train_sets
from aflite_assets.stages.warmup.warmup_split import _check_plan

pytestmark = pytest.mark.usefixtures("undrawn")


def _grouped(folder: Path, *, group_size: int = 3, **changes: Any) -> DatasetSpec:
    """Three classes in grouped rows, one of them missing in the split `dev`, some rows unlabelled."""
    rng = np.random.default_rng(0)
    for split, rows in (("train", 300), ("test", 90), ("dev", 30)):
        labels = np.arange(rows) % (2 if split == "dev" else 3)
        features = rng.normal(size=(rows, 4)) + 2 * np.eye(4)[labels]
        given = np.where(np.arange(rows) % 50 == 49, -1, labels)
        columns = {f"x{i}": features[:, i] for i in range(4)}
        group = [f"{split}{row // group_size}" for row in range(rows)]
        pq.write_table(pa.table({**columns, "label": given, "premise": group}), folder / f"{split}.parquet")
    content = {
        "name": "grouped",
        "source": {
            "format": "parquet",
            "splits": {split: str(folder / f"{split}.parquet") for split in ("train", "test", "dev")},
        },
        "columns": {"features": ["x0", "x1", "x2", "x3"], "group": "premise"},
        "labels": ["a", "b", "c"],
        "unlabelled": [-1],
        "representations": {"one": {"kind": "identity"}, "two": {"kind": "identity"}},
        "filter": {"target_size": 0.6, "train_size": 0.3, "slice_size": 0.1, "n_partitions": 8, "threshold": 0.6},
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [0],
    }
    content["filter"] |= changes.pop("filter", {})
    return parse_spec({**content, **changes})


def _made(spec: DatasetSpec, store: ResultStore, last: Sequence[str]) -> dict[str, PublishedResult]:
    """The results of the stages up to the filter, and of those named."""
    first = ("raw_dataset", "challenge_sets", "warmup_split", "warmup_models", "embeddings")
    return {name: run_stage(name, spec, store=store).result for name in (*first, *last)}


@pytest.mark.parametrize(
    ("policy", "remove"), [("scored", "rows"), ("scored", "groups"), ("pooled", "rows"), ("kept", "groups")]
)
def test_every_policy_walks(policy: str, remove: str, tmp_path: Path, store: ResultStore) -> None:
    spec = _grouped(tmp_path, filter={"evaluation_rows": policy, "remove": remove}, full_includes_warmup=True)
    results = run_pipeline(spec, store=store)
    filtered = results["filtered_sets"].result
    assert list(filtered.parts) == ["one", "two"]
    assert all(
        check.passed
        for check in _filter_checks(filtered)
        if check.check_name not in ("no_cautions", "test_kept_like_train")
    )
    kept, rows = filtered.summary["one"]["kept"], filtered.summary["one"]["rows"]
    assert round(0.6 * rows["train"]) <= kept["train"] < rows["train"]
    assert (kept["test"] == rows["test"]) == (policy == "kept")
    published = pq.read_table(filtered.part("one").file("rows.parquet")).to_pandas()
    if remove == "groups":
        assert (published.groupby(["split", "group"]).kept.nunique() == 1).all()
    assert results["raw_dataset"].result.summary["unlabelled_rows"] == {"train": 6, "test": 1, "dev": 0}
    assert results["evaluator_models"].result.summary["failed"] == 0


def test_each_representation_may_have_a_target_of_its_own(tmp_path: Path, store: ResultStore) -> None:
    ends = {"threshold": 0.0, "target_size": 150}
    own = _grouped(tmp_path, filter=ends | {"representations": {"two": {"target_size": 240}}})
    parts = _made(own, store, ["filtered_sets"])["filtered_sets"].parts
    assert [part.summary["kept"]["train"] for part in parts.values()] == [150, 240]
    alike = _made(_grouped(tmp_path, filter=ends), store, ["filtered_sets"])["filtered_sets"].parts
    assert alike["one"].data_version == parts["one"].data_version
    assert alike["two"].summary["kept"]["train"] == 150
    with pytest.raises(DataError, match=r"filter\.target_size` is 900, but there are only 294 train rows to filter"):
        _made(_grouped(tmp_path, filter=ends | {"representations": {"two": {"target_size": 900}}}), store, [])


def test_ignored_groups_are_split_between_training_and_held_out_rows(tmp_path: Path, store: ResultStore) -> None:
    results = [
        _made(_grouped(tmp_path, filter={"groups": groups}), store, ["filtered_sets"])["filtered_sets"]
        for groups in ("whole", "ignore")
    ]
    uneven = []
    for result in results:
        rows = pq.read_table(result.part("one").file("rows.parquet")).to_pandas()
        held_out = rows[rows.kept].groupby(["split", "group"]).held_out_count.nunique()
        uneven.append(int((held_out > 1).sum()))
    assert uneven[0] == 0
    assert uneven[1] > 50


def test_the_target_is_about_train_rows_while_others_share_the_pool(tmp_path: Path, store: ResultStore) -> None:
    spec = _grouped(tmp_path, filter={"target_size": 250, "slice_size": 30, "threshold": 0.0})
    filtered = _made(spec, store, ("filtered_sets",))["filtered_sets"]
    assert filtered.summary["one"]["kept"]["train"] == 250
    iterations = pq.read_table(filtered.part("one").file("iterations.parquet")).to_pylist()
    assert [row["train_rows_in"] for row in iterations][:: len(iterations) - 1] == [294, 250]
    assert iterations[0]["rows_in"] == 294 + 89 + 30
    assert sum(row["removed"] - row["train_removed"] for row in iterations) > 0
    too_large = _grouped(tmp_path, filter={"target_size": 350})
    for name in ("raw_dataset", "challenge_sets"):
        run_stage(name, too_large, store=store)
    with pytest.raises(DataError, match=r"filter\.target_size` is 350, but there are only 294 train rows to filter"):
        run_stage("warmup_split", too_large, store=store)


def test_splits_may_be_treated_one_by_one(tmp_path: Path, store: ResultStore) -> None:
    spec = _grouped(tmp_path, filter={"evaluation_rows": {"test": "scored", "dev": "kept"}})
    results = _made(spec, store, ("filtered_sets", "control_sets"))
    filtered = results["filtered_sets"]
    kept, rows = filtered.summary["one"]["kept"], filtered.summary["one"]["rows"]
    assert kept["dev"] == rows["dev"]
    assert kept["test"] < rows["test"]
    iterations = pq.read_table(filtered.part("one").file("iterations.parquet")).to_pylist()
    assert (iterations[0]["rows_in"], iterations[0]["scored_rows_in"]) == (294, 89)
    assert json.loads(filtered.part("one").file("filter.json").read_text())["settings"]["evaluation_rows"] == {
        "test": "scored",
        "dev": "kept",
    }
    controls = read_control_sets(results["control_sets"])
    assert {one.split for one in controls if one.name == "single_pass_linear"} == {"train", "test"}
    with pytest.raises(
        SpecError, match=r"evaluation_rows` contains 'train', which is not a split other than 'train'; name"
    ):
        _grouped(tmp_path, filter={"evaluation_rows": {"train": "kept"}})


def test_groups_too_large_for_the_warm_up_are_named(tmp_path: Path, store: ResultStore) -> None:
    spec = _grouped(tmp_path, group_size=100, warmup={"size": 50})
    raw = load_examples(run_stage("raw_dataset", spec, store=store).result.path)
    with pytest.raises(
        DataError, match=r"`warmup.size` is 50, which gives 0 rows of 0 classes, .* and groups are not split"
    ):
        _check_plan(spec, raw, np.zeros(0, np.int64), needed=True)


def test_removal_by_groups_is_checked_before_anything_is_trained(tmp_path: Path, store: ResultStore) -> None:
    for settings, message in (
        (
            {"slice_size": 2},
            r"the largest group has 3 rows, but `filter\.slice_size` is 2 and `filter\.remove` is `groups`",
        ),
        ({}, r"`filter\.remove` is `groups`, but the dataset has no groups; set `columns\.group`, or set `filter"),
    ):
        spec = _grouped(tmp_path, filter={"remove": "groups", "train_size": 30, "slice_size": 10, **settings})
        if not settings:
            spec = spec.model_copy(update={"columns": spec.columns.model_copy(update={"group": None})})
        run_stage("raw_dataset", spec, store=store)
        with pytest.raises(DataError, match=message):
            run_stage("warmup_split", spec, store=store)


def test_counts_that_reports_print_are_part_of_the_data_version(tmp_path: Path, store: ResultStore) -> None:
    spec = _grouped(tmp_path)
    first = run_stage("raw_dataset", spec, store=store).result
    path = tmp_path / "test.parquet"
    table = pq.read_table(path)
    unlabelled = table.slice(0, 5).set_column(4, "label", pa.array([-1] * 5))
    pq.write_table(pa.concat_tables([table, unlabelled]), path)
    second = run_stage("raw_dataset", spec, store=store).result
    assert second.summary["unlabelled_rows"]["test"] == first.summary["unlabelled_rows"]["test"] + 5
    assert second.data_version != first.data_version


def test_a_limit_that_does_not_bind_is_no_trial_run(tmp_path: Path, store: ResultStore) -> None:
    wide, narrow = (_grouped(tmp_path, limit={"train": rows}) for rows in (294, 150))
    assert not run_stage("raw_dataset", wide, store=store).result.summary["trial_run"]
    limited = run_stage("raw_dataset", narrow, store=store).result
    assert limited.summary["trial_run"]
    (note,) = trial_note(limited)
    assert note.endswith("of 294 train rows, 89 of 89 test rows, 30 of 30 dev rows.")


def test_a_challenge_set_that_the_spec_no_longer_names_is_refused(tmp_path: Path, store: ResultStore) -> None:
    columns = {"features": ["x0", "x1", "x2", "x3"]}
    source = {"format": "parquet", "splits": {"test": str(tmp_path / "dev.parquet")}}
    challenge = {"source": source, "columns": columns, "labels": ["a", "b", "c"], "unlabelled": [-1]}
    run_pipeline(_grouped(tmp_path, challenge_sets={"odd": challenge}), store=store)
    with pytest.raises(
        DataError, match=r"`challenge_sets` has the sets \['odd'\], but the dataset's YAML file names \[\]; mat"
    ):
        run_stage("analysis", _grouped(tmp_path), store=store)


def test_several_runs_of_the_filter_are_trained_on_in_turn(tmp_path: Path, store: ResultStore) -> None:
    spec = _grouped(tmp_path, seeds=[5, 6, 7, 8], filter_seeds=2, filter={"threshold": 0.0})
    results = run_pipeline(spec, store=store)
    part = results["filtered_sets"].result.part("one")
    runs = [kept_rows(part, run) for run in (0, 1)]
    published = pq.read_table(part.file("rows.parquet"), filters=[("kept", "=", True), ("split", "=", "train")])
    np.testing.assert_array_equal(runs[0]["train"], np.sort(published["row_id"].to_numpy()))
    first, second = (set(run["train"].tolist()) for run in runs)
    assert len(first) == len(second) == 176
    summary = part.summary
    assert summary["kept_jaccard"]["mean"] == pytest.approx(len(first & second) / len(first | second))
    assert summary["kept_jaccard"]["by_chance"] < summary["kept_jaccard"]["mean"] < 1
    assert summary["kept_train_rows"] == [176, 176]
    alone = _grouped(tmp_path, seeds=[5, 6, 7], filter={"threshold": 0.0}, seed=1)
    other = _made(alone, store, ("filtered_sets",))["filtered_sets"].part("one")
    np.testing.assert_array_equal(kept_rows(other, 0)["train"], runs[1]["train"])
    raw = load_examples(results["raw_dataset"].result.path)
    full = full_rows(raw, results["warmup_split"].result, include_warmup=False).in_split("train").row_ids
    filtered_sets, controls = results["filtered_sets"].result, read_control_sets(results["control_sets"].result)
    for seed, run in ((5, 0), (6, 1), (7, 0), (8, 1)):
        sets = train_sets(full, filtered_sets, controls, seed, filter_run=run)
        (filtered,) = [one for one in sets if (one.name, one.representation) == ("filtered", "one")]
        np.testing.assert_array_equal(filtered.row_ids, runs[run]["train"])
        (matched,) = [one for one in sets if (one.name, one.representation) == ("random_matched", "one")]
        wanted, found = (np.bincount(raw.select(one.row_ids).labels) for one in (filtered, matched))
        assert wanted.tolist() == found.tolist()
    report = json.loads(results["benchmark_report"].result.file("report.json").read_text())
    assert any("was run 2 times, with other draws each time" in sentence for sentence in report["summary"])
    (pair,) = [
        one
        for one in report["tables"]["differences"]
        if one["comparison"] == "control"
        and one["column"] is one["label"] is None
        and (one["train_set"], one["against"], one["test_set"]) == ("filtered", "random_matched", "test")
        and (one["representation"], one["tested_on"]) == ("one", "full")
    ]
    assert (pair["seeds"], pair["seeds_against"]) == (2, 4)


def test_more_runs_of_the_filter_than_seeds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError,
        match="`filter_seeds` is 2, but 1 seeds cannot be divided evenly among so many filter runs; change "
        "`filter_seeds` or the number of `seeds`",
    ):
        _grouped(tmp_path, filter_seeds=2)
