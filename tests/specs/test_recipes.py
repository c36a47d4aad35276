"""What recipes of several stages are made of, and which are refused with their place."""

import copy
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from aflite_assets.errors import SpecError
from aflite_assets.specs.models.settings import SiameseSpec, SmallTransformerSpec
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.specs.registry import BUNDLED, load_spec, parse_spec
from aflite_assets.studies.forgettables.specs.settings import ForgettablesSettings

TABLES = {"format": "csv", "splits": {"test": "a.csv", "more": "b.csv"}}
NET = {"kind": "small_transformer", "epochs": 4, "batch_size": 16, "gradient_accumulation": 4}


@pytest.fixture
def content(spec_content: dict[str, Any]) -> dict[str, Any]:
    """Two neural evaluators, a classical one, a set to train on and one without rows for it."""
    return copy.deepcopy(spec_content) | {
        "evaluators": {"net": {**NET, "early_stopping": {}}, "other": NET, "linear": {"kind": "linear"}},
        "forgettables": {"bow": {"model": {"kind": "siamese_bag"}, "highest_loss": [0.1]}},
        "challenge_sets": {"hard": {"source": TABLES, "fine_tune": "more"}, "asked": {"source": TABLES}},
    }


def _recipe(content: dict[str, Any], *stages: dict[str, Any], start: str = "net") -> dict[str, Any]:
    recipe = {"kind": "fine_tuned", "start": start, "stages": list(stages)}
    return content | {"evaluators": {**content["evaluators"], "tuned": recipe}}


def _message(content: dict[str, Any]) -> str:
    with pytest.raises(SpecError) as caught:
        parse_spec(content)
    return str(caught.value)


def test_a_stage_trains_as_the_start_but_for_what_it_says(content: dict[str, Any]) -> None:
    stages = ({"rows": "hard"}, {"rows": "hard", "epochs": 1, "learning_rate": 1e-5, "batch_size": 8})
    recipe = recipes_of(parse_spec(_recipe(content, *stages)).evaluators)["tuned"]
    assert (recipe.start, recipe.sets, recipe.settings.epochs) == ("net", ("hard",), 4)
    assert recipe.settings.early_stopping is not None
    first, second = (stage.settings for stage in recipe.stages)
    assert first == SmallTransformerSpec.model_validate(NET)
    assert second == SmallTransformerSpec.model_validate({**NET, "epochs": 1, "learning_rate": 1e-5, "batch_size": 8})


def test_a_stage_may_train_on_rows_that_a_weak_model_forgets(content: dict[str, Any]) -> None:
    stages = (
        {"forgettables": "bow", "epochs": 1},
        {"forgettables": "bow", "take": "random"},
        {"forgettables": "bow", "take": "highest_loss", "share": 0.1},
        {"rows": "hard"},
    )
    recipe = recipes_of(parse_spec(_recipe(content, *stages)).evaluators)["tuned"]
    names = ("forgettable", "random", "highest_loss_10")
    assert [(one.weak_model, one.set_name) for one in recipe.drawn] == [("bow", name) for name in names]
    assert {one.stage for one in recipe.drawn} == {"forgettable_sets"}
    assert recipe.sets == ("hard",)
    assert [stage.rows for stage in recipe.stages] == [*(f"{name} rows of bow" for name in names), "hard"]
    assert recipe.stages[0].settings == SmallTransformerSpec.model_validate({**NET, "epochs": 1})


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("nett", "`evaluators.tuned.start` is 'nett', which is not a neural evaluator of this dataset; name one of "
            "['net', 'other']; did you mean 'net'?"),
        ("linear", "is 'linear', which is not a neural evaluator of this dataset; name one of ['net', 'other']"),
        ("tuned", "is 'tuned', which is not a neural evaluator of this dataset; name one of ['net', 'other'] or list "
            "all stages here"),
    ],
)  # fmt: skip
def test_a_start_that_is_no_neural_evaluator_is_refused(content: dict[str, Any], start: str, message: str) -> None:
    assert message in _message(_recipe(content, {"rows": "hard"}, start=start))


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ({"rows": "hrd"}, "`evaluators.tuned.stages.0.rows` is 'hrd', which is not one of `challenge_sets` with "
            "`fine_tune`; name one of ['hard']; did you mean 'hard'?"),
        ({"rows": "asked"}, "is 'asked', which is not one of `challenge_sets` with `fine_tune`; name one of ['hard'] "
            "or set `challenge_sets.asked.fine_tune` to a split of its source"),
        ({"rows": "hard", "batch_size": 6},
            "`evaluators.tuned.stages.0.batch_size` is 6, which is not a multiple of the starting "
            "evaluator's `gradient_accumulation`"),
        ({"rows": "hard", "epochs": 0}, "evaluators.tuned.stages.0.epochs: must be at least 1"),
        ({"rows": "hard", "early_stopping": {}}, "evaluators.tuned.stages.0.early_stopping: unknown key"),
        ({}, "evaluators.tuned.stages.0: a stage needs either `rows` (a challenge set) or `forgettables` "
            "(a weak model that determines the forgettable rows); set exactly one of them"),
        ({"rows": "hard", "forgettables": "bow"}, "set exactly one of them"),
        ({"rows": "hard", "take": "random"},
            "`take` is 'random', which works only with `forgettables`, but `rows` is set; remove `take`"),
        ({"forgettables": "bow", "share": 0.1},
            "`share` works only with `take: highest_loss`, but `take` is 'forgettable'"),
        ({"forgettables": "boww"},
            "`evaluators.tuned.stages.0.forgettables` is 'boww', which is not a model in `forgettables`; "
            "name one of ['bow'] or add the model to `forgettables`; did you mean 'bow'?"),
        ({"rows": "hard", "as_many_as": "bow"},
            "`as_many_as` limits forgettable rows, but the stage trains on a challenge set; remove "
            "`as_many_as`"),
        ({"forgettables": "bow", "take": "random", "as_many_as": "bow"},
            "`as_many_as` limits forgettable rows, but the stage trains on random; remove `as_many_as`"),
        ({"forgettables": "bow", "as_many_as": "bow"},
            "`evaluators.tuned.stages.0.as_many_as` is 'bow', which is not another model in "
            "`forgettables`; remove `as_many_as`"),
        ({"forgettables": "bow", "take": "highest_loss", "share": 0.2},
            "`evaluators.tuned.stages.0.share` is 0.2, but `forgettables.bow.highest_loss` is [0.1]; "
            "add the share to `highest_loss`, or remove `share` to use as many rows as are forgettable"),
    ],
)  # fmt: skip
def test_stages_that_cannot_be_trained_are_refused(
    content: dict[str, Any], stage: dict[str, Any], message: str
) -> None:
    assert message in _message(_recipe(content, stage))


def test_a_batch_of_half_a_pair_is_refused(content: dict[str, Any]) -> None:
    content["evaluators"]["net"] = {**NET, "loss": "bradley_terry"}
    assert (
        "`evaluators.tuned.stages.0.batch_size` is 12, but with the starting evaluator's `loss: bradley_terry` it must "
        "be a multiple of 8; change `batch_size`"
    ) in _message(_recipe(content, {"rows": "hard", "batch_size": 12}))


def test_a_recipe_without_stages_is_refused(content: dict[str, Any]) -> None:
    assert "evaluators.tuned.stages: must have at least 1 entry" in _message(_recipe(content))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ("mor", "`fine_tune` is 'mor', which is not a split of `source`; name one of ['test', 'more']"),
        ("test", "`fine_tune` and `split` are both 'test'; set `fine_tune` to another split"),
    ],
)
def test_a_split_to_train_on_must_be_there_and_not_tested_on(content: dict[str, Any], split: str, message: str) -> None:
    content["challenge_sets"]["asked"]["fine_tune"] = split
    assert f"challenge_sets.asked: {message}" in _message(content)


def test_a_limit_of_rows_to_train_on_needs_such_rows(content: dict[str, Any]) -> None:
    content["challenge_sets"]["asked"]["fine_tune_limit"] = 5
    assert "`fine_tune_limit` is set, but `fine_tune` is not; set `fine_tune` to a split" in _message(content)


def test_the_bundled_snli_has_the_papers_table_as_the_documents_say() -> None:
    document = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
    (block,) = (one for one in re.findall(r"```text\n(.*?)```", document, re.DOTALL) if "fine_tuned" in one)
    text = (files("aflite_assets.specs") / "bundled" / "snli.yaml").read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    said = yaml.safe_load(block)
    assert {name: content["evaluators"][name] for name in said} == said
    recipes = recipes_of(parse_spec({"name": "snli", **content}).evaluators)
    assert [recipe.sets for recipe in recipes.values()] == [("anli_r1",), ("anli_r2",), ("anli_r3",)]
    assert {(recipe.settings.epochs, recipe.stages[0].settings.epochs) for recipe in recipes.values()} == {(10, 2)}


@pytest.mark.parametrize(
    ("name", "first", "second"), [("multi_nli", 5e-5, 1e-5), ("qqp", 5e-5, 1e-5), ("fever_nli", 2e-5, 5e-6)]
)
def test_bundled_second_phases_are_the_papers(name: str, first: float, second: float) -> None:
    spec = ForgettablesSettings.of(load_spec(BUNDLED / f"{name}.yaml"))
    recipes = {label: one for label, one in recipes_of(spec.evaluators).items() if one.drawn}
    expected: dict[str, tuple[str, str, str | None]] = {
        "bow": ("bow", "forgettable", None), "bilstm": ("bilstm", "forgettable", None),
        "bert": ("bert", "forgettable", None), "random": ("bow", "random", None),
    }  # fmt: skip
    if name == "multi_nli":  # Table 4, footnote 2 and section 4.4
        expected["hans"] = ("hans", "forgettable", None)
        expected["bow_cut"] = ("bow", "forgettable_as_many_as_bert", "bert")
        expected["bilstm_hypothesis"] = ("bilstm_hypothesis", "forgettable", None)
    found = {label: [(r.weak_model, r.set_name, r.as_many_as) for r in one.drawn] for label, one in recipes.items()}
    assert found == {f"bert_base_{label}": [rows] for label, rows in expected.items()}
    assert {one.start for one in recipes.values()} == {"bert_base"}
    for one in recipes.values():
        (stage,) = one.stages
        assert (one.settings.epochs, one.settings.learning_rate) == (3, first)
        assert (stage.settings.epochs, stage.settings.learning_rate) == (3, second)
    weak = {label: entry.settings(spec.evaluators) for label, entry in spec.forgettables.items()}
    hypothesis, overlap = weak.pop("bilstm_hypothesis", None), weak.pop("hans", None)
    assert (hypothesis is not None) == (overlap is not None) == (name == "multi_nli")
    assert overlap is None or (overlap.kind, overlap.epochs) == ("word_overlap", 5)
    assert hypothesis is None or hypothesis == weak["bilstm"].model_copy(update={"inputs": ("text_pair",)})
    assert [(one.kind, one.epochs) for one in weak.values()] == [
        ("siamese_bag", 5), ("siamese_lstm", 5), ("huggingface_text", 3),
    ]  # fmt: skip
    # Table 7's sets would be trained on by every evaluator of the file.
    assert not any(entry.alone for entry in spec.forgettables.values())
    assert load_spec(BUNDLED / f"{name}.yaml").report.published == name


def test_bundled_weak_models_take_a_file_of_vectors_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def vectors() -> set[object]:
        entries = ForgettablesSettings.of(load_spec(BUNDLED / "multi_nli.yaml")).forgettables.values()
        return {entry.model.vectors for entry in entries if isinstance(entry.model, SiameseSpec)}

    monkeypatch.delenv("GLOVE_VECTORS", raising=False)
    assert vectors() == {None}
    monkeypatch.setenv("GLOVE_VECTORS", "/data/glove.txt")
    assert vectors() == {"/data/glove.txt"}
