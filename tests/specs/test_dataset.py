import re
from typing import Any

import pytest
from pydantic import ValidationError

from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.filter import FilterSpec
from aflite_assets.specs.warmup import WarmupSpec


def _refuses(content: dict[str, Any], message: str, **changes: Any) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)):
        DatasetSpec.model_validate(content | changes)


def test_the_warm_up_is_a_count_a_share_or_left_to_the_learning_curve(spec_content: dict[str, Any]) -> None:
    for size in (200, 0.1, "auto"):
        warmup = DatasetSpec.model_validate(spec_content | {"warmup": {"size": size}}).warmup
        assert warmup.model_dump(mode="json") == {"size": size, "draw": "by_class"}


def test_smallest_spec_has_the_papers_defaults(spec_content: dict[str, Any]) -> None:
    spec = DatasetSpec.model_validate(spec_content)
    assert spec.filter == FilterSpec(n_partitions=64, threshold=0.75, selection="greedy", classifier="logistic")
    assert (spec.warmup, spec.seeds, spec.limit, spec.challenge_sets) == (WarmupSpec(size=0.1), (0, 1, 2), None, {})
    assert spec.filter.evaluation_rows == "pooled"


def test_planted_names_an_attribute_that_the_rows_carry(spec_content: dict[str, Any]) -> None:
    columns = {**spec_content.get("columns", {}), "attributes": ["cue"]}
    spec = DatasetSpec.model_validate(spec_content | {"columns": columns, "planted": {"cue": ["negation", "overlap"]}})
    assert spec.planted == {"cue": ("negation", "overlap")}
    _refuses(
        spec_content,
        "`planted` contains 'mark', which is not an attribute; name one of ['cue'] or add the column to "
        "`columns.attributes`",
        columns=columns,
        planted={"mark": "right"},
    )
    _refuses(
        spec_content, "`planted` contains 'cue', which is not an attribute; add the column", planted={"cue": "negation"}
    )
    _refuses(spec_content, "planted.cue", columns=columns, planted={"cue": []})


PAIRS = {"columns": {"label": "label", "text": "premise", "text_pair": "hypothesis"}}


def test_rows_may_be_ranked_by_vocabulary(spec_content: dict[str, Any]) -> None:
    settings = {"rank": "vocabulary", "evaluation_rows": "kept"}
    spec = DatasetSpec.model_validate(spec_content | PAIRS | {"filter": settings})
    assert (spec.filter.rank, spec.filter.model_dump(mode="json")["rank"]) == ("vocabulary", "vocabulary")
    by_split = {"rank": "vocabulary", "evaluation_rows": {"test": "kept"}}
    assert DatasetSpec.model_validate(spec_content | PAIRS | {"filter": by_split}).filter.rank == "vocabulary"
    drawn = {"format": "template_nli", "splits": {"train": 60, "test": 60}, "planted_share": 0.5}
    assert DatasetSpec.model_validate(spec_content | {"source": drawn, "filter": settings}).filter.rank == "vocabulary"


@pytest.mark.parametrize(
    "given", [{"rank": "label_probability"}, {"ties": "label_probability"}, {"balance": "classes"}], ids=str
)
def test_rows_of_any_kind_may_go_by_label_probability_and_by_class(
    given: dict[str, str], spec_content: dict[str, Any]
) -> None:
    spec = DatasetSpec.model_validate(spec_content | {"filter": given})
    assert given.items() <= spec.filter.model_dump(mode="json").items()
    paper = DatasetSpec.model_validate(spec_content | {"filter": {"preset": "paper"}}).filter
    assert (paper.rank, paper.ties, paper.balance) == ("predictability", "random", "none")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"rank": "label_probability", "classifier": "linear_svm"},
            "`rank` is 'label_probability', but `classifier` is 'linear_svm', which gives no "
            "probabilities; set `classifier` to 'logistic' or 'both', or remove `rank`",
        ),
        (
            {"ties": "label_probability", "selection": "gumbel"},
            "`ties` is 'label_probability', but `selection` is 'gumbel'",
        ),
        (
            {"balance": "classes", "remove": "groups"},
            "`balance` is 'classes', but `remove` is 'groups', and a group may contain several classes; "
            "remove one of the two settings",
        ),
        (
            {"balance": "classes", "evaluation_rows": "scored"},
            "`balance` is 'classes', but `evaluation_rows` is 'scored', which needs a single cut-off; "
            "set `evaluation_rows` to 'pooled' or 'kept', or remove `balance`",
        ),
        (
            {"balance": "classes", "rank": "vocabulary"},
            "`rank` is 'vocabulary', which orders rows by their words, but `balance` is 'classes'",
        ),
        (
            {"rank": "label_probability", "compare": ["predictability"]},
            "`compare` is set, but `rank` is 'label_probability'; remove `compare`, and use a second "
            "dataset file for the comparison",
        ),
    ],
)
def test_an_order_that_has_no_meaning_is_refused(
    given: dict[str, Any], message: str, spec_content: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError, match=message):
        DatasetSpec.model_validate(spec_content | {"filter": given})


@pytest.mark.parametrize(
    ("policy", "named"),
    [({}, "pooled"), ({"evaluation_rows": "scored"}, "scored"), ({"evaluation_rows": {}}, "pooled")],
)
def test_ranked_by_vocabulary_other_splits_are_kept(
    spec_content: dict[str, Any], policy: dict[str, Any], named: str
) -> None:
    _refuses(
        spec_content | PAIRS,
        f"`filter.evaluation_rows` is {named} for the split 'test', but `filter.rank: vocabulary` can "
        f"remove train rows only; set `evaluation_rows: kept`, or remove `filter.rank`",
        filter={"rank": "vocabulary", **policy},
    )


def test_another_ranking_may_be_compared(spec_content: dict[str, Any]) -> None:
    settings = {"rank": "vocabulary", "evaluation_rows": "kept", "compare": ["predictability"]}
    spec = DatasetSpec.model_validate(spec_content | PAIRS | {"filter": settings})
    assert spec.filterings == {"given": "given", "given_by_predictability": "given"}
    plain = DatasetSpec.model_validate(spec_content)
    assert plain.filterings == {"given": "given"}
    by_words = spec.filter.ranked_by("predictability")
    assert by_words == FilterSpec(evaluation_rows="kept")
    assert by_words.model_dump(mode="json") == FilterSpec(evaluation_rows="kept").model_dump(mode="json")
    message = (
        "`compare` contains 'predictability', which is already the value of `rank`; remove `compare`, or "
        "set `rank: vocabulary`"
    )
    _refuses(spec_content | PAIRS, message, filter={"compare": ["predictability"]})
    named = {"given": {"kind": "identity"}, "given_by_predictability": {"kind": "identity"}}
    message = (
        "`representations` contains 'given_by_predictability', but `filter.compare` uses this name for "
        "another set; rename the representation"
    )
    _refuses(spec_content | PAIRS, message, filter=settings, representations=named)
    long = {"r" * 60: {"kind": "identity"}}
    message = "_by_predictability', which is longer than 64 characters; shorten the representation's name"
    _refuses(spec_content | PAIRS, message, filter=settings, representations=long)


def test_only_texts_have_a_vocabulary(spec_content: dict[str, Any]) -> None:
    settings = {"rank": "vocabulary", "evaluation_rows": "kept"}
    _refuses(
        spec_content,
        "`filter.rank` is vocabulary, but the rows have no texts because `columns.text` is not set; "
        "set `columns.text`, or remove `filter.rank`",
        filter=settings,
    )
    _refuses(
        spec_content | PAIRS,
        "`rank` is 'vocabulary', but `selection` is 'gumbel', which draws rows by predictability; "
        "remove one of the two settings",
        filter=settings | {"selection": "gumbel"},
    )
    _refuses(
        spec_content | PAIRS,
        "Input should be 'predictability', 'label_probability' or 'vocabulary'",
        filter={"rank": "length"},
    )


def test_the_papers_filter_has_no_default_of_ours(spec_content: dict[str, Any]) -> None:
    ours, paper, never = (
        DatasetSpec.model_validate(spec_content | {"filter": settings}).filter
        for settings in ({}, {"preset": "paper"}, {"stop_at_chance": False})
    )
    assert (ours.asks_whether_learnt, ours.keeps_copies_together) == (True, True)
    assert (paper.asks_whether_learnt, paper.keeps_copies_together) == (False, False)
    assert (never.asks_whether_learnt, never.keeps_copies_together) == (False, True)
    assert (ours.groups, paper.groups) == ("whole", "ignore")
    assert (paper.comparison, paper.early_stop) == ("at_least", True)
    by_words = {"preset": "paper", "rank": "vocabulary"}
    sample = DatasetSpec.model_validate(spec_content | PAIRS | {"filter": by_words}).filter
    assert (sample.comparison, sample.early_stop) == ("greater", False)
    assert (sample.classifier, sample.evaluation_rows) == ("both", "kept")
    mixed = DatasetSpec.model_validate(spec_content | {"filter": {"preset": "paper", "copies": "together"}}).filter
    assert (mixed.copies, mixed.groups, mixed.stop_at_chance) == ("together", "ignore", False)
    assert DatasetSpec.model_validate(spec_content | {"filter": paper.model_dump()}).filter == paper
    message = (
        "`preset` is 'paper', but `stop_at_chance` is true, which the papers do not use; remove one of the two settings"
    )
    _refuses(spec_content, message, filter={"preset": "paper", "stop_at_chance": True})


def test_a_representation_may_have_a_filter_of_its_own(spec_content: dict[str, Any]) -> None:
    name = next(iter(spec_content["representations"]))
    settings = {"target_size": 0.5, "threshold": 0.8, "representations": {name: {"target_size": 40}}}
    filters = DatasetSpec.model_validate(spec_content | {"filter": settings}).filter
    own, other = filters.of_representation(name), filters.of_representation("another")
    assert (own.target_size, own.threshold, own.representations) == (40, 0.8, {})
    assert (other.target_size, other.threshold, other.representations) == (0.5, 0.8, {})
    unknown = {"representations": {f"{name}s": {"target_size": 40}}}
    _refuses(
        spec_content,
        f"`filter.representations` contains '{name}s', which is not one of `representations`",
        filter=unknown,
    )
    _refuses(
        spec_content,
        "the mapping of changed settings is empty; add a setting such as `target_size`, or remove the representation",
        filter={"representations": {name: {}}},
    )
    _refuses(
        spec_content,
        "`groups` is 'ignore', but `remove` is 'groups', which needs the groups; remove one of the two settings",
        filter={"groups": "ignore", "remove": "groups"},
    )


def test_drawn_sources_carry_attributes_that_planted_may_name(spec_content: dict[str, Any]) -> None:
    digits = {"format": "digits", "canvas": 12, "marks": {"share": 0.7}}
    spec = DatasetSpec.model_validate(spec_content | {"source": digits, "columns": {}, "planted": {"mark": "right"}})
    assert spec.planted == {"mark": "right"}
    _refuses(spec_content,
        "which is not an attribute; name one of ['year']", source=digits, columns={"attributes": ["year"]},
             planted={"mark": "right"})  # fmt: skip


@pytest.mark.parametrize("name", ["", "A", "_a", "a-b", "a.b", "../a", "a/b", "a b", "a\n", "é", "a" * 65])
@pytest.mark.parametrize("place", ["name", "representations", "evaluators", "challenge_sets", "splits"])
def test_names_that_cannot_be_folders_are_refused(spec_content: dict[str, Any], name: str, place: str) -> None:
    match place:
        case "name":
            spec_content["name"] = name
        case "splits":
            spec_content["source"]["splits"][name] = "more.csv"
        case "challenge_sets":
            spec_content[place] = {name: {"source": spec_content["source"]}}
        case _:
            spec_content[place] = {name: next(iter(spec_content[place].values()))}
    with pytest.raises(ValidationError, match=r"String should (match pattern|have at most 64)"):
        DatasetSpec.model_validate(spec_content)


@pytest.mark.parametrize("name", ["a", "0", "snli_2", "a" * 64])
def test_names_of_lower_case_letters_digits_and_underscores_pass(spec_content: dict[str, Any], name: str) -> None:
    assert DatasetSpec.model_validate(spec_content | {"name": name}).name == name


@pytest.mark.parametrize("title", ["", "SNLI: pairs / <b>1.0</b>", "../../etc", "数据 \u202e\x00"])
def test_title_may_hold_anything(spec_content: dict[str, Any], title: str) -> None:
    assert DatasetSpec.model_validate(spec_content | {"title": title}).title == title


def test_splits_must_be_train_and_another(spec_content: dict[str, Any]) -> None:
    source = spec_content["source"]
    _refuses(spec_content, "`source` has no split named 'train' (it has ['dev', 'test']); rename the split to filter",
             source=source | {"splits": {"dev": "a", "test": "b"}})  # fmt: skip
    _refuses(
        spec_content,
        "`source` has only the split 'train'; add a test split, or draw one from the train rows with `holdout",
        source=source | {"splits": {"train": "a"}},
    )


def test_challenge_set_must_not_be_named_like_a_split(spec_content: dict[str, Any]) -> None:
    challenge = {"source": spec_content["source"]}
    _refuses(spec_content, "`challenge_sets` contains 'test', which is also a split; rename the challenge set",
             challenge_sets={"hard": challenge, "test": challenge})  # fmt: skip


def test_challenge_set_must_have_the_split_it_tests_on(spec_content: dict[str, Any]) -> None:
    challenge = {"source": {"format": "csv", "splits": {"dev": "dev.csv"}}}
    _refuses(
        spec_content,
        "`split` is 'test', which is not a split of `source`; name one of ['dev']",
        challenge_sets={"hard": challenge},
    )
    spec = DatasetSpec.model_validate(spec_content | {"challenge_sets": {"hard": challenge | {"split": "dev"}}})
    assert spec.challenge_sets["hard"].split == "dev"


def test_limit_must_name_splits_there_are(spec_content: dict[str, Any]) -> None:
    _refuses(
        spec_content, "`limit` contains 'dev', which is not a split; name one of ['train', 'test']", limit={"dev": 5}
    )
    _refuses(spec_content, "greater than or equal to 1", limit={"train": 0})


def test_the_primary_comparison_is_of_an_evaluator_on_a_test_set(spec_content: dict[str, Any]) -> None:
    spec = DatasetSpec.model_validate(spec_content)
    assert (spec.report.primary, spec.report.smallest_effect) == (None, 1.0)
    evaluator = next(iter(spec.evaluators))
    primary = {"evaluator": evaluator, "test_set": "test"}
    _refuses(spec_content,
        "`report.primary.test_set` is 'test', but the filter removes rows of this split too, so scores "
        "on this split are not comparable; name a challenge set, or a split for which `filter.evaluation_rows` "
        "is 'kept'",
             report={"primary": primary})  # fmt: skip
    kept = spec_content | {"filter": {"evaluation_rows": {"test": "kept"}}, "report": {"primary": primary}}
    assert DatasetSpec.model_validate(kept).report.primary is not None
    _refuses(spec_content,
        f"`report.primary.evaluator` is 'other', which is not an evaluator; name one of ['{evaluator}']",
             report={"primary": primary | {"evaluator": "other"}})  # fmt: skip
    _refuses(spec_content, "`report.primary.test_set` is 'train', which is not a test set; name one of ['test']",
             report={"primary": primary | {"test_set": "train"}})  # fmt: skip
    _refuses(spec_content, "less than or equal to 100", report={"smallest_effect": 101})


def test_seeds_must_differ(spec_content: dict[str, Any]) -> None:
    _refuses(
        spec_content, "`seeds` is [1, 2, 1], which repeats a seed; give every run a different seed", seeds=[1, 2, 1]
    )
    _refuses(spec_content, "greater than or equal to 0", seeds=[-1])
    _refuses(spec_content, "at least 1 item", seeds=[])


@pytest.mark.parametrize("challenge", [False, True])
def test_class_names_must_differ(spec_content: dict[str, Any], challenge: bool) -> None:
    names: dict[str, Any] = {"labels": ["yes", "no", "yes"]}
    changes = {"challenge_sets": {"hard": {"source": spec_content["source"]} | names}} if challenge else names
    _refuses(spec_content, "contains a class name twice; give every class a different name", **changes)


@pytest.mark.parametrize("field", ["representations", "evaluators"])
def test_at_least_one_model_of_each_sort(spec_content: dict[str, Any], field: str) -> None:
    _refuses(spec_content, "at least 1 item", **{field: {}})


@pytest.mark.parametrize(("given", "kept"), [(1, 1), (1.0, 1.0), (0.25, 0.25), (5000, 5000)])
def test_counts_are_whole_numbers_and_shares_have_a_point(given: float, kept: float) -> None:
    size = FilterSpec(target_size=given).target_size
    assert (size, type(size)) == (kept, type(kept))


@pytest.mark.parametrize("size", [0, 0.0, 1.5, -1, "half", True])
def test_sizes_out_of_range_are_refused(size: Any) -> None:
    with pytest.raises(ValidationError, match="target_size"):
        FilterSpec(target_size=size)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": "a", "image": "b"}, "a row has one kind of input, but `columns` sets text and image; keep only one"),
        ({"text_pair": "a"}, "`text_pair` is set, but `text` is not; name the column of the first text in `text`"),
        ({"features": []}, "at least 1 item"),
        (
            {"text": "label"},
            "`text` is 'label', but this is also the label column, so models would receive the label as "
            "input; set `text` or `label` to another column",
        ),
        (
            {"text": "a", "text_pair": "gold", "label": "gold"},
            "`text_pair` is 'gold', but this is also the label column, so models would receive the label "
            "as input; set `text_pair` or `label` to another column",
        ),
        (
            {"features": ["x", "label"]},
            "`features` is 'label', but this is also the label column, so models would receive the label "
            "as input; set `features` or `label` to another column",
        ),
        (
            {"text": "a", "text_pair": "a"},
            "`text_pair` and `text` are both 'a'; name two different columns, or remove `text_pair`",
        ),
        ({"features": ["x", "y", "x"]}, "`features` contains 'x' twice; remove one of the two"),
    ],
)
def test_columns_name_one_kind_of_input(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(message)):
        ColumnsSpec.model_validate(columns)


def test_specs_never_change(spec_content: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(DatasetSpec.model_validate(spec_content), "seed", 3)  # noqa: B010


def test_suspected_rows_are_of_train_unless_a_mapping_names_others(spec_content: dict[str, Any]) -> None:
    plain = DatasetSpec.model_validate(spec_content).filter
    assert plain.quarantined_splits == frozenset()
    assert FilterSpec(suspected_label_errors="quarantine").quarantined_splits == {"train"}
    mapped = {"train": "keep", "test": "quarantine"}
    spec = DatasetSpec.model_validate(spec_content | {"filter": {"suspected_label_errors": mapped}})
    assert spec.filter.quarantined_splits == {"test"}


def test_a_quarantine_needs_probabilities_and_rows_that_are_judged(spec_content: dict[str, Any]) -> None:
    _refuses(spec_content, "`suspected_label_errors` is 'quarantine', but `classifier` is 'linear_svm', which gives no "
        "probabilities; set `classifier` to 'logistic' or 'both', or remove `suspected_label_errors`",
             filter={"suspected_label_errors": "quarantine", "classifier": "linear_svm"})  # fmt: skip
    _refuses(spec_content,
        "`filter.suspected_label_errors` contains 'dev', which is not a split; name one of ['train', 'test']",
             filter={"suspected_label_errors": {"dev": "quarantine"}})  # fmt: skip
    _refuses(spec_content,
        "`filter.suspected_label_errors` contains 'test', but `filter.evaluation_rows` is 'kept' for "
        "this split, so rows of this split get no scores; remove the split, or set `evaluation_rows` to 'scored' "
        "or 'pooled' for it",
             filter={"suspected_label_errors": {"test": "quarantine"}, "evaluation_rows": "kept"})  # fmt: skip


CHOICES: dict[str, Any] = {
    "format": "multiple_choice",
    "table": {"format": "csv", "splits": {"train": "a.csv", "test": "b.csv"}},
    "question": "question",
    "answers": ["A", "B"],
    "right": "key",
}


def test_answers_of_one_question_leave_together_unless_said_otherwise(spec_content: dict[str, Any]) -> None:
    content = spec_content | {"source": CHOICES, "columns": {}}
    content.pop("labels", None)
    assert DatasetSpec.model_validate(content).filter.remove == "groups"
    rows = DatasetSpec.model_validate(content | {"filter": {"remove": "rows", "n_partitions": 8}})
    assert (rows.filter.remove, rows.filter.n_partitions) == ("rows", 8)
    assert DatasetSpec.model_validate(content | {"filter": {"n_partitions": 8}}).filter.remove == "groups"
    assert DatasetSpec.model_validate(spec_content).filter.remove == "rows"


def test_preferences_are_compared_and_questions_if_the_file_says_so(spec_content: dict[str, Any]) -> None:
    content = spec_content | {"source": CHOICES, "columns": {}}
    content.pop("labels", None)
    pairs = {"format": "preference", "table": CHOICES["table"]}
    assert DatasetSpec.model_validate(content).answers == "alone"
    assert DatasetSpec.model_validate(content | {"answers": "compared"}).answers == "compared"
    assert DatasetSpec.model_validate(content | {"source": pairs}).answers == "compared"
    assert DatasetSpec.model_validate(content | {"source": pairs, "answers": "alone"}).answers == "alone"
    _refuses(
        spec_content,
        "`answers` is 'compared', but `source.format` is csv, which has no questions; remove `answers`",
        answers="compared",
    )


def test_sets_are_not_chosen_from_rows_that_the_filter_takes_part_in(spec_content: dict[str, Any]) -> None:
    hard = {"hard": {"source": CHOICES, "against": ["length"]}}
    content = spec_content | {"source": CHOICES, "columns": {}, "challenge_sets": hard}
    content.pop("labels", None)
    _refuses(content, "`challenge_sets.hard` selects questions from the dataset's own split 'test', but "
        "`filter.evaluation_rows` is 'pooled' for this split, so scores on the questions would be "
        "biased; set `filter.evaluation_rows: {")  # fmt: skip
    kept = DatasetSpec.model_validate(content | {"filter": {"evaluation_rows": "kept"}})
    assert kept.challenge_sets["hard"].against == ("length",)
    both = {"hard": {"source": CHOICES, "against": ["length"], "balanced_by": ["length", "markup"]}}
    _refuses(content, "`balanced_by` and `against` both contain ['length']", challenge_sets=both)


def test_multiple_choice_names_its_columns_in_the_source(spec_content: dict[str, Any]) -> None:
    content = spec_content | {"source": CHOICES}
    content.pop("labels", None)
    assert DatasetSpec.model_validate(content | {"columns": {"attributes": ["topic"]}}).columns.attributes == ("topic",)
    message = (
        "determines texts, labels, ids and groups itself, but columns.group and columns.text is set; "
        "remove this setting and name the columns in `source`"
    )
    _refuses(content, message, columns={"text": "question", "group": "question"})
    _refuses(
        content,
        "determines texts, labels, ids and groups itself, but labels is set; remove this setting and "
        "name the columns in `source`",
        columns={},
        labels=["wrong", "right"],
    )
    _refuses(
        content,
        "`drop_duplicates` is set, but the rows are single answers, so questions would lose answers; "
        "remove `drop_duplicates`, and delete repeated questions from the source",
        columns={},
        drop_duplicates=True,
    )
    _refuses(content, "`filter.suspected_label_errors` is 'quarantine', but the rows are single answers, so questions "
        "would lose answers; remove this setting, and use the list of suspected rows in the report", columns={},
             filter={"suspected_label_errors": "quarantine"})  # fmt: skip
