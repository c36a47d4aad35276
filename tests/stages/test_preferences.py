"""Preferences from a file to accuracy by pair: pairs of one prompt are one group, and the scan scores them blind."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.data.cue_scan import check_artefacts, read_scan
from aflite_assets.stages.pipeline import STAGES, run_pipeline
from tests.small_datasets import LINEAR, SMALL_TRANSFORMER

pytestmark = pytest.mark.usefixtures("undrawn")

TRAIN, TEST = 120, 40
WORDS = [f"word{number}" for number in range(200)]


def _pairs(count: int, seed: int) -> list[dict[str, Any]]:
    """Two pairs per prompt; the chosen answer says yes and is the longer one. The last pair is a tie."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        short, long = (" ".join(rng.choice(WORDS, size)) for size in (6, 9))
        prompt = f"is it {seed} {WORDS[number // 2]}"
        rows.append({"prompt": prompt, "chosen": f"yes {long}", "rejected": f"no {short}", "margin": 1, "subset": "a"})
    return [*rows, {**rows[-1], "prompt": f"a tie {seed}", "margin": 0}]


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredResult]:
    folder = tmp_path_factory.mktemp("preferences")
    splits = {}
    for split, count, seed in (("train", TRAIN, 0), ("test", TEST, 1)):
        splits[split] = str(folder / f"{split}.jsonl")
        Path(splits[split]).write_text("\n".join(map(json.dumps, _pairs(count, seed))))
    other = folder / "other.jsonl"
    swapped = [{**row, "chosen": row["rejected"], "rejected": row["chosen"]} for row in _pairs(30, 2)[:20]]
    shared = [_pairs(TRAIN, 0)[0]]
    other.write_text("\n".join(map(json.dumps, [*_pairs(30, 3)[:30], *swapped, *shared])))
    held_out = {"format": "preference", "table": {"format": "jsonl", "splits": {"test": str(other)}}}
    content = {
        "name": "pairs",
        "source": {"format": "preference", "table": {"format": "jsonl", "splits": splits}},
        "warmup": {"size": 40},
        "representations": {"small": SMALL_TRANSFORMER, "surface": {"kind": "surface"}},
        "filter": {"n_partitions": 8, "target_size": 0.5, "slice_size": 0.1, "stop_at_chance": False},
        "evaluators": LINEAR,
        "seeds": [0],
        "train_sets": {"mid": 120},
        "challenge_sets": {
            "shorter": {"source": held_out, "against": ["length"]},
            "balanced": {"source": held_out, "balanced_by": ["length"]},
        },
    }
    return run_pipeline(parse_spec(content), store=ResultStore(folder / "results"))


def test_pairs_of_one_prompt_are_one_group_and_ties_are_dropped(walk: dict[str, StoredResult]) -> None:
    result = walk["raw_dataset"].result
    raw = load_examples(result.path)
    assert raw.groups is not None
    assert raw.questions is not None
    assert len(np.unique(raw.questions)) == TRAIN + TEST
    assert len(np.unique(raw.groups)) == (TRAIN + TEST) // 2
    assert result.summary["dropped_answers"] == {"train": {"tie": 2}, "test": {"tie": 2}}
    assert set(raw.table["attribute.subset"].to_pylist()) == {"a"}


def test_accuracy_is_by_pair(walk: dict[str, StoredResult]) -> None:
    scores = pq.read_table(walk["analysis"].result.file("tables/accuracies.parquet")).to_pylist()
    full = [one for one in scores if (one["train_set"], one["test_set"], one["tested_on"]) == ("full", "test", "full")]
    assert {one["test_rows"] for one in full} == {TEST}
    assert all(one["accuracy"] > 0.8 for one in full)  # yes and no tell every pair


def test_pairs_of_one_prompt_leave_the_filter_together(walk: dict[str, StoredResult]) -> None:
    raw = load_examples(walk["raw_dataset"].result.path)
    rows = pq.read_table(walk["filtered_sets"].result.part("small").file("rows.parquet"))
    kept = np.isin(raw.row_ids, rows.filter(rows["kept"])["row_id"].to_numpy())
    pooled = np.isin(raw.row_ids, rows["row_id"].to_numpy())
    assert raw.groups is not None
    assert all(len(set(kept[pooled & (raw.groups == group)].tolist())) < 2 for group in np.unique(raw.groups))


def test_the_scan_scores_the_pairs_without_the_prompt(walk: dict[str, StoredResult]) -> None:
    blind = read_scan(walk["cue_scan"].result).blind
    assert blind is not None
    assert (blind.questions, blind.chance) == (TRAIN, 0.5)
    (longest,) = (one for one in blind.rules if one.name == "the longest answer")
    assert longest.found == 1.0
    assert longest.is_named


def test_the_check_names_what_finds_answers_without_the_prompt(walk: dict[str, StoredResult]) -> None:
    checks = {one.name: one for one in check_artefacts(walk["cue_scan"].result)}
    needed = checks["question_is_needed"]
    assert (needed.applies, needed.passed) == (True, False)
    assert needed.found.startswith("Without the question ")
    assert "picking the longest answer" in needed.found
    assert "beside each accuracy" in needed.said
    assert not checks["no_artefact_tells"].found.startswith("Without the question")


def test_no_property_of_rows_is_tested_for_leaning_and_the_result_says_why(walk: dict[str, StoredResult]) -> None:
    summary = walk["leaning_sets"].result.summary
    assert summary["candidates"] == 0
    assert "rules that find right answers compare the answers to a question" in str(summary["why"])


def test_a_pair_is_filtered_by_the_difference_of_its_answers(walk: dict[str, StoredResult]) -> None:
    raw = load_examples(walk["raw_dataset"].result.path)
    for name in ("small", "surface"):
        part = walk["embeddings"].result.part(name)
        features, row_ids = np.load(part.file("features.npy")), pq.read_table(part.file("rows.parquet"))["row_id"]
        questions = raw.select(row_ids.to_pylist()).questions
        assert questions is not None
        order = np.argsort(questions, kind="stable")
        first, second = features[order[0::2]], features[order[1::2]]
        np.testing.assert_allclose(first, -second, atol=1e-5)
        assert np.abs(features).max() > 0.1


def test_surface_properties_need_no_model_and_tell_every_pair(walk: dict[str, StoredResult]) -> None:
    assert walk["warmup_models"].result.summary["surface"] == {
        "trained": False,
        "reason": "the features are surface properties; there is nothing to train",
    }
    first = pq.read_table(walk["filtered_sets"].result.part("surface").file("iterations.parquet")).to_pylist()[0]
    assert first["representation_bias"] > 0.99  # the chosen answer is the longer one


def test_random_controls_are_whole_pairs_of_the_same_kind(walk: dict[str, StoredResult]) -> None:
    raw = load_examples(walk["raw_dataset"].result.path)
    rows = pq.read_table(walk["filtered_sets"].result.part("small").file("rows.parquet")).to_pylist()
    kept = sum(row["kept"] and row["split"] == "train" for row in rows)
    for name in ("random", "random_matched"):
        sets = pq.read_table(walk["control_sets"].result.file("sets.parquet")).to_pylist()
        wanted = ("small", name, "train")
        own = [one["row_id"] for one in sets if (one["representation"], one["name"], one["split"]) == wanted]
        drawn = raw.select(own)
        assert len(drawn) == kept
        assert drawn.questions is not None
        assert np.unique(drawn.questions, return_counts=True)[1].tolist() == [2] * (kept // 2)


def test_single_passes_and_earlier_sizes_keep_pairs_of_one_prompt_together(walk: dict[str, StoredResult]) -> None:
    raw = load_examples(walk["raw_dataset"].result.path)
    assert raw.groups is not None
    sets = pq.read_table(walk["control_sets"].result.file("sets.parquet"))
    rows = pq.read_table(walk["filtered_sets"].result.part("small").file("rows.parquet")).to_pylist()
    kept = sum(row["kept"] and row["split"] == "train" for row in rows)
    found = {}
    for name in ("single_pass_model", "single_pass_linear", "filtered_mid", "random_mid"):
        own = [
            one["row_id"]
            for one in sets.to_pylist()
            if (one["representation"], one["name"], one["split"]) == ("small", name, "train")
        ]
        found[name] = len(own)
        by = raw.questions if name == "random_mid" else raw.groups
        assert by is not None
        inside = np.isin(raw.row_ids, own)
        assert set(np.bincount(by[inside]).tolist()) <= {0, 2 if name == "random_mid" else 4}
    assert found == {
        "single_pass_model": kept, "single_pass_linear": kept, "filtered_mid": 120, "random_mid": 120,
    }  # fmt: skip


def test_challenge_sets_are_pairs_whose_length_does_not_help(walk: dict[str, StoredResult]) -> None:
    """Of 30 pairs with the longer answer right, 20 with the shorter one and one of the train rows."""
    challenges = walk["challenge_sets"].result
    assert challenges.summary["rows"] == {"shorter": 40, "balanced": 80}
    shorter = load_examples(challenges.path / "shorter")
    lengths = np.array([len(text) for text in shorter.texts("text_pair")])
    assert shorter.questions is not None
    order = np.lexsort((shorter.labels, shorter.questions))
    assert (lengths[order][0::2] < lengths[order][1::2]).all()
    scores = pq.read_table(walk["analysis"].result.file("tables/accuracies.parquet")).to_pylist()
    found = {one["test_set"]: one["accuracy"] for one in scores if one["train_set"] == "full"}
    assert found["shorter"] < 0.2  # the model reads yes and no, which were swapped
    assert found["balanced"] == pytest.approx(0.5, abs=0.05)


def test_kept_pairs_are_published_in_the_users_columns(walk: dict[str, StoredResult], tmp_path: Path) -> None:
    folder, cache = str(walk["published_dataset"].result.path), str(tmp_path)
    given = {split: _pairs(count, seed) for split, count, seed in (("train", TRAIN, 0), ("test", TEST, 1))}
    filtered = load_dataset(folder, "own_layout_filtered", cache_dir=cache)
    rows = pq.read_table(walk["filtered_sets"].result.part("small").file("rows.parquet")).to_pylist()
    for split, pairs in given.items():
        found = filtered[split].to_list()
        assert len(found) == sum(row["kept"] and row["split"] == split for row in rows) / 2
        assert all(one in pairs for one in found)
    full = load_dataset(folder, "own_layout_full", cache_dir=cache)
    assert full["train"].column_names == [
        *given["train"][0],
        "status",
        "predictability",
        "removed_in_iteration",
        "weight",
    ]
    assert [full["train"][number]["chosen"] for number in range(TRAIN)] == [
        one["chosen"] for one in given["train"][:-1]
    ]
    kept = [one["chosen"] for one in full["train"] if one["status"] == "kept"]
    assert kept == filtered["train"]["chosen"][:]
    card = walk["published_dataset"].result.file("README.md").read_text(encoding="utf-8")
    assert "| `own_layout_filtered` | rows of the source, in its own columns and layout" in card


def test_only_the_embeddings_know_that_answers_are_compared() -> None:
    splits = {"train": "train.jsonl", "test": "test.jsonl"}
    content = {
        "name": "pairs",
        "source": {"format": "preference", "table": {"format": "jsonl", "splits": splits}},
        "representations": {"surface": {"kind": "surface"}},
        "evaluators": LINEAR,
    }
    compared, alone = parse_spec(content), parse_spec({**content, "answers": "alone"})
    assert (compared.answers, alone.answers) == ("compared", "alone")
    read = [name for name, stage in STAGES.items() if "answers" in stage.settings.read_of(compared)]
    assert read == ["embeddings"]
