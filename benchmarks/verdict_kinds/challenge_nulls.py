"""Kinds without a shortcut whose challenge set tempts: shifted, harder, re-annotated, or chosen by a model's errors.

Kinds whose rows alone tempt do not belong here (`nulls.py`, `property_nulls.py`).
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.verdict_kinds.drawing import (
    WIDTH,
    Named,
    build_rows,
    collect_failures,
    copy_rows,
    draw_labels,
    fit_linear,
    fit_tree,
    join_rows,
    make_draw,
    mark,
    measure_margins,
    place_centres,
    words_of,
)
from benchmarks.verdict_kinds.nulls import FALSE_IF_LEARNT, gaussian_rows, null
from benchmarks.verdict_kinds.records import FILTER_SHARES, HELPS, LEARNT, TEST, TRAIN, Challenge, Collected, Draw, Rows

AMBIGUOUS = 0.6
"""Rows whose true score is nearer to the border than this are ambiguous."""


def scored_rows(
    rng: np.random.Generator,
    *,
    shift: float = 0.0,
    border: float = 0.0,
    keep: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Callable[[int], Rows]:
    """Return a function that draws rows whose label depends on a true score, with logistic noise of scale 0.4.

    `shift`: added to the first feature, of which the score is a part. `border`: the score from which the second class
    begins. `keep`: from scores and labels to a mask of the rows to keep; rows are drawn until enough are kept.
    """

    def rows(count: int) -> Rows:
        kept: list[tuple[np.ndarray, np.ndarray]] = []
        while sum(len(labels) for _, labels in kept) < count:
            signal = rng.normal(size=(4 * count if keep else count, WIDTH))
            signal[:, 0] += shift
            score = signal[:, 0] - signal[:, 1]
            labels = (score + rng.logistic(scale=0.4, size=len(score)) > border).astype(np.int64)
            chosen = np.ones(len(labels), dtype=bool) if keep is None else keep(score, labels)
            kept.append((signal[chosen], labels[chosen]))
        signal, labels = (np.concatenate(parts)[:count] for parts in zip(*kept, strict=True))
        margins = (signal[:, 0] - signal[:, 1]) * (2 * labels - 1)
        return build_rows(rng, signal, labels, margins)

    return rows


def draw_moved(rng: np.random.Generator) -> Draw:
    """Return a challenge set with weaker classes at another place."""
    centres = place_centres(2, 1.2)
    moved = gaussian_rows(rng, 0.6 * centres + 0.5)
    return make_draw(gaussian_rows(rng, centres), {"moved": Challenge(moved(TEST), None)})


def draw_unequal_difficulty(rng: np.random.Generator) -> Draw:
    """Three classes, one easy and two hard, and a challenge set with weaker signal."""
    centres = place_centres(3, (2.6, 0.9, 0.9))
    shares = (1 / 3,) * 3
    weaker = gaussian_rows(rng, 0.6 * centres, shares)
    return make_draw(gaussian_rows(rng, centres, shares), {"weaker": Challenge(weaker(TEST), None)})


def draw_covariate_shift(rng: np.random.Generator) -> Draw:
    """Return a challenge set of other inputs whose labels depend on them as in the train rows."""
    return make_draw(scored_rows(rng), {"elsewhere": Challenge(scored_rows(rng, shift=1.0)(TEST), "constructed")})


def draw_other_shares(rng: np.random.Generator) -> Draw:
    """Return a challenge set with classes of 80 and 20 % in place of 50 and 50 %."""
    centres = place_centres(2, 1.2)
    other = gaussian_rows(rng, centres, (0.8, 0.2))
    return make_draw(gaussian_rows(rng, centres), {"other_shares": Challenge(other(TEST), "constructed")})


def draw_kinds_of_rows(
    rng: np.random.Generator, *, named: bool, conflicting: bool = False, challenge_share: float = 0.5
) -> Draw:
    """Return a dialect on 15 % of the rows whose label shows in other columns or, if conflicting, in the same ones
    reversed.

    `challenge_share`: share of the dialect in the challenge set.
    """
    usual = place_centres(2, 1.6)
    rare = usual[::-1] if conflicting else place_centres(2, 1.0, first=4)

    def with_share(share: float) -> Callable[[int], Rows]:
        def rows(count: int) -> Rows:
            labels, dialect = draw_labels(rng, count), rng.random(count) < share
            centres = np.where(dialect[:, None], rare[labels], usual[labels])
            signal = centres + rng.normal(size=(count, WIDTH))
            signal[:, 8] += 1.5 * dialect
            margins = np.where(dialect, *(measure_margins(signal, labels, one) for one in (rare, usual)))
            return build_rows(rng, signal, labels, margins, [mark("dialect", dialect)] * named)

        return rows

    challenge = Challenge(with_share(challenge_share)(TEST), "constructed")
    return make_draw(with_share(0.15), {"dialects": challenge})


def draw_adversarial(rng: np.random.Generator, collected: Collected | None, *, against_full: bool) -> Draw:
    """Return a challenge set of natural rows that a model gets wrong: the full one, or a tree of other rows."""
    rows = gaussian_rows(rng, place_centres(2, 1.2))
    draw = make_draw(rows)
    model = fit_linear(draw.train) if against_full else fit_tree(rows(TRAIN))
    challenge = Challenge(collect_failures(rows, model), collected)
    return Draw(draw.train, draw.test, {"rounds": challenge}, draw.irrelevant, draw.artefacts)


def draw_near_border(rng: np.random.Generator) -> Draw:
    """Return a challenge set of rows near the true border, chosen without a model."""
    near = scored_rows(rng, keep=lambda score, labels: np.abs(score) < AMBIGUOUS)
    return make_draw(scored_rows(rng), {"contrast": Challenge(near(TEST), "constructed")})


def draw_re_annotated(rng: np.random.Generator) -> Draw:
    """Return a challenge set of natural rows whose annotators set the border elsewhere."""
    other = scored_rows(rng, border=1.2)
    return make_draw(scored_rows(rng), {"re_annotated": Challenge(other(TEST), None)})


def draw_harder(rng: np.random.Generator) -> Draw:
    """Half of the rows are from a studio and easy in both classes; the challenge set has none of them."""
    centres = place_centres(2, 1.0)

    def with_share(share: float, harder: float) -> Callable[[int], Rows]:
        def rows(count: int) -> Rows:
            labels, studio = draw_labels(rng, count), rng.random(count) < share
            strength = np.where(studio, 2.2, harder)[:, None]
            signal = strength * centres[labels] + rng.normal(size=(count, WIDTH))
            signal[:, 6:9] += 0.7 * studio[:, None]
            named = [Named("place", words_of(studio, "studio", "outdoors"))]
            return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), named)

        return rows

    return make_draw(with_share(0.5, 0.9), {"outdoors": Challenge(with_share(0.0, 0.6)(TEST), "constructed")})


def draw_few_effective_rows(rng: np.random.Generator) -> Draw:
    """Ambiguous train rows stand eight times; the challenge set has rows whose label contradicts their true score."""
    natural = scored_rows(rng)
    clear = scored_rows(rng, keep=lambda score, labels: np.abs(score) >= AMBIGUOUS)
    ambiguous = scored_rows(rng, keep=lambda score, labels: np.abs(score) < AMBIGUOUS)
    surprising = scored_rows(rng, keep=lambda score, labels: (score > 0) != (labels == 1))
    copies = copy_rows(rng, ambiguous(TRAIN // 16), 8, declared=False)
    train = join_rows([clear(TRAIN - len(copies)), copies]).take(rng.permutation(TRAIN))
    draw = make_draw(natural, {"surprising": Challenge(surprising(TEST), None)})
    return Draw(train, draw.test, draw.challenges, draw.irrelevant, draw.artefacts)


def _adversarial(collected: Collected | None, *, against_full: bool) -> Callable[[np.random.Generator], Draw]:
    return lambda rng: draw_adversarial(rng, collected, against_full=against_full)


tempting = partial(null, shares=FILTER_SHARES[:2])
"""A null that keeps at most half of the rows: the stronger the filter is, the more its challenge set tempts."""

CHALLENGE_NULLS = (
    tempting(
        "clean task, another kind of challenge set",
        draw_moved,
        "The challenge rows are weaker and elsewhere, so any two models may differ on them without a shortcut.",
    ),
    tempting(
        "classes of unequal difficulty, weaker challenge set",
        draw_unequal_difficulty,
        "Filtering removes the easy class's rows, and a worse model may gain where signal is weak without a shortcut.",
    ),
    tempting(
        "covariate shift",
        draw_covariate_shift,
        "Challenge inputs differ and labels depend on them alike, so a fall of the full model shows no shortcut.",
    ),
    tempting(
        "other class shares in the challenge set",
        draw_other_shares,
        "Only the class shares differ, so a change of how often a class is predicted must not count as help.",
    ),
    tempting(
        "minority kind of rows, named",
        lambda rng: draw_kinds_of_rows(rng, named=True),
        "A dialect is a part of the task that is kept more often, so what marks the other rows is no shortcut.",
        cue="dialect",
    ),
    tempting(
        "minority kind of rows, not named",
        lambda rng: draw_kinds_of_rows(rng, named=False),
        "A dialect that no property names is kept more often, and no property may be blamed for it.",
    ),
    tempting(
        "conflicting kinds of rows",
        lambda rng: draw_kinds_of_rows(rng, named=False, conflicting=True, challenge_share=0.15),
        "A dialect swaps the labels, so filtered rows teach the rare rule and are worse for the task.",
    ),
    tempting(
        "conflicting kinds of rows, challenge set of the rare kind",
        lambda rng: draw_kinds_of_rows(rng, named=False, conflicting=True, challenge_share=0.8),
        "Filtered rows really teach the rare rule, so help on the challenge set is true and no property explains it.",
        expected=LEARNT | HELPS,
        refused=FALSE_IF_LEARNT - HELPS,
    ),
    tempting(
        "collected against the full model",
        _adversarial("adversarially", against_full=True),
        "Challenge rows were chosen because the full model fails, so any other model gains on them.",
    ),
    tempting(
        "collected against the full model, not declared",
        _adversarial(None, against_full=True),
        "Challenge rows were chosen because the full model fails, and the author did not say so.",
    ),
    tempting(
        "collected against the full model, declared constructed",
        _adversarial("constructed", against_full=True),
        "The declaration is false: the gain of any other model counts as help, and the rate is what that costs.",
        wrong_declaration=True,
    ),
    tempting(
        "collected against another model",
        _adversarial("adversarially", against_full=False),
        "Challenge rows were chosen because a tree trained on other rows fails, so a worse model gains on them.",
    ),
    tempting(
        "collected against another model, not declared",
        _adversarial(None, against_full=False),
        "Challenge rows were chosen because a tree trained on other rows fails, and the author did not say so.",
    ),
    tempting(
        "rows near the true border",
        draw_near_border,
        "Challenge rows are ambiguous and chosen without a model, so all models are near chance on them.",
    ),
    tempting(
        "re-annotated challenge set",
        draw_re_annotated,
        "Other annotators set the border elsewhere, so the full model falls on the challenge set without a shortcut.",
    ),
    tempting(
        "harder challenge set without the property",
        draw_harder,
        "Studio pictures are easy in both classes and absent from the harder challenge set, which is no reversal.",
        cue="place",
    ),
    tempting(
        "few effective rows kept, surprising challenge set",
        draw_few_effective_rows,
        "Kept rows are near copies, so filtered is worse at equal size, and worse models gain on surprising rows.",
    ),
)
