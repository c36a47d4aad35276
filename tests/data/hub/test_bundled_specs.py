"""The bundled datasets of the hub, each against a small copy in the very form that the hub keeps it in."""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.specs.registry import BUNDLED, load_spec
from aflite_assets.specs.sources import hub_of

if TYPE_CHECKING:
    from tests.data.hub.conftest import Hub

NLI = ("entailment", "neutral", "contradiction")
REFS = "c" * 40
HANS = "jhu-cogsci/hans"
IMAGENET_A = "barkermrl/imagenet-a"


def _revision(id: str) -> str:
    """The commit to which the bundled files pin a dataset; all of them to the same."""
    specs = [load_spec(path) for path in sorted(BUNDLED.glob("*.yaml"))]
    sources = [source for spec in specs for source in (spec.source, *(c.source for c in spec.challenge_sets.values()))]
    on_hub = [hub for hub in map(hub_of, sources) if hub is not None]
    found = {hub.revision for hub in on_hub if hub.id == id}
    assert len(found) == 1, (id, found)
    return str(found.pop())


def _features(columns: Iterable[str], names: tuple[str, ...]) -> list[dict[str, Any]]:
    classes = {"class_label": {"names": {str(number): name for number, name in enumerate(names)}}}
    return [{"name": name, "dtype": classes if name == "label" else "string"} for name in columns]


def _card(config: str, files: dict[str, str], features: list[dict[str, Any]]) -> str:
    card = {
        "configs": [{"config_name": config, "data_files": [{"split": s, "path": f} for s, f in files.items()]}],
        "dataset_info": [{"config_name": config, "features": features}],
    }
    return f"---\n{json.dumps(card)}\n---\n# A card\n"


def _parquet(rows: list[dict[str, Any]], features: dict[str, Any] | None = None) -> bytes:
    """As `push_to_hub` writes it: with the features in the schema, where they are given."""
    table, sink = pa.Table.from_pylist(rows), io.BytesIO()
    if features is not None:
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, sink)
    return sink.getvalue()


def _pairs(first: str, second: str, labels: Iterable[int], **columns: Any) -> list[dict[str, Any]]:
    return [
        {first: f"{first} {row // 3}", second: f"{second} {row}", "label": label, **columns}
        for row, label in enumerate(labels)
    ]


def _publish_pairs(
    hub: "Hub", id: str, config: str, splits: dict[str, list[dict[str, Any]]], names: tuple[str, ...]
) -> None:
    files = {split: f"{config}/{split}-00000-of-00001.parquet" for split in splits}
    columns = next(iter(splits.values()))[0]
    card = _card(config, files, _features(columns, names))
    content = {files[split]: _parquet(rows) for split, rows in splits.items()}
    hub.publish(id, {"README.md": card, **content}, commit=_revision(id))


def _class_label(names: Iterable[str]) -> dict[str, Any]:
    return {"names": list(names), "_type": "ClassLabel"}


@pytest.fixture(scope="module")
def challenges(hub: "Hub") -> None:
    """HANS, NLI diagnostics, the stress tests and ANLI."""
    hans = _pairs("premise", "hypothesis", [0, 1, 1], heuristic="subsequence", subcase="x", template="t")
    label = {"label": _class_label(["entailment", "non-entailment"])}
    hub.publish(
        HANS,
        {"plain_text/validation/0000.parquet": _parquet(hans, label), "plain_text/train/0000.parquet": _parquet(hans)},
        commit=REFS,
        refs={"main": "d" * 40, "refs/convert/parquet": REFS},
    )
    tags = {"lexical semantics": "Factivity", "predicate-argument structure": "", "logic": "", "knowledge": ""}
    rows = _pairs("premise", "hypothesis", [0, 1, 2], domain="News", **tags)
    own = {"label": _class_label(NLI)}
    hub.publish(
        "pietrolesci/glue_diagnostics",
        {"data/test-00000-of-00001.parquet": _parquet(rows, own)},
        commit=_revision("pietrolesci/glue_diagnostics"),
    )
    tests = ("antonym", "numerical_reasoning", "word_overlap", "negation", "length_mismatch", "spelling_error")
    hub.publish(
        "pietrolesci/stress_tests_nli",
        {
            f"data/{name}-00000-of-00001.parquet": _parquet(
                _pairs("sentence1", "sentence2", [2, 0, 1], dtype=name, gold_label="x"), own
            )
            for name in tests
        },
        commit=_revision("pietrolesci/stress_tests_nli"),
    )
    rounds = [f"{split}_r{number}" for split in ("train", "dev", "test") for number in (1, 2, 3)]
    _publish_pairs(
        hub,
        "facebook/anli",
        "plain_text",
        {name: _pairs("premise", "hypothesis", [0, 1, 2], uid=f"{name}-1", reason="") for name in rounds},
        NLI,
    )


def _load(hub: "Hub", name: str, **environment: str) -> dict[str, Any]:
    outcome = hub.worker.do("bundled", name=name, environment=environment)
    assert "result" in outcome, outcome.get("trace")
    result: dict[str, Any] = outcome["result"]
    return result


def _labels(rows: list[dict[str, Any]]) -> list[str]:
    return [row["label"] for row in rows]


@pytest.mark.usefixtures("challenges")
def test_snli_and_its_challenge_sets(hub: "Hub", tmp_path: Path) -> None:
    pairs = {split: _pairs("premise", "hypothesis", [0, 1, 2, -1]) for split in ("train", "validation", "test")}
    _publish_pairs(hub, "stanfordnlp/snli", "plain_text", pairs, NLI)
    found = _load(hub, "snli")
    assert _labels(found["rows"]) == [*NLI] * 3
    assert found["rows"][0] == {
        "split": "train", "label": "entailment", "text": "premise 0", "text_pair": "hypothesis 0", "group": 0,
    }  # fmt: skip
    sets = found["challenge_sets"]
    assert {name: len(one["rows"]) for name, one in sets.items()} == {
        "hans": 3, "nli_diagnostics": 3, "stress_competence": 6, "stress_distraction": 9, "stress_noise": 3,
        "anli_r1": 3, "anli_r2": 3, "anli_r3": 3,
    }  # fmt: skip
    assert _labels(sets["hans"]["rows"]) == ["entailment", "non-entailment", "non-entailment"]
    assert sets["hans"]["label_mapping"] == {
        "entailment": "entailment", "neutral": "non-entailment", "contradiction": "non-entailment",
    }  # fmt: skip
    assert {row["attribute.category.heuristic"] for row in sets["hans"]["rows"]} == {"subsequence"}
    assert {row["attribute.category.dtype"] for row in sets["stress_distraction"]["rows"]} == {
        "word_overlap", "negation", "length_mismatch",
    }  # fmt: skip
    assert _labels(sets["stress_noise"]["rows"]) == ["contradiction", "entailment", "neutral"]
    assert sets["nli_diagnostics"]["rows"][0]["attribute.category.lexical semantics"] == "Factivity"

    # Rows of the original release: the second has no majority, which the hub codes as -1.
    said = ["entailment", "neutral", "entailment", "entailment", "contradiction"]
    for name, row, gold in (("dev", 0, "entailment"), ("test", 3, "-")):
        line = {"gold_label": gold, "sentence1": f"premise {row // 3}", "sentence2": f"hypothesis {row}"}
        (tmp_path / f"snli_1.0_{name}.jsonl").write_text(json.dumps(line | {"annotator_labels": said}))
    annotated = _load(hub, "snli", SNLI_FOLDER=str(tmp_path))["rows"]
    assert [row["annotator_labels"] for row in annotated[:3]] == [[0, 1, 0, 0, 2], [], []]


@pytest.mark.usefixtures("challenges")
def test_multi_nli_is_grouped_by_prompt(hub: "Hub", tmp_path: Path) -> None:
    def rows(split: str) -> list[dict[str, Any]]:
        pairs = _pairs("premise", "hypothesis", [2, 1, 0, 0], genre="fiction", premise_parse="(ROOT)")
        return [pair | {"promptID": row // 2, "pairID": f"{split}{row}n"} for row, pair in enumerate(pairs)]

    splits = ("train", "validation_matched", "validation_mismatched")
    _publish_pairs(hub, "nyu-mll/multi_nli", "default", {split: rows(split) for split in splits}, NLI)
    hard = {"index": "1", "pairID": "1n", "sentence1": 'a "b', "sentence2": "c", "label1": "x", "gold_label": "neutral"}
    (tmp_path / "dev_matched_hard.tsv").write_text("\n".join("\t".join(line) for line in (hard, hard.values())))
    found = _load(hub, "multi_nli", MULTI_NLI_HARD_FOLDER=str(tmp_path))
    assert [row["group"] for row in found["rows"]] == [0, 0, 1, 1] * 3
    assert _labels(found["rows"][:4]) == ["contradiction", "neutral", "entailment", "entailment"]
    assert set(found["challenge_sets"]) >= {"hans", "stress_noise", "anli_r3"}
    (row,) = found["challenge_sets"]["multi_nli_hard"]["rows"]
    assert (row["text"], row["text_pair"], row["label"]) == ('a "b', "c", "neutral")


def test_glue_codes_entailment_as_zero(hub: "Hub") -> None:
    qnli = {split: _pairs("question", "sentence", [0, 1, 1], idx="0") for split in ("train", "validation")}
    qqp = {split: _pairs("question1", "question2", [0, 1, 0], idx="0") for split in ("train", "validation")}
    pairs = {"qnli": (qnli, ("entailment", "not_entailment")), "qqp": (qqp, ("not_duplicate", "duplicate"))}
    files = {
        f"{config}/{split}-00000-of-00001.parquet": _parquet(rows)
        for config, (splits, _) in pairs.items()
        for split, rows in splits.items()
    }
    card = {
        "configs": [
            {
                "config_name": config,
                "data_files": [{"split": s, "path": f"{config}/{s}-*"} for s in splits],
            }
            for config, (splits, _) in pairs.items()
        ],
        "dataset_info": [
            {"config_name": config, "features": _features(splits["train"][0], names)}
            for config, (splits, names) in pairs.items()
        ],
    }
    readme = f"---\n{json.dumps(card)}\n---\n"
    hub.publish("nyu-mll/glue", {"README.md": readme, **files}, commit=_revision("nyu-mll/glue"))
    paws = [{"id": 1, "sentence1": "a b", "sentence2": "b a", "label": 0}]
    paws += [{"id": 2, "sentence1": "c d", "sentence2": "c d", "label": 1}]
    _publish_pairs(hub, "google-research-datasets/paws", "labeled_final", {"test": paws}, ("0", "1"))

    assert _labels(_load(hub, "qnli")["rows"]) == ["entailment", "not_entailment", "not_entailment"] * 2
    found = _load(hub, "qqp")
    assert _labels(found["rows"]) == ["not_duplicate", "duplicate", "not_duplicate"] * 2
    assert [row["group"] for row in found["rows"]] == [0] * 6
    assert _labels(found["challenge_sets"]["paws_wiki"]["rows"]) == ["different", "paraphrase"]


def test_fever_gives_the_evidence_first(hub: "Hub", tmp_path: Path) -> None:
    claims = _pairs("premise", "hypothesis", [0, 1, 2], cid="7", fid="x", verifiable="1", fever_gold_label="y")
    splits = {"train": claims, "dev": claims, "test": [row | {"label": -1} for row in claims]}
    _publish_pairs(hub, "pietrolesci/nli_fever", "default", splits, NLI)
    symmetric = [
        {"id": "1", "sentence1": "evidence", "sentence2": "claim", "gold_label": "SUPPORTS"},
        {"id": "1000002", "sentence1": "evidence", "sentence2": "other claim", "gold_label": "REFUTES"},
    ]
    lines = "\n".join(map(json.dumps, symmetric))
    (tmp_path / "fever_symmetric_test.jsonl").write_text(lines)
    first = {"id": "1118970000004", "label": "REFUTES", "claim": "claim", "evidence_sentence": "evidence"}
    (tmp_path / "fever_symmetric_generated.jsonl").write_text(json.dumps(first))
    found = _load(hub, "fever_nli", FEVER_SYMMETRIC_FOLDER=str(tmp_path))
    assert found["rows"][0] == {
        "split": "train", "label": "entailment", "text": "hypothesis 0", "text_pair": "premise 0", "group": 0,
    }  # fmt: skip
    challenge = found["challenge_sets"]["fever_symmetric"]
    assert [(row["text"], row["label"]) for row in challenge["rows"]] == [
        ("evidence", "entailment"), ("evidence", "contradiction"),
    ]  # fmt: skip
    assert challenge["label_mapping"] == {"entailment": "entailment", "neutral": None, "contradiction": "contradiction"}
    (row,) = found["challenge_sets"]["fever_symmetric_v1"]["rows"]
    assert (row["text"], row["text_pair"], row["label"]) == ("evidence", "claim", "contradiction")


@pytest.mark.usefixtures("challenges")
def test_anli_joins_its_rounds_to_train_on(hub: "Hub") -> None:
    rows = _load(hub, "anli")["rows"]
    splits = [row["split"] for row in rows]
    assert {split: splits.count(split) for split in splits} == {"train": 9} | {
        f"{split}_r{number}": 3 for split in ("dev", "test") for number in (1, 2, 3)
    }


def test_imagenet_is_named_by_wordnet_ids_and_masked_by_imagenet_a(hub: "Hub") -> None:
    from PIL import Image

    def rows(labels: list[int]) -> list[dict[str, Any]]:
        images = []
        for label in labels:
            stream = io.BytesIO()
            Image.new("RGB", (8, 6), (label % 256, 0, 0)).save(stream, "JPEG")
            images.append({"image": {"bytes": stream.getvalue(), "path": f"{label}.jpg"}, "label": label})
        return images

    names = [f"word {number}" for number in range(1000)]
    features = {"image": {"_type": "Image"}, "label": _class_label(names)}
    files = {
        "data/train-00000-of-00001.parquet": _parquet(rows([0, 1, 999, 6]), features),
        "data/validation-00000-of-00001.parquet": _parquet(rows([6, 0]), features),
    }
    hub.publish("ILSVRC/imagenet-1k", files, commit=_revision("ILSVRC/imagenet-1k"))
    own = {"image": {"_type": "Image"}, "label": _class_label(["n01498041", *names[1:200]])}
    hub.publish(IMAGENET_A, {"data/train-00000-of-00001.parquet": _parquet(rows([0, 199]), own)}, commit=REFS)

    found = _load(hub, "imagenet_1k")
    # The hub numbers the classes in the order of their ids; ImageNet-A's first is the seventh of all.
    assert _labels(found["rows"]) == ["n01440764", "n01443537", "n15075141", "n01498041", "n01498041", "n01440764"]
    challenge = found["challenge_sets"]["imagenet_a"]
    assert _labels(challenge["rows"]) == ["n01498041", "n12267677"]
    assert sum(target is not None for target in challenge["label_mapping"].values()) == 200


def _answers(found: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Every answer with its label, by question or prompt, over all splits."""
    read: dict[str, dict[str, str]] = {}
    for row in found["rows"]:
        read.setdefault(row["text"], {})[row["text_pair"]] = row["label"]
    return read


def test_preferences_of_the_hub_become_answers(hub: "Hub") -> None:
    pairs = [
        {"prompt": f"p {n}", "chosen": f"good {n}", "chosen_model": "big", "rejected": f"bad {n}",
         "rejected_model": "small", "subset": f"s{n % 2}", "id": n}
        for n in range(20)
    ]  # fmt: skip
    id = "allenai/reward-bench"
    hub.publish(id, {"data/filtered-00000-of-00001.parquet": _parquet(pairs)}, commit=_revision(id))
    found = _load(hub, "reward_bench")
    assert _answers(found) == {f"p {n}": {f"good {n}": "right", f"bad {n}": "wrong"} for n in range(20)}
    assert {(row["label"], row["attribute.source_model"]) for row in found["rows"]} == {
        ("right", "big"), ("wrong", "small"),
    }  # fmt: skip
    assert {row["attribute.subset"] for row in found["rows"]} == {"s0", "s1"}
    assert sorted({row["split"] for row in found["rows"]}) == ["test", "train"]
    several = [
        {"id": f"{n}", "prompt": f"p {n}", "chosen": [f"good {n}"], "rejected": [f"bad {n} {m}" for m in range(3)],
         "num_correct": 1, "num_incorrect": 3, "total_completions": 4, "models": ["m"] * 4, "subset": "Focus"}
        for n in range(10)
    ]  # fmt: skip
    card = _card("default", {"test": "data/test-00000-of-00001.parquet"}, [])
    hub.publish(
        "allenai/reward-bench-2",
        {
            "README.md": card.replace('"features": []', '"splits": []'),
            "data/test-00000-of-00001.parquet": _parquet(several),
        },
        refs={"main": "a" * 40},
    )
    assert _answers(_load(hub, "reward_bench_2"))["p 3"] == {
        "good 3": "right", "bad 3 0": "wrong", "bad 3 1": "wrong", "bad 3 2": "wrong",
    }  # fmt: skip


def test_questions_of_the_hub_become_answers(hub: "Hub") -> None:
    pro = [
        {"question_id": n, "question": f"q {n}", "options": ["2", "1", "0"], "answer": "B", "answer_index": 1,
         "cot_content": "", "category": "math", "src": "x"}
        for n in range(10)
    ]  # fmt: skip
    arc = [
        {"id": f"M{n}", "question": f"q {n}", "answerKey": "ABCD"[n % 4] if n < 6 else "4",
         "choices": {"text": ["C", "B", "A", "4"], "label": list("ABCD" if n < 6 else "1234")}}
        for n in range(8)
    ]  # fmt: skip
    true = [
        {"type": "Adversarial", "category": "Health", "question": f"q {n}", "best_answer": "no", "source": "u",
         "correct_answers": ["no", "not so"], "incorrect_answers": ["yes", "always"]}
        for n in range(10)
    ]  # fmt: skip
    for id, config, splits in (
        ("TIGER-Lab/MMLU-Pro", "default", {"test": pro}),
        ("allenai/ai2_arc", "ARC-Challenge", dict.fromkeys(("train", "validation", "test"), arc)),
        ("truthfulqa/truthful_qa", "generation", {"validation": true}),
    ):
        files = {split: f"{config}/{split}-00000-of-00001.parquet" for split in splits}
        configs = [{"config_name": config, "data_files": [{"split": s, "path": f} for s, f in files.items()]}]
        content = {files[split]: _parquet(rows) for split, rows in splits.items()}
        pinned = _revision(id)
        commit = "b" * 40 if pinned == "main" else pinned
        card = f"---\n{json.dumps({'configs': configs})}\n---\n"
        hub.publish(id, {"README.md": card, **content}, commit=commit, refs={"main": commit})
    assert _answers(_load(hub, "mmlu_pro"))["q 5"] == {"2": "wrong", "1": "right", "0": "wrong"}
    read = _answers(_load(hub, "arc_challenge"))
    assert [next(text for text, label in read[f"q {n}"].items() if label == "right") for n in range(8)] == [
        "C", "B", "A", "4", "C", "B", "4", "4",
    ]  # fmt: skip
    assert _answers(_load(hub, "truthful_qa"))["q 1"] == {"no": "right", "yes": "wrong", "always": "wrong"}
