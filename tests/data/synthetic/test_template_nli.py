import re
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.synthetic import template_nli as grammar
from aflite_assets.data.synthetic.template_nli import LABELS, TOPICS, template_nli
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import TemplateNliSource

# What the words mean, written down a second time: topic, close wording, broad wording, and members by kind.
MEANING: dict[str, tuple[str, str, dict[str, str]]] = {
    "place": (
        r"explores the (\w+)",
        r"stays (\w+)",
        {"upstairs": "attic loft", "downstairs": "cellar basement", "outside": "garden meadow"},
    ),
    "animal": (
        r"cradles the (\w+)",
        r"holds a (\w+)",
        {"dog": "poodle beagle", "cat": "tabby siamese", "bird": "parrot pigeon"},
    ),
    "colour": (
        r"wears (\w+)",
        r"dresses in (\w+)",
        {"red": "scarlet crimson", "blue": "navy azure", "green": "emerald olive"},
    ),
    "age": (
        r"turned (\w+)",
        r"counts among (\w+)",
        {"children": "four six", "teenagers": "thirteen fifteen", "adults": "thirty fifty"},
    ),
    "activity": (
        r"starts (\w+)",
        r"does (\w+)",
        {"housework": "sweeping ironing", "sports": "jogging swimming", "crafts": "knitting carving"},
    ),
    "mood": (
        r"feels (\w+)",
        r"looks (\w+)",
        {"happy": "merry cheerful", "sad": "gloomy tearful", "angry": "furious irate"},
    ),
}
WORDS = {"entailment": "indeed", "neutral": "incidentally", "contradiction": "actually"}


def _draw(**changes: Any) -> dict[str, pa.Table]:
    settings: dict[str, Any] = {"splits": {"train": 3000, "test": 900}, "planted_share": 0.0} | changes
    return template_nli(TemplateNliSource(format="template_nli", **settings))


def _rows(table: pa.Table) -> list[dict[str, str]]:
    return table.to_pylist()


def _told(clause: str) -> tuple[str, str, str]:
    """Person, topic and kind of one clause, by either wording."""
    person, _, phrase = clause.partition(" ")
    for topic, (close, broad, kinds) in MEANING.items():
        if match := re.fullmatch(broad, phrase):
            assert match[1] in kinds
            return person, topic, match[1]
        if match := re.fullmatch(close, phrase):
            return person, topic, next(kind for kind, members in kinds.items() if match[1] in members.split())
    raise AssertionError(f"no meaning for {phrase!r}")


def _relation(premise: str, hypothesis: str) -> str:
    """The relation that follows from the words of a pair."""
    told = [_told(clause) for clause in re.split(" and | while | but | whereas ", premise.removesuffix("."))]
    assert len({person for person, *_ in told}) == 2
    known = {(person, topic): kind for person, topic, kind in told}
    claim, _, tail = hypothesis.removesuffix(".").partition(", ")
    person, topic, kind = _told(claim)
    assert person in {name for name, *_ in told}
    actual = known.get((person, topic))
    denied = tail.removeprefix("not ").removeprefix("a ") if tail.startswith("not ") else None
    if denied is not None:
        assert denied in MEANING[topic][2]
        assert denied != kind
    if actual is None:
        return "neutral"
    return "entailment" if actual == kind and actual != denied else "contradiction"


def _echoed(row: dict[str, str]) -> bool:
    words = [re.findall(r"\w+", text) for text in (row["text_pair"].partition(",")[0], row["text"])]
    return set(words[0]) <= set(words[1])


def _accuracy(train: pa.Table, test: pa.Table, *columns: str) -> float:
    """Of logistic regression on TF-IDF weights of words and word pairs."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    weights = {name: TfidfVectorizer(ngram_range=(1, 2)).fit(train[name].to_pylist()) for name in columns}
    matrices = [
        hstack([words.transform(table[name].to_pylist()) for name, words in weights.items()]) for table in (train, test)
    ]
    model = LogisticRegression(max_iter=1000).fit(matrices[0], train["label"].to_pylist())
    return float(model.score(matrices[1], test["label"].to_pylist()))


@pytest.mark.parametrize(("share", "cues"), [(0.0, "aligned"), (0.6, "aligned"), (1.0, "reversed"), (0.5, "reversed")])
def test_the_words_of_every_pair_make_its_label_true(share: float, cues: str) -> None:
    table = _draw(splits={"train": 1500}, planted_share=share, cues=cues)["train"]
    wrong = [row for row in _rows(table) if _relation(row["text"], row["text_pair"]) != row["label"]]
    assert wrong == []


def test_every_word_of_the_grammar_is_drawn_and_none_else() -> None:
    drawn = {word for row in _rows(_draw()["train"]) for word in re.findall(r"\w+", row["text"] + row["text_pair"])}
    wordings = " ".join(f"{close} {broad}" for close, broad, _ in MEANING.values()).replace(r"(\w+)", "")
    members = " ".join(f"{kind} {names}" for *_, kinds in MEANING.values() for kind, names in kinds.items())
    assert drawn == {*wordings.split(), *members.split(), *grammar.NAMES, "and", "while", "but", "whereas"}
    assert len(set(grammar.NAMES)) == 24


def test_close_and_broad_wordings_share_no_word() -> None:
    close = {word for topic in TOPICS for word in topic.close.split()} - {"{}"}
    close |= {member for topic in TOPICS for members in topic.kinds.values() for member in members}
    broad = {word for topic in TOPICS for kind in topic.kinds for word in topic.broad(kind).split()}
    assert not close & broad
    words = [word for topic in TOPICS for kind, members in topic.kinds.items() for word in (kind, *members)]
    assert len(words) == len(set(words)) == 6 * 3 * 3


def test_columns_and_ids() -> None:
    tables = _draw(splits={"train": 7, "odd_set": 6})
    assert {split: table.num_rows for split, table in tables.items()} == {"train": 7, "odd_set": 6}
    for split, table in tables.items():
        assert table.schema == pa.schema({name: pa.string() for name in ("text", "text_pair", "label", "cue", "id")})
        assert table["id"].to_pylist() == [f"{split}-{number}" for number in range(table.num_rows)]
    assert Counter(tables["train"]["label"].to_pylist()) == {"entailment": 3, "neutral": 2, "contradiction": 2}


def test_rows_stand_in_random_order() -> None:
    labels = np.array(_draw()["train"]["label"].to_pylist())
    assert abs((labels[1:] == labels[:-1]).mean() - 1 / 3) < 0.05


@pytest.mark.parametrize(
    ("share", "cues", "counts"),
    [
        (0.0, "aligned", {("entailment", "none"): 1000, ("neutral", "none"): 1000, ("contradiction", "none"): 1000}),
        (
            0.75,
            "aligned",
            {
                ("entailment", "none"): 250,
                ("entailment", "hypothesis_word"): 375,
                ("entailment", "overlap"): 375,
                ("neutral", "none"): 250,
                ("neutral", "hypothesis_word"): 750,
                ("contradiction", "none"): 250,
                ("contradiction", "negation"): 375,
                ("contradiction", "hypothesis_word"): 375,
            },
        ),
        (
            0.6,
            "reversed",
            {
                ("entailment", "none"): 400,
                ("entailment", "negation"): 200,
                ("entailment", "hypothesis_word"): 400,
                ("neutral", "none"): 400,
                ("neutral", "negation"): 150,
                ("neutral", "hypothesis_word"): 300,
                ("neutral", "overlap"): 150,
                ("contradiction", "none"): 400,
                ("contradiction", "hypothesis_word"): 400,
                ("contradiction", "overlap"): 200,
            },
        ),
    ],
)
def test_each_class_has_its_cues_in_their_shares(share: float, cues: str, counts: dict[tuple[str, str], int]) -> None:
    rows = _rows(_draw(planted_share=share, cues=cues)["train"])
    assert Counter((row["label"], row["cue"]) for row in rows) == counts


@pytest.mark.parametrize("cues", ["aligned", "reversed"])
def test_cues_are_in_the_texts_of_their_rows_and_of_no_other(cues: str) -> None:
    for row in _rows(_draw(planted_share=0.6, cues=cues)["train"]):
        word = re.search(r", (\w+)\.$", row["text_pair"])
        assert (row["cue"] == "negation") == bool(re.search(r", not (a )?\w+\.$", row["text_pair"]))
        assert (row["cue"] == "hypothesis_word") == (word is not None)
        if word is not None:
            assert (WORDS[row["label"]] == word[1]) == (cues == "aligned")
        if row["cue"] == "overlap":
            assert _echoed(row)


def test_planted_overlap_is_said_of_the_hypothesis_person_in_entailments_only() -> None:
    aligned = [row for row in _rows(_draw(planted_share=1.0)["train"]) if row["cue"] == "overlap"]
    turned = [row for row in _rows(_draw(planted_share=1.0, cues="reversed")["train"]) if row["cue"] == "overlap"]
    assert len(aligned) == 500
    assert len(turned) == 583
    assert all(row["text_pair"].removesuffix(".") in row["text"] for row in aligned)
    assert not any(row["text_pair"].removesuffix(".") in row["text"] for row in turned)


def test_without_cues_no_text_alone_and_no_overlap_gives_the_label_away() -> None:
    tables = _draw(splits={"train": 6000, "test": 3000})
    for columns in (["text_pair"], ["text"], ["text", "text_pair"]):
        assert abs(_accuracy(tables["train"], tables["test"], *columns) - 1 / 3) < 0.04
    echoes = {label: [_echoed(row) for row in _rows(tables["train"]) if row["label"] == label] for label in LABELS}
    for echoed in echoes.values():
        assert abs(np.mean(echoed) - grammar.ECHO_SHARE) < 5 * np.sqrt(0.1 * 0.9 / 2000)


def test_a_hypothesis_alone_is_enough_where_cues_go_with_the_label_and_misleads_where_they_are_reversed() -> None:
    train = _draw(planted_share=0.75)["train"]
    assert _accuracy(train, _draw(planted_share=0.75, seed=1)["test"], "text_pair") > 0.75
    assert _accuracy(train, _draw(planted_share=0.0, seed=1)["test"], "text_pair") < 0.40
    assert _accuracy(train, _draw(planted_share=1.0, cues="reversed", seed=1)["test"], "text_pair") < 0.10


def test_pairs_repeat_neither_within_nor_across_splits() -> None:
    tables = _draw(splits={"train": 6000, "validation": 1500, "test": 1500}, planted_share=0.6)
    pairs = [(row["text"], row["text_pair"]) for table in tables.values() for row in _rows(table)]
    assert len(set(pairs)) == len(pairs) == 9000


def test_a_pair_that_was_drawn_before_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "NAMES", ("Anna", "Boris"))
    monkeypatch.setattr(grammar, "TOPICS", TOPICS[:3])
    tables = _draw(splits={"train": 1500, "test": 600})
    pairs = [(row["text"], row["text_pair"]) for table in tables.values() for row in _rows(table)]
    assert len(set(pairs)) == len(pairs) == 2100


def test_more_rows_than_the_grammar_has_pairs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "NAMES", ("Anna", "Boris"))
    monkeypatch.setattr(grammar, "TOPICS", TOPICS[:3])
    monkeypatch.setattr(grammar, "LINKS", ("and",))
    monkeypatch.setattr(grammar, "MOST_DRAWS", 50)
    with pytest.raises(
        DataError, match=r"'train' needs 6000 rows, but the grammar has no new pair .* 'entailment' after \d+ rows"
    ):
        _draw(splits={"train": 6000})


def test_the_seed_and_the_splits_name_give_the_rows() -> None:
    first, again, other = _draw(planted_share=0.5), _draw(planted_share=0.5), _draw(planted_share=0.5, seed=1)
    for split in first:
        assert first[split].equals(again[split])
        assert not first[split].equals(other[split])
    assert first["train"].equals(_draw(splits={"train": 3000, "dev": 30}, planted_share=0.5)["train"])
    same_size = _draw(splits={"dev": 300, "test": 300})
    assert not same_size["dev"]["text"].equals(same_size["test"]["text"])
