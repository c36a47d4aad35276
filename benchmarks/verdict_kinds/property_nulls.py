"""Kinds without a shortcut in which a property tempts: it marks easy or hard rows, goes with the label, or causes it.

Kinds whose challenge set tempts do not belong here (`challenge_nulls.py`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.verdict_kinds.drawing import (
    WIDTH,
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
from benchmarks.verdict_kinds.nulls import FALSE_IF_LEARNT, gaussian_rows, natural, null
from benchmarks.verdict_kinds.records import LEANS, LEARNT, TEST, Challenge, Draw, Rows


def draw_quality(rng: np.random.Generator, *, by_label: tuple[float, float], declared: bool, shift: float) -> Draw:
    """Pictures of high quality in shares `by_label` of each class, with less noise; `shift`: how visible quality is."""
    centres = place_centres(2, 1.4)

    def rows(count: int) -> Rows:
        labels = draw_labels(rng, count)
        high = rng.random(count) < np.array(by_label)[labels]
        signal = centres[labels] + rng.normal(size=(count, WIDTH)) * np.where(high, 0.7, 1.6)[:, None]
        signal[:, 6:9] += shift * high[:, None]
        named = [Named("quality", words_of(high, "high", "low"))]
        return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), named)

    return make_draw(rows, natural(rows), irrelevant=["quality"] if declared else [])


def draw_hard_mark(rng: np.random.Generator) -> Draw:
    """Handwriting, 36 % of one class and 24 % of the other, has twice the noise and is seen in nothing else."""
    centres = place_centres(2, 1.4)

    def rows(count: int) -> Rows:
        labels = draw_labels(rng, count)
        hand = rng.random(count) < np.array([0.24, 0.36])[labels]
        signal = centres[labels] + rng.normal(size=(count, WIDTH)) * np.where(hand, 2.0, 1.0)[:, None]
        return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), [mark("handwritten", hand)])

    return make_draw(rows, natural(rows))


def draw_causal(rng: np.random.Generator) -> Draw:
    """Return a negation, by which the label is decided in 85 % of the rows, in a column of its own."""
    centres = place_centres(2, 0.8)

    def rows(count: int) -> Rows:
        negated = rng.random(count) < 0.5
        labels = flip(rng, negated.astype(np.int64), 0.15)
        signal = scatter(rng, labels, centres)
        return build_rows(
            rng, signal, labels, measure_margins(signal, labels, centres), [mark("negation", negated, 1.5)]
        )

    return make_draw(rows, natural(rows))


def draw_proxy(rng: np.random.Generator, name: str, *, irrelevant: bool = False, artefact: bool = False) -> Draw:
    """Return a property on 65 % of one class and 35 % of the other that is in no feature."""

    def name_rows(labels: np.ndarray) -> Sequence[Named]:
        return [mark(name, rng.random(len(labels)) < np.array([0.35, 0.65])[labels])]

    rows = gaussian_rows(rng, place_centres(2, 1.2), name_rows=name_rows)
    return make_draw(rows, natural(rows), irrelevant=[name] * irrelevant, artefacts=[name] * artefact)


def draw_proxy_reversed(rng: np.random.Generator) -> Draw:
    """Return a region as in `draw_proxy`, and a challenge set with weaker classes in which it goes with the other
    class.
    """
    centres = place_centres(2, 1.2)

    def with_rates(rates: tuple[float, float], strength: float) -> Callable[[int], Rows]:
        def name_rows(labels: np.ndarray) -> Sequence[Named]:
            return [mark("region", rng.random(len(labels)) < np.array(rates)[labels])]

        return gaussian_rows(rng, strength * centres, name_rows=name_rows)

    reversed_rows = with_rates((0.65, 0.35), 0.7)
    return make_draw(with_rates((0.35, 0.65), 1.0), {"reversed": Challenge(reversed_rows(TEST), "constructed")})


def draw_proxy_of_truth(rng: np.random.Generator) -> Draw:
    """Return a region on 70 % of one true class and 30 % of the other that is in no feature; 8 % of the labels are
    wrong.
    """
    centres = place_centres(2, 1.6)

    def rows(count: int) -> Rows:
        true = draw_labels(rng, count)
        region, labels = rng.random(count) < np.array([0.3, 0.7])[true], flip(rng, true, 0.08)
        signal = scatter(rng, true, centres)
        return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), [mark("region", region)])

    return make_draw(rows, natural(rows), irrelevant=["region"])


def draw_confusable(rng: np.random.Generator) -> Draw:
    """Three confusable classes, an easy one, and 12 % wrong labels; an unseen property goes with a confusable one."""
    centres = place_centres(4, (0.9, 0.9, 0.9, 3.0))

    def name_rows(labels: np.ndarray) -> Sequence[Named]:
        return [mark("at_night", rng.random(len(labels)) < np.array([0.65, 0.35, 0.35, 0.35])[labels])]

    rows = gaussian_rows(rng, centres, (0.25,) * 4, name_rows, wrong=0.12)
    return make_draw(rows, natural(rows))


def draw_many_classes(rng: np.random.Generator) -> Draw:
    """Twenty classes and 5 % wrong labels; a property that models cannot see is twice as frequent in one class.

    Filtered rows really teach a linear model about a point more than random ones here, on natural rows. So there is no
    challenge set, on which that would rightly be called help.
    """
    centres = rng.normal(scale=0.9, size=(20, WIDTH))

    def name_rows(labels: np.ndarray) -> Sequence[Named]:
        return [mark("at_night", rng.random(len(labels)) < np.where(labels == 0, 0.5, 0.25))]

    return make_draw(gaussian_rows(rng, centres, (0.05,) * 20, name_rows, wrong=0.05))


def draw_one_class_only(rng: np.random.Generator, *, visible: bool) -> Draw:
    """Return a breed that 40 % of one class belong to and no row of the other; if visible, it has a look of its own."""
    centres = place_centres(2, 1.2)

    def rows(count: int) -> Rows:
        labels = draw_labels(rng, count)
        breed = (labels == 1) & (rng.random(count) < 0.4)
        signal = scatter(rng, labels, centres)
        signal[:, 6:9] += 0.9 * (visible & breed)[:, None]
        return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), [mark("breed", breed)])

    return make_draw(rows, natural(rows))


PROPERTY_NULLS = (
    null(
        "image quality, independent of the label, declared",
        lambda rng: draw_quality(rng, by_label=(0.5, 0.5), declared=True, shift=0.8),
        "Quality makes rows easy in both classes alike, so even declared irrelevant it is no shortcut.",
        cue="quality",
    ),
    null(
        "image quality, 56 and 44 % of the classes",
        lambda rng: draw_quality(rng, by_label=(0.44, 0.56), declared=False, shift=0.8),
        "Quality makes rows easy and goes a little with the label, so a verdict may at most say `leans_on`.",
        cue="quality",
        expected=LEARNT | LEANS,
        refused=FALSE_IF_LEARNT - LEANS,
    ),
    null(
        "property that marks hard rows",
        draw_hard_mark,
        "Handwriting makes rows hard and models cannot see it otherwise, so being kept more often proves nothing.",
        cue="handwritten",
    ),
    null(
        "causal property",
        draw_causal,
        "The negation decides the label, so models lean on it rightly and only a person could call it a shortcut.",
        cue="negation",
        expected=LEARNT | LEANS,
        refused=FALSE_IF_LEARNT - LEANS,
    ),
    null(
        "proxy that models cannot see",
        lambda rng: draw_proxy(rng, "region"),
        "The region goes with the label and is in no feature, so no model can lean on it.",
        cue="region",
    ),
    null(
        "proxy that models cannot see, declared",
        lambda rng: draw_proxy(rng, "region", irrelevant=True),
        "The region is declared irrelevant, goes with the label and is in no feature, so no model can lean on it.",
        cue="region",
    ),
    null(
        "proxy that models cannot see, declared, 8 % wrong labels",
        draw_proxy_of_truth,
        "The region goes with the true class and is in no feature, so only wrong labels tie it to what models predict.",
        cue="region",
    ),
    null(
        "proxy that models cannot see, reversed in the challenge set",
        draw_proxy_reversed,
        "Challenge rows are weaker and contradict the region, and still no model can lean on what it cannot see.",
        cue="region",
    ),
    null(
        "file format that models cannot see",
        lambda rng: draw_proxy(rng, "saved_as_png", artefact=True),
        "An artefact by nature goes with the label and is in no feature, so no model can lean on it.",
        cue="saved_as_png",
    ),
    null(
        "three confusable classes",
        draw_confusable,
        "The easy class is removed first, and a property that models cannot see goes with a hard one.",
        cue="at_night",
    ),
    null(
        "no carriers outside the class, seen by models",
        lambda rng: draw_one_class_only(rng, visible=True),
        "A breed is a part of its class, and without carriers elsewhere no comparison can show more than that.",
        cue="breed",
        expected=LEARNT | LEANS | {"cannot_tell"},
        refused=FALSE_IF_LEARNT - LEANS,
    ),
    null(
        "no carriers outside the class, not seen by models",
        lambda rng: draw_one_class_only(rng, visible=False),
        "A breed is a part of its class and looks like the rest of it, so no model can lean on it.",
        cue="breed",
        expected=LEARNT | {"cannot_tell"},
    ),
    null(
        "twenty classes",
        draw_many_classes,
        "Many pairs of property and class are tested on 100 rows per class, and models can see none of the properties.",
        cue="at_night",
    ),
    null(
        "clean task, random rows kept",
        lambda rng: draw_quality(rng, by_label=(0.5, 0.5), declared=True, shift=0.8),
        "The kept rows are random, so filtered and control differ by chance alone.",
        cue="quality",
        random_filter=True,
    ),
    null(
        "proxy that models cannot see, random rows kept",
        lambda rng: draw_proxy(rng, "region", irrelevant=True),
        "The kept rows are random and no model can lean on the declared region.",
        cue="region",
        random_filter=True,
    ),
)
