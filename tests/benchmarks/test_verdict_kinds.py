"""The kinds of made data for the verdict's benchmark: shapes, planted rates, and what is true of each property."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

FAR = 5.0
"""Deviations from a planted rate that fail a test: one in 1.7 million, and some thousand rates are compared."""

DISTRACTORS = {
    *(f"word_{number}" for number in range(1, 6)),
    *("source", "author", "hour", "file_size", "brightness", "double_blank", "record_number", "hard_to_read"),
}


DRAWN: dict[str, Any] = {}


@pytest.fixture
def package() -> Any:
    import benchmarks.verdict_kinds as package

    return package


@pytest.fixture
def draw(package: Any) -> Callable[..., Any]:
    return lambda name: first_draw(next(kind for kind in package.KINDS if kind.name == name))


def first_draw(kind: Any) -> Any:
    """Return the draw with seed 0, which all tests share."""
    if kind.name not in DRAWN:
        DRAWN[kind.name] = kind.draw(np.random.default_rng(0))
    return DRAWN[kind.name]


def every_part(draw: Any) -> dict[str, Any]:
    return {"train": draw.train, "test": draw.test, **{name: one.rows for name, one in draw.challenges.items()}}


def deviations(hits: np.ndarray, rate: float) -> float:
    """Return the difference between the share of `hits` and `rate`, in binomial deviations."""
    return float((hits.mean() - rate) / np.sqrt(max(rate * (1 - rate), 1e-12) / len(hits)))


def assert_rate(hits: np.ndarray, rate: float, message: str = "") -> None:
    assert abs(deviations(hits, rate)) < FAR, (message, float(hits.mean()), rate)


def dependence(values: np.ndarray, others: np.ndarray) -> float:
    """Return the largest absolute correlation of a column with `others`, times the square root of the rows."""
    values = np.asarray(values, dtype=np.float64).reshape(len(others), -1)
    values = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-12)
    others = (others - others.mean()) / max(others.std(), 1e-12)
    return float(np.abs(values.T @ others).max() / np.sqrt(len(others)))


def as_number(values: np.ndarray) -> np.ndarray:
    """Return indicators of each value but the last, or the numbers themselves."""
    if values.dtype != object:
        return values[:, None]
    names = sorted(set(values))
    return np.column_stack([values == name for name in names[:-1]]) if len(names) > 1 else np.zeros((len(values), 1))


def test_the_table_in_the_docstring_lists_the_kinds(package: Any) -> None:
    from benchmarks.verdict_kinds.records import describe

    table = [line for line in package.__doc__.splitlines() if line.startswith("|")]
    assert table == describe(package.KINDS).splitlines(), "paste the output of describe(KINDS)"


def test_the_docstring_explains_each_letter(package: Any) -> None:
    from benchmarks.verdict_kinds.records import CODES, LETTERS

    assert set(LETTERS) == CODES
    assert len(set(LETTERS.values())) == len(CODES)
    legend = " ".join(package.__doc__.split())
    assert all(f"{letter} = {code}" in legend for code, letter in LETTERS.items())


def test_kinds_are_consistent(package: Any) -> None:
    from benchmarks.verdict_kinds.records import CODES, FILTER_SHARES, FOUND

    assert len({kind.name for kind in package.KINDS}) == len(package.KINDS)
    for kind in package.KINDS:
        assert kind.filter_to in FILTER_SHARES, kind.name
        assert kind.expected <= CODES
        assert kind.refused <= CODES
        assert kind.expected, kind.name
        assert not kind.expected & kind.refused, kind.name
        assert kind.why.endswith("."), kind.name
        assert kind.truth == "shortcut" or (kind.seen == "none" and kind.refused >= FOUND), kind.name
        assert kind.truth == "null" or kind.seen == "none" or kind.expected & (FOUND | {"cannot_tell"}), kind.name


def test_draws_have_the_shapes_that_the_records_promise(package: Any) -> None:
    for kind in package.KINDS:
        made = first_draw(kind)
        assert (len(made.train), len(made.test)) == (2_000, 1_000), kind.name
        names = [one.name for one in made.train.properties]
        assert len(set(names)) == len(names), kind.name
        assert len(set(names) - {kind.cue}) >= 10, kind.name
        assert {*made.irrelevant, *made.artefacts, *({kind.cue} - {None})} <= set(names), kind.name
        for rows in every_part(made).values():
            assert rows.features.dtype == np.float32
            assert rows.features.shape == (len(rows), made.train.features.shape[1])
            assert np.isfinite(rows.features).all()
            assert rows.labels.dtype == np.int64
            assert set(rows.labels) == set(made.train.labels), kind.name
            assert rows.groups is None or rows.groups.shape == (len(rows),)
            assert [(one.name, one.columns) for one in rows.properties] == [
                (one.name, one.columns) for one in made.train.properties
            ], kind.name
            assert all(one.values.shape == (len(rows),) for one in rows.properties)
            assert {one.values.dtype for one in rows.properties} <= {np.dtype(object), np.dtype(np.float64)}, kind.name
        columns = [column for one in made.train.properties for column in one.columns]
        assert len(set(columns)) == len(columns)
        assert max(columns) < made.train.features.shape[1]
        for challenge in made.challenges.values():
            assert 500 <= len(challenge.rows) <= 1_000, kind.name
            assert challenge.collected in ("constructed", "adversarially", None)


def test_a_draw_depends_on_its_generator_alone(package: Any) -> None:
    for kind in package.KINDS:
        first, second, other = map(
            every_part, (first_draw(kind), *(kind.draw(np.random.default_rng(n)) for n in (0, 1)))
        )
        for name, rows in first.items():
            again = second[name]
            np.testing.assert_array_equal(rows.features, again.features, err_msg=kind.name)
            np.testing.assert_array_equal(rows.labels, again.labels)
            for one, same in zip(rows.properties, again.properties, strict=True):
                np.testing.assert_array_equal(one.values, same.values, err_msg=one.name)
        assert not np.array_equal(first["train"].features, other["train"].features), kind.name


def test_distractors_are_independent_of_the_label_but_by_chance(package: Any) -> None:
    for kind in package.KINDS:
        train = first_draw(kind).train
        if train.groups is not None or "copies" in kind.name or "few effective" in kind.name:
            continue  # rows of one group share properties
        for one in train.properties:
            if one.name in DISTRACTORS - {kind.cue}:
                found = [dependence(as_number(one.values), train.labels == label) for label in set(train.labels)]
                assert max(found) < FAR, (kind.name, one.name)


def test_the_difficulty_distractor_goes_with_errors(draw: Callable[..., Any]) -> None:
    from benchmarks.verdict_kinds.drawing import fit_linear

    made = draw("clean task")
    wrong = fit_linear(made.train).predict(made.test.features) != made.test.labels
    hard = made.test.values("hard_to_read") == "yes"
    assert wrong[hard].mean() > 1.5 * wrong[~hard].mean()


def test_columns_hold_their_property_and_nothing_else(package: Any) -> None:
    for kind in package.KINDS:
        train = first_draw(kind).train
        for one in train.properties:
            if not one.columns:
                continue
            block = train.features[:, one.columns].astype(np.float64)
            for value in set(one.values) if one.values.dtype == object else ():
                carriers = one.values == value
                if block[carriers].std(axis=0).max() > 0.1:  # noise: independent of the label given the value
                    found = dependence(block[carriers], train.labels[carriers])
                    assert kind.name.startswith("cue spread")
                    assert found < FAR, (kind.name, one.name)
            if one.values.dtype != object and len(one.columns) == 1:
                order = np.argsort(one.values)
                # Near copies differ by a little noise in all features.
                least = -0.5 if "copies" in kind.name or "few effective" in kind.name else -1e-6
                assert np.diff(block[order, 0]).min() > least, (kind.name, one.name)


@pytest.mark.parametrize(
    ("name", "property_name", "value", "rates"),
    [
        ("image quality, independent of the label, declared", "quality", "high", (0.5, 0.5)),
        ("image quality, 56 and 44 % of the classes", "quality", "high", (0.44, 0.56)),
        ("image quality, 20 and 80 % of the classes", "quality", "high", (0.2, 0.8)),
        ("property that marks hard rows", "handwritten", "yes", (0.24, 0.36)),
        ("causal property", "negation", "yes", (0.15, 0.85)),
        ("proxy that models cannot see", "region", "yes", (0.35, 0.65)),
        ("proxy that models cannot see, declared", "region", "yes", (0.35, 0.65)),
        ("proxy that models cannot see, random rows kept", "region", "yes", (0.35, 0.65)),
        ("proxy that models cannot see, declared, 8 % wrong labels", "region", "yes", (0.332, 0.668)),
        ("file format that models cannot see", "saved_as_png", "yes", (0.35, 0.65)),
        ("three confusable classes", "at_night", "yes", (0.65, 0.35, 0.35, 0.35)),
        ("twenty classes", "at_night", "yes", (0.5, *[0.25] * 19)),
        ("no carriers outside the class, seen by models", "breed", "yes", (0.0, 0.4)),
        ("no carriers outside the class, not seen by models", "breed", "yes", (0.0, 0.4)),
        ("near copies, declared as groups", "rare_word", "yes", (0.1, 0.1)),
        ("minority kind of rows, named", "dialect", "yes", (0.15, 0.15)),
        ("harder challenge set without the property", "place", "studio", (0.5, 0.5)),
        *((f"cue word on {share} %, seen", "cue_word", "absent", (1 - share / 100,) * 2) for share in (30, 50, 70)),
        *(
            (f"cue word on {share} %, seen", "cue_word", "names 1", (share * 6e-4, share * 94e-4))
            for share in (30, 50, 70)
        ),
        ("place goes with the class, declared", "place", "water", (0.1, 0.9)),
        ("place goes with the class, reversed", "place", "water", (0.1, 0.9)),
        ("place goes with the class, not declared", "place", "water", (0.1, 0.9)),
        ("mark on 95 % of one class", "final_period", "yes", (0.3, 0.95)),
        ("mark on 97 % of one class", "final_period", "yes", (0.3, 0.97)),
        ("blanks on 40 % of one class and nowhere else", "double_blank", "yes", (0.0, 0.4)),
        ("mark on one class of three, declared", "watermark", "yes", (0.1, 0.1, 0.6)),
        ("two weak cues, declared", "smiley", "yes", (0.1, 0.35)),
        ("two weak cues, declared", "link", "yes", (0.35, 0.1)),
        ("cue spread over 40 features, declared", "camera", "second", (0.15, 0.85)),
        ("file format goes with the class", "file_format", "png", (0.15, 0.85)),
    ],
)
def test_planted_rates_by_class(
    draw: Callable[..., Any], name: str, property_name: str, value: str, rates: tuple[float, ...]
) -> None:
    train = draw(name).train
    for label, rate in enumerate(rates):
        # Near copies count as one row.
        own = (train.labels == label) & (np.arange(len(train)) % 5 == 0 if "copies" in name else True)
        assert_rate(train.values(property_name)[own] == value, rate, f"{name}: class {label}")


@pytest.mark.parametrize(
    ("name", "property_name", "limit", "rates"),
    [
        ("length of the second text follows the class on 40 %", "words", 17.5, (0.6 * 0.48, 0.4 + 0.6 * 0.48)),
        ("length of the only text follows the class on 60 %", "words", 17.5, (0.4 * 0.48, 0.6 + 0.4 * 0.48)),
        ("continuous cue on 30 %, declared", "pause", 0.0, (0.35 + 0.3 * 0.0228, 0.35 + 0.3 * 0.9772)),
        ("continuous cue on 60 %, reversed", "pause", 0.0, (0.2 + 0.6 * 0.0228, 0.2 + 0.6 * 0.9772)),
        ("record numbers of one range on half of one class", "record_number", 89_999, (0.0, 0.5)),
        ("position of the answer", "position", 0.5, (0.8, 0.4)),
        ("clean task, texts of any length", "words", 17.5, (0.48, 0.48)),
    ],
)
def test_planted_rates_of_numbers(
    draw: Callable[..., Any], name: str, property_name: str, limit: float, rates: tuple[float, float]
) -> None:
    train = draw(name).train
    for label, rate in enumerate(rates):
        assert_rate(train.values(property_name)[train.labels == label] > limit, rate, f"{name}: class {label}")


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("clean task", (0.5, 0.5)),
        ("random labels, classes of 70, 20 and 10 %", (0.7, 0.2, 0.1)),
        ("clean task, classes of 70, 20 and 10 %", (0.7, 0.2, 0.1)),
        ("classes of 95 and 5 % with noise", (0.95 * 0.97 + 0.05 * 0.03, 0.05 * 0.97 + 0.95 * 0.03)),
        ("twenty classes", (0.05,) * 20),
    ],
)
def test_class_shares(draw: Callable[..., Any], name: str, shares: tuple[float, ...]) -> None:
    for label, share in enumerate(shares):
        assert_rate(draw(name).train.labels == label, share, name)


def test_reversed_challenge_sets_contradict_the_cue(package: Any) -> None:
    """The association of the cue with the label changes its sign, and each value has carriers in both classes."""
    for kind in package.KINDS:
        if kind.seen != "reversed":
            continue
        made = first_draw(kind)
        (challenge,) = made.challenges.values()
        assert challenge.collected == "constructed"
        slopes = []
        for rows in (made.train, challenge.rows):
            values = rows.values(kind.cue)
            shown = values if values.dtype != object else (values == sorted(set(values))[-1]).astype(float)
            slopes.append(np.corrcoef(shown, rows.labels == rows.labels.max())[0, 1])
        assert slopes[0] * slopes[1] < 0, kind.name
        assert abs(slopes[0]) > 0.15, kind.name


def test_declared_and_editable_shortcuts_are_declared(package: Any) -> None:
    for kind in package.KINDS:
        made = first_draw(kind)
        columns = {one.name: one.columns for one in made.train.properties}
        if kind.seen == "declared":
            assert kind.cue in made.irrelevant or (kind.cue in made.artefacts and not columns[kind.cue]), kind.name
        elif kind.seen == "editable":
            assert kind.cue in made.artefacts, kind.name
            assert columns[kind.cue], kind.name
        elif kind.seen in ("reversed", "unseen"):
            assert kind.cue not in made.irrelevant + made.artefacts, kind.name
        if kind.seen == "unseen":
            assert {one.name for one in made.train.properties} == DISTRACTORS, kind.name


def test_unseen_proxies_are_independent_of_the_features_given_the_label(draw: Callable[..., Any]) -> None:
    for name, property_name, value in (
        ("proxy that models cannot see", "region", "yes"),
        ("proxy that models cannot see, declared", "region", "yes"),
        ("proxy that models cannot see, reversed in the challenge set", "region", "yes"),
        ("proxy that models cannot see, random rows kept", "region", "yes"),
        ("file format that models cannot see", "saved_as_png", "yes"),
        ("three confusable classes", "at_night", "yes"),
        ("twenty classes", "at_night", "yes"),
        ("no carriers outside the class, not seen by models", "breed", "yes"),
        ("property that marks hard rows", "handwritten", "yes"),
    ):
        train = draw(name).train
        for label in set(train.labels):
            own = train.labels == label
            carriers = (train.values(property_name)[own] == value).astype(float)
            assert dependence(train.features[own], carriers) < FAR, name


@pytest.mark.parametrize(
    ("name", "property_name", "easy"),
    [
        ("image quality, independent of the label, declared", "quality", "high"),
        ("image quality, 56 and 44 % of the classes", "quality", "high"),
        ("harder challenge set without the property", "place", "studio"),
        ("property that marks hard rows", "handwritten", "no"),
    ],
)
def test_properties_that_mark_easy_rows_do_so_in_both_classes(
    draw: Callable[..., Any], name: str, property_name: str, easy: str
) -> None:
    from benchmarks.verdict_kinds.drawing import fit_linear

    made = draw(name)
    right = fit_linear(made.train).predict(made.test.features) == made.test.labels
    marked = made.test.values(property_name) == easy
    for label in (0, 1):
        own = made.test.labels == label
        assert right[own & marked].mean() > right[own & ~marked].mean() + 0.05


def test_models_weigh_the_causal_property_most(draw: Callable[..., Any]) -> None:
    """Its standardised coefficient is the largest one."""
    from benchmarks.verdict_kinds.drawing import fit_linear

    made = draw("causal property")
    model = fit_linear(made.train)
    (column,) = next(one.columns for one in made.test.properties if one.name == "negation")
    assert int(np.abs(model.coef_[0] * made.train.features.std(axis=0)).argmax()) == column


def test_adversarial_rows_are_those_that_the_full_model_gets_wrong(draw: Callable[..., Any]) -> None:
    from benchmarks.verdict_kinds.drawing import fit_linear

    declared = {
        "collected against the full model": "adversarially",
        "collected against the full model, not declared": None,
        "collected against the full model, declared constructed": "constructed",
    }
    for name, collected in declared.items():
        made = draw(name)
        (challenge,) = made.challenges.values()
        assert challenge.collected == collected
        assert not (fit_linear(made.train).predict(challenge.rows.features) == challenge.rows.labels).any()
    (challenge,) = draw("collected against another model").challenges.values()
    right = fit_linear(made.train).predict(challenge.rows.features) == challenge.rows.labels
    assert 0.2 < right.mean() < 0.7


def test_challenge_rows_lie_where_their_kind_says(draw: Callable[..., Any]) -> None:
    def score(rows: Any) -> np.ndarray:
        return np.asarray(rows.features[:, 0] - rows.features[:, 1])

    (border,) = draw("rows near the true border").challenges.values()
    assert np.abs(score(border.rows)).max() <= 0.6 + 1e-4
    (surprising,) = draw("few effective rows kept, surprising challenge set").challenges.values()
    assert not ((score(surprising.rows) > 0) == (surprising.rows.labels == 1)).any()
    (shifted,) = draw("covariate shift").challenges.values()
    assert shifted.rows.features[:, 0].mean() == pytest.approx(1.0, abs=FAR / np.sqrt(1_000))
    (annotated,) = draw("re-annotated challenge set").challenges.values()
    between = (score(annotated.rows) > 0.1) & (score(annotated.rows) < 0.6)
    assert annotated.rows.labels[between].mean() < 0.5
    (other,) = draw("other class shares in the challenge set").challenges.values()
    assert_rate(other.rows.labels == 0, 0.8)
    (outdoors,) = draw("harder challenge set without the property").challenges.values()
    assert set(outdoors.rows.values("place")) == {"outdoors"}


def test_properties_without_an_association_are_independent_of_the_label(draw: Callable[..., Any]) -> None:
    for name, property_name in (
        ("undeclared clusters", "site"),
        ("clean task, texts of any length", "words"),
        ("clean task, random rows kept", "quality"),
    ):
        train = draw(name).train
        assert dependence(as_number(train.values(property_name)), train.labels) < FAR, name


def test_the_visible_breed_shows_in_the_features_and_the_other_one_does_not(draw: Callable[..., Any]) -> None:
    found = []
    for how in ("seen", "not seen"):
        train = draw(f"no carriers outside the class, {how} by models").train
        own = train.labels == 1
        found.append(dependence(train.features[own], train.values("breed")[own] == "yes"))
    assert found[0] > 2 * FAR
    assert found[1] < FAR


def test_covariate_shift_keeps_the_labels_given_the_inputs(draw: Callable[..., Any]) -> None:
    made = draw("covariate shift")
    for rows in (made.train, made.challenges["elsewhere"].rows):
        score = rows.features[:, 0] - rows.features[:, 1]
        near = np.abs(score - 0.8) < 0.2
        # 1 / (1 + exp(-0.8 / 0.4)), and within the window it lies between 0.82 and 0.92
        assert rows.labels[near].mean() == pytest.approx(0.88, abs=0.09)


def test_copies_and_groups(draw: Callable[..., Any]) -> None:
    declared, undeclared = (draw(f"near copies, {how}").train for how in ("declared as groups", "undeclared"))
    assert undeclared.groups is None
    assert (np.bincount(declared.groups) == 5).all()
    order = np.argsort(declared.groups, kind="stable")
    assert (declared.labels[order].reshape(-1, 5).std(axis=1) == 0).all()
    assert declared.features[order].reshape(400, 5, -1).std(axis=1).max() < 0.2
    unequal = draw("groups of unequal size with one random label each").train
    sizes = np.bincount(unequal.groups)
    assert sizes.min() == 1
    assert sizes.max() > 40
    for values in (unequal.labels, unequal.values("source"), unequal.values("author")):
        assert all(len(set(values[unequal.groups == group])) == 1 for group in range(len(sizes)))


def test_conflicting_kinds_teach_the_rare_rule_only_where_the_rare_kind_is_frequent(draw: Callable[..., Any]) -> None:
    from benchmarks.verdict_kinds.drawing import fit_linear

    rare = draw("conflicting kinds of rows, challenge set of the rare kind")
    usual = draw("conflicting kinds of rows")
    scores = [
        (fit_linear(made.train).predict(rows.features) == rows.labels).mean()
        for made, rows in (
            (usual, usual.challenges["dialects"].rows),
            (rare, rare.challenges["dialects"].rows),
        )
    ]
    assert scores[0] > 0.7
    assert scores[1] < 0.45
