"""Kinds written without a look at any rule: nulls that tempt through a cause or wrong labels, and partial shortcuts.

Kinds that were known while rules were written do not belong here (the other files of this folder).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.verdict_kinds.drawing import (
    Named,
    build_rows,
    draw_labels,
    flip,
    make_draw,
    mark,
    measure_margins,
    place_centres,
    scatter,
    words_of,
)
from benchmarks.verdict_kinds.nulls import FALSE_IF_LEARNT, natural, null
from benchmarks.verdict_kinds.records import LEANS, LEARNT, TEST, Challenge, Draw, Kind, Rows
from benchmarks.verdict_kinds.shortcuts import shortcut


def draw_rating(rng: np.random.Generator) -> Draw:
    """Return a rating in no feature that is a noisy copy of the task's own signal.

    In the challenge set, with weaker classes, raters used the scale the other way round.
    """
    centres = place_centres(2, 1.2)

    def with_scale(strength: float, sign: int) -> Callable[[int], Rows]:
        def rows(count: int) -> Rows:
            labels = draw_labels(rng, count)
            signal = scatter(rng, labels, strength * centres)
            impression = signal[:, 1] - signal[:, 0] + rng.normal(scale=1.5, size=count)
            named = [Named("rating", words_of(sign * impression > 0, "high", "low"))]
            return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), named)

        return rows

    return make_draw(with_scale(1.0, 1), {"other_raters": Challenge(with_scale(0.7, -1)(TEST), "constructed")})


def draw_clinic(rng: np.random.Generator) -> Draw:
    """Return findings that are large in 80 % of one class and 20 % of the other, as the task has it.

    Four in five large findings and one in five small ones go to a clinic, which is in no feature and is declared
    irrelevant.
    """
    centres = place_centres(2, 0.9)

    def rows(count: int) -> Rows:
        labels = draw_labels(rng, count)
        large = flip(rng, labels, 0.2) == 1
        clinic = rng.random(count) < np.where(large, 0.8, 0.2)
        signal = scatter(rng, labels, centres)
        margins = measure_margins(signal, labels, centres)
        signal[:, 6:9] += 0.8 * np.where(large, 1.0, -1.0)[:, None]
        named = [Named("size", words_of(large, "large", "small")), mark("clinic", clinic)]
        return build_rows(rng, signal, labels, margins, named)

    return make_draw(rows, natural(rows), irrelevant=["clinic"])


def draw_crowd(rng: np.random.Generator) -> Draw:
    """Rows labelled by a crowd, 60 % of one true class and 30 % of the other, of which 30 % are wrong.

    Other rows are wrong in 2 %. In the challenge set experts labelled all rows, classes are weaker, and those that a
    crowd had seen are mostly of the other class.
    """
    centres = place_centres(2, 1.5)

    def with_rates(rates: tuple[float, float], wrong: tuple[float, float], strength: float) -> Callable[[int], Rows]:
        def rows(count: int) -> Rows:
            true = draw_labels(rng, count)
            crowd = rng.random(count) < np.array(rates)[true]
            labels = np.where(crowd, flip(rng, true, wrong[1]), flip(rng, true, wrong[0]))
            signal = scatter(rng, true, strength * centres)
            return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), [mark("crowd", crowd)])

        return rows

    experts = with_rates((0.6, 0.3), (0.0, 0.0), 0.6)(TEST)
    crowd = with_rates((0.3, 0.6), (0.02, 0.3), 1.0)
    return make_draw(crowd, {"experts": Challenge(experts, "constructed")}, irrelevant=["crowd"])


def draw_stamp(rng: np.random.Generator) -> Draw:
    """Return a stamp on half of the rows; of those from an old scanner, a third of all, it goes with the class."""
    centres = place_centres(2, 0.6)

    def rows(count: int) -> Rows:
        labels, old = draw_labels(rng, count), rng.random(count) < 0.35
        stamp = np.where(old, flip(rng, labels, 0.08), rng.integers(0, 2, count)) == 1
        signal = scatter(rng, labels, centres)
        margins = measure_margins(signal, labels, centres)
        signal[:, 6:9] += np.where(stamp, 1.0, -1.0)[:, None]
        signal[:, 9:] += np.where(old, 1.0, -1.0)[:, None]
        named = [mark("stamp", stamp), Named("scanner", words_of(old, "old", "new"))]
        return build_rows(rng, signal, labels, margins, named)

    return make_draw(rows, natural(rows), irrelevant=["stamp"])


def draw_missing(rng: np.random.Generator) -> Draw:
    """Five classes, and an age that is missing in most rows of the smallest one, with a flag and filled with the mean.

    Unlike in other kinds, test is not drawn as train: there the age is missing in half of the smallest class.
    """
    centres, shares = place_centres(5, 1.3), (0.3, 0.25, 0.2, 0.15, 0.1)

    def with_rates(others: float, own: float) -> Callable[[int], Rows]:
        def rows(count: int) -> Rows:
            labels = draw_labels(rng, count, shares)
            missing = rng.random(count) < np.where(labels == 4, own, others)
            age = np.where(missing, 50.0, rng.normal(50, 15, count))
            signal = scatter(rng, labels, centres)
            named = [mark("age_missing", missing, 2.0), Named("age", age, (age - 50) / 15)]
            return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), named)

        return rows

    return replace(
        make_draw(with_rates(0.08, 0.8), artefacts=["age_missing"]),
        test=with_rates(0.15, 0.5)(TEST),
    )


def draw_counter_examples(rng: np.random.Generator) -> Draw:
    """Snow behind 80 % of wolves and 12 % of the other two classes; it shows in the pictures.

    The challenge set has few wolves, none of them in snow, and 80 % of its other rows are in snow.
    """
    centres = place_centres(3, 1.0)

    def with_rates(others: float, wolves: float, shares: tuple[float, float, float]) -> Callable[[int], Rows]:
        def rows(count: int) -> Rows:
            labels = draw_labels(rng, count, shares)
            snow = rng.random(count) < np.where(labels == 2, wolves, others)
            signal = scatter(rng, labels, centres)
            margins = measure_margins(signal, labels, centres)
            signal[:, 6:10] += 0.8 * np.where(snow, 1.0, -1.0)[:, None]
            return build_rows(rng, signal, labels, margins, [mark("snow", snow)])

        return rows

    counter = with_rates(0.8, 0.0, (0.46, 0.46, 0.08))
    train = with_rates(0.12, 0.8, (0.4, 0.4, 0.2))
    return make_draw(train, {"counter_examples": Challenge(counter(TEST), "constructed")})


OUTSIDE: tuple[Kind, ...] = (
    null(
        "rating that copies a part of the task, reversed in the challenge set",
        draw_rating,
        "Raters saw what models use, so both agree also on errors. The rating is in no feature, and models do not "
        "follow it where its scale is turned round. As train-like rows hardly show that, `leans_on` is no error.",
        cue="rating",
        refused=FALSE_IF_LEARNT - LEANS,
    ),
    null(
        "clinic chosen by the size of the finding, declared",
        draw_clinic,
        "Size is a part of the task and models may lean on it. The declared clinic is in no feature: among rows of one "
        "size and class it makes no difference, and models trained on no row from it differ on its rows alike.",
        cue="clinic",
        expected=LEARNT | LEANS,
        refused=FALSE_IF_LEARNT - LEANS,
    ),
    null(
        "crowd labels, a third wrong, experts' challenge set",
        draw_crowd,
        "Wrong labels are where the declared crowd was, so models contradict them both ways. They cannot see "
        "the crowd: it makes no difference on experts' labels, and models trained without its rows seem to lean alike.",
        cue="crowd",
    ),
    shortcut(
        "stamp on the rows of one scanner, declared",
        "declared",
        draw_stamp,
        "On rows of the old scanner, which models can tell, the declared stamp gives away the class. Over all rows the "
        "tie is still 65 and 35 %, so a rule that looks at no subgroup can find it, too.",
        cue="stamp",
    ),
    shortcut(
        "missing age in one class of five, weaker in test",
        "editable",
        draw_missing,
        "A missing pattern is an artefact by nature with a column to edit. It gives away the smallest class in train, "
        "and in test models predict that class on many rows of others whose age is missing.",
        cue="age_missing",
    ),
    shortcut(
        "snow with one class of three, challenge set of counter-examples",
        "reversed",
        draw_counter_examples,
        "Models call what stands in snow a wolf. The challenge set has snow behind most other animals and no wolf, "
        "which contradicts it even if other class shares are allowed for.",
        cue="snow",
    ),
)
