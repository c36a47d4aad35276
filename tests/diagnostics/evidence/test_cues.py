from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csc_array
from scipy.stats import norm

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.cues import RARE, removal_cues, rows_with
from aflite_assets.diagnostics.score_tests import class_signs, enrichment, label_ties, score_test

MakeExamples = Callable[..., Examples]


def train_rows(examples: Examples, removed: np.ndarray) -> pa.Table:
    """The train rows of a filtered set that removed these."""
    return pa.table({"row_id": examples.row_ids, "split": ["train"] * len(removed), "kept": ~removed})


def matrix(*cues: np.ndarray) -> Any:
    return csc_array(np.stack(cues, axis=1).astype(np.float64))


def dense_z(cue: np.ndarray, outcome: np.ndarray, strata: np.ndarray, groups: np.ndarray) -> float:
    """The score test, row by row."""
    residual, centred = outcome.astype(float), cue.astype(float)
    for stratum in np.unique(strata):
        inside = strata == stratum
        residual[inside] -= outcome[inside].mean()
        centred[inside] -= cue[inside].mean()
    sums = np.bincount(groups, residual * centred)
    return float((residual * cue).sum() / np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()))


def test_the_score_test_is_that_of_its_formula() -> None:
    rng = np.random.default_rng(0)
    cues, outcome = rng.random((200, 3)) < 0.3, rng.random(200) < 0.4
    strata, groups = rng.integers(0, 3, 200), np.arange(200) // 4
    z, expected = score_test(matrix(*cues.T), outcome.astype(float), strata, groups)
    assert z == pytest.approx([dense_z(cue, outcome, strata, groups) for cue in cues.T])
    shares = np.array([outcome[strata == stratum].mean() for stratum in range(3)])
    assert expected == pytest.approx([shares[strata[cue]].sum() for cue in cues.T])


def test_cues_that_mean_nothing_are_rarely_called_enriched() -> None:
    p_values = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        groups, labels = np.arange(600) // 3, rng.integers(0, 3, 600)
        cues = (rng.random((200, 20)) < 0.1)[groups]
        removed = rng.random(600) < 0.3 + 0.2 * (labels == 1)
        p_values.append(enrichment(matrix(*cues.T), removed, labels, groups).p_values)
        p_values.append(label_ties(matrix(*cues.T), labels, groups).p_values)
    assert np.mean(np.concatenate(p_values) < 0.05) < 0.06
    assert np.mean(np.concatenate(p_values) < 0.001) < 0.003


def test_a_class_that_goes_is_no_cue_of_its_own() -> None:
    labels = np.tile([0, 1], 300)
    removed = (labels == 1) & (np.arange(600) % 3 > 0)
    enriched = enrichment(matrix(labels == 1), removed, labels, None)
    assert enriched.expected == pytest.approx(enriched.removed)
    assert enriched.p_values[0] > 0.4


def test_a_cue_whose_sign_turns_with_the_class_does_not_cancel() -> None:
    """Nine in ten rows of each class are at the place of their class, and rows at their own place are removed."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], 1_000)
    water = np.where(rng.random(2_000) < 0.9, labels, 1 - labels) == 1
    removed = (water == (labels == 1)) & (rng.random(2_000) < 0.6)
    present = matrix(water)
    summed = enrichment(present, removed, labels, None)
    signed = enrichment(present, removed, labels, None, class_signs(present, labels))
    assert summed.p_values[0] > 0.05
    assert signed.p_values[0] < 1e-20
    ours = removed & water & (labels == 1)
    assert (signed.rows[0], signed.removed[0]) == (water.sum(), ours.sum())
    assert signed.expected[0] == pytest.approx((water & (labels == 1)).sum() * removed[labels == 1].mean())


def test_the_variance_is_hypergeometric_where_cues_are_few() -> None:
    """A cue on 97 % of a class can only be removed so much more often, which a binomial would not see."""
    labels = np.zeros(400, dtype=np.int64)
    cue = np.arange(400) >= 12
    removed = cue & (np.arange(400) % 2 == 0)
    found = enrichment(matrix(cue), removed, labels, None)
    gone, rows = removed.sum(), cue.sum()
    variance = rows * (400 - rows) * gone * (400 - gone) / (400**2 * 399)
    z = (gone - rows * gone / 400 - 0.5) / np.sqrt(variance)
    assert found.p_values[0] == pytest.approx(norm.sf(z), rel=1e-6)


def test_numbers_are_binned_and_rare_values_are_one_cue(make_examples: MakeExamples) -> None:
    rng = np.random.default_rng(4)
    labels = np.tile([0, 1], 300)
    hours = np.where((labels == 1) & (rng.random(600) < 0.5), rng.uniform(20, 24, 600), rng.uniform(0, 20, 600))
    removed = (hours > 20) & (rng.random(600) < 0.8)
    rare = pa.array([f"site {number % 60}" if number < 300 else "home" for number in range(600)])
    examples = make_examples(
        ["train"] * 600, labels.tolist(), features=rng.normal(size=(600, 2)),
        **{"attribute.hour": pa.array([str(hour) for hour in hours]), "attribute.site": rare},
    )  # fmt: skip
    table = removal_cues(train_rows(examples, removed), examples, planted={}, seed=0).to_pylist()
    hour = [row for row in table if row["name"] == "hour"]
    assert len(hour) == 8
    assert hour[0]["value"].startswith("over ")
    assert (hour[0]["label_name"], hour[0]["p_value"] < 1e-6) == ("yes", True)
    assert {row["value"] for row in table if row["name"] == "site"} == {"home", RARE}


def pairs(make_examples: MakeExamples, *, planted: bool) -> tuple[Examples, np.ndarray]:
    """600 pairs; half of the rows of one class have a word in the second text, and three in four of these are gone."""
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1], 300)
    has_cue = (labels == 1) & (rng.random(600) < 0.5) if planted else rng.random(600) < 0.25
    filler = [" ".join(rng.choice(["a", "b", "c", "d", "e"], 3)) for _ in range(1_200)]
    examples = make_examples(
        ["train"] * 600,
        labels.tolist(),
        text=filler[:600],
        text_pair=[f"{text} not" if cue else text for text, cue in zip(filler[600:], has_cue, strict=True)],
        **{"attribute.sign": pa.array(["yes" if cue else "no" for cue in has_cue])},
    )
    return examples, rng.random(600) < (np.where(has_cue, 0.75, 0.25) if planted else 0.4)


def test_a_planted_word_and_what_it_gives_away_are_found(make_examples: MakeExamples) -> None:
    examples, removed = pairs(make_examples, planted=True)
    table = removal_cues(train_rows(examples, removed), examples, planted={}, seed=0).to_pylist()
    word = next(row for row in table if row["value"] == "not")
    assert (word["kind"], word["name"], word["label_name"]) == ("word", "text_pair", "yes")
    assert word["p_value"] < 1e-6
    assert word["share_removed"] > 1.3 * word["share_expected"]
    attribute = next(row for row in table if (row["kind"], row["value"]) == ("attribute", "yes"))
    assert attribute["p_value"] == pytest.approx(word["p_value"])
    alone = next(row for row in table if (row["kind"], row["name"]) == ("partial input", "text_pair"))
    assert alone["p_value"] < 1e-3
    assert alone["label_name"] is None
    other = next(row for row in table if (row["kind"], row["name"]) == ("partial input", "text"))
    assert other["p_value"] > 0.05


def test_without_a_plant_nothing_is_found(make_examples: MakeExamples) -> None:
    examples, removed = pairs(make_examples, planted=False)
    table = removal_cues(train_rows(examples, removed), examples, planted={}, seed=0).to_pylist()
    assert len(table) > 10
    assert min(row["p_value"] for row in table) * len(table) > 0.05


def test_a_planted_attribute_need_not_go_with_a_label(make_examples: MakeExamples) -> None:
    rng = np.random.default_rng(1)
    labels, has_cue = np.tile([0, 1], 300), np.arange(600) % 4 < 2
    removed = rng.random(600) < np.where(has_cue, 0.7, 0.2)
    examples = make_examples(
        ["train"] * 600,
        labels.tolist(),
        features=rng.normal(size=(600, 2)),
        **{"attribute.sign": pa.array(["right" if cue else None for cue in has_cue])},
    )
    known, unknown = (
        removal_cues(train_rows(examples, removed), examples, planted=planted, seed=0).to_pylist()
        for planted in ({"sign": ("right",)}, {})
    )
    assert next(row for row in known if row["kind"] == "attribute")["p_value"] < 1e-6
    assert next(row for row in unknown if row["kind"] == "attribute")["p_value"] > 0.05
    assert all((row["value"], row["label_name"]) == ("right", None) for row in known if row["kind"] == "attribute")


def test_a_column_that_tells_the_label_is_a_cue(make_examples: MakeExamples) -> None:
    rng = np.random.default_rng(2)
    labels = np.tile([0, 1], 300)
    leak = np.where(rng.random(600) < 0.7, labels, rng.random(600))
    examples = make_examples(["train"] * 600, labels.tolist(), features=np.stack([rng.normal(size=600), leak], axis=1))
    removed = (leak == labels) & (rng.random(600) < 0.8)
    table = removal_cues(train_rows(examples, removed), examples, planted={}, seed=0).to_pylist()
    assert [row["name"] for row in table] == ["column 1", "column 0"]
    assert table[0]["p_value"] < 1e-3 < 0.05 < table[1]["p_value"]


@pytest.mark.parametrize("removed", [False, True])
def test_nothing_or_everything_removed_cues_nothing(make_examples: MakeExamples, removed: bool) -> None:
    examples, _ = pairs(make_examples, planted=True)
    assert removal_cues(train_rows(examples, np.full(600, removed)), examples, planted={}, seed=0).num_rows == 0


def test_words_that_stand_in_the_same_rows_are_one_cue(make_examples: MakeExamples) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    has_cue = (labels == 1) & (rng.random(400) < 0.5)
    also = has_cue & (rng.random(400) < 0.95)
    apart = (labels == 1) & (rng.random(400) < 0.5)
    texts = [
        " ".join(["row", *(word for word, on in (("zeta", a), ("eta", b), ("theta", c)) if on)])
        for a, b, c in zip(has_cue, also, apart, strict=True)
    ]
    examples = make_examples(["train"] * 400, labels.tolist(), text=texts)
    removed = (has_cue | apart) & (rng.random(400) < 0.9)
    table = removal_cues(train_rows(examples, removed), examples, planted={}, seed=0)
    words = {row["value"]: row for row in table.to_pylist() if row["kind"] == "word"}
    pair = {words["zeta"]["same_rows_as"], words["eta"]["same_rows_as"]}
    assert pair in ({None, "zeta"}, {None, "eta"})
    assert words["theta"]["same_rows_as"] is None


def test_words_are_counted_once_per_row(make_examples: MakeExamples) -> None:
    examples = make_examples(["train"] * 4, [0, 1, 0, 1], text=["Not now, not ever", "xz-17 now", "notable", ""])
    assert rows_with(examples, "text", ["not", "now", "xz-17", "gone"]) == {
        "not": 0.25, "now": 0.5, "xz-17": 0.25, "gone": 0.0,
    }  # fmt: skip


def questions(make_examples: MakeExamples, *, planted: bool) -> tuple[Examples, np.ndarray]:
    """200 questions of three answers; of half the right answer has a word of its own, and nine in ten of these go."""
    rng = np.random.default_rng(0)
    question = np.repeat(np.arange(200), 3)
    labels = (np.tile([0, 1, 2], 200) == np.repeat(rng.integers(0, 3, 200), 3)).astype(int)
    has_cue = np.repeat(rng.random(200) < 0.5, 3)
    filler = [" ".join(rng.choice(["a", "b", "c", "d", "e"], 3)) for _ in range(600)]
    answers = [
        f"{text} {'best' if right and cue and planted else 'good'}"
        for text, right, cue in zip(filler, labels, has_cue, strict=True)
    ]
    examples = make_examples(
        ["train"] * 600,
        labels.tolist(),
        ("wrong", "right"),
        text=[f"question {number}" for number in question],
        text_pair=answers,
        group=pa.array(question),
    )
    return examples, has_cue & np.repeat(rng.random(200) < 0.9, 3)


def test_answers_alone_are_judged_by_question(make_examples: MakeExamples) -> None:
    examples, removed = questions(make_examples, planted=True)
    table = removal_cues(train_rows(examples, removed), examples, planted={}, seed=0)
    (alone,) = [row for row in table.to_pylist() if row["kind"] == "partial input"]
    assert alone["name"] == "text_pair"
    assert alone["share_removed"] > 0.95  # every question with the cue is solved
    assert alone["share_expected"] < 0.75
    assert alone["p_value"] < 1e-6
    examples, removed = questions(make_examples, planted=False)
    table = removal_cues(train_rows(examples, removed), examples, planted={}, seed=0)
    assert all(row["p_value"] > 0.01 for row in table.to_pylist() if row["kind"] == "partial input")
