"""Kinds without a shortcut that differ in labels, noise, groups and copies of rows.

Kinds in which a property or the challenge set tempts do not belong here (`property_nulls.py`, `challenge_nulls.py`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.verdict_kinds.drawing import (
    WIDTH,
    Named,
    build_rows,
    copy_rows,
    draw_labels,
    flip,
    make_draw,
    mark,
    measure_margins,
    place_centres,
    scatter,
)
from benchmarks.verdict_kinds.records import (
    FILTER_SHARES,
    FOUND,
    HELPS,
    LEANS,
    LEARNT,
    NOT_LEARNT,
    TEST,
    Challenge,
    Draw,
    Kind,
    Rows,
    filter_share,
    separate_stream,
)

NameRows = Callable[[np.ndarray], Sequence[Named]]
"""Function from labels, (rows,), to properties of the rows."""

FALSE_IF_LEARNT = FOUND | HELPS | LEANS | {"class_balance_only", "nothing_found"}
FALSE_IF_RANDOM = FOUND | HELPS | LEANS | LEARNT


def null(
    name: str,
    draw: Callable[[np.random.Generator], Draw],
    why: str,
    *,
    cue: str | None = None,
    expected: frozenset[str] = LEARNT,
    refused: frozenset[str] = FALSE_IF_LEARNT,
    shares: Sequence[float] = FILTER_SHARES,
    random_filter: bool = False,
    wrong_declaration: bool = False,
) -> Kind:
    """Return a kind without a shortcut; by default its task is learnable and models use none of its properties."""
    return Kind(
        name,
        "null",
        cue,
        "none",
        filter_share(name, shares),
        why,
        separate_stream(name, draw),
        expected,
        refused,
        random_filter,
        wrong_declaration,
    )


def gaussian_rows(
    rng: np.random.Generator,
    centres: np.ndarray,
    shares: Sequence[float] = (0.5, 0.5),
    name_rows: NameRows = lambda labels: (),
    wrong: float = 0.0,
) -> Callable[[int], Rows]:
    """Return a function that draws rows around `centres`, with the properties that `name_rows` gives them.

    `wrong`: share of labels that are replaced by another class before properties are given.
    """

    def rows(count: int) -> Rows:
        true = draw_labels(rng, count, shares)
        signal, labels = scatter(rng, true, centres), flip(rng, true, wrong, len(shares))
        return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), name_rows(labels))

    return rows


def natural(rows: Callable[[int], Rows]) -> dict[str, Challenge]:
    """Return a challenge set of fresh rows drawn as the train rows are, which is constructed without any model."""
    return {"fresh": Challenge(rows(TEST), "constructed")}


def draw_plain(
    rng: np.random.Generator,
    *,
    apart: float = 1.2,
    shares: Sequence[float] = (0.5, 0.5),
    wrong: float = 0.0,
    group_size: int = 1,
) -> Draw:
    """Gaussian classes with nothing but distractors; the challenge set is drawn as the train rows are."""
    centres = place_centres(len(shares), apart)

    def rows(count: int) -> Rows:
        labels = draw_labels(rng, count, shares)
        groups = np.arange(count) // group_size if group_size > 1 else None
        signal = scatter(rng, labels, centres, groups)
        given = flip(rng, labels, wrong, len(shares))
        return build_rows(rng, signal, given, measure_margins(signal, given, centres), groups=groups)

    return make_draw(rows, natural(rows))


def draw_text_lengths(rng: np.random.Generator) -> Draw:
    """Texts of 5 to 29 words: the signal grows with the length, and the length is independent of the label."""
    centres = place_centres(2, 1.2)

    def rows(count: int) -> Rows:
        labels = draw_labels(rng, count)
        words = rng.integers(5, 30, count).astype(np.float64)
        signal = centres[labels] * words[:, None] / 17 + rng.normal(size=(count, WIDTH))
        named = [Named("words", words, (words - 17) / 4)]
        return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), named)

    return make_draw(rows, natural(rows))


def draw_heavy_tails(rng: np.random.Generator) -> Draw:
    """Student's t noise of two degrees of freedom."""
    centres = place_centres(2, 1.6)

    def rows(count: int) -> Rows:
        labels = draw_labels(rng, count)
        signal = centres[labels] + rng.standard_t(2, size=(count, WIDTH))
        return build_rows(rng, signal, labels, measure_margins(signal, labels, centres))

    return make_draw(rows, natural(rows))


def draw_clusters(rng: np.random.Generator) -> Draw:
    """Sites of 40 rows on average that shift the features and not the label; challenge rows are from other sites."""
    centres = place_centres(2, 1.2)

    def from_sites(first: int) -> Callable[[int], Rows]:
        shifts = rng.normal(scale=0.8, size=(50, WIDTH))

        def rows(count: int) -> Rows:
            labels, site = draw_labels(rng, count), rng.integers(0, 50, count)
            signal = scatter(rng, labels, centres) + shifts[site]
            named = [Named("site", np.array([f"site {first + n}" for n in range(50)], object)[site])]
            return build_rows(rng, signal, labels, measure_margins(signal, labels, centres), named)

        return rows

    return make_draw(from_sites(0), {"other_sites": Challenge(from_sites(50)(TEST), "constructed")})


def draw_copies(rng: np.random.Generator, *, declared: bool) -> Draw:
    """Each row stands five times, nearly equal; a rare word is associated with the label by chance alone."""

    def name_rows(labels: np.ndarray) -> Sequence[Named]:
        return [mark("rare_word", rng.random(len(labels)) < 0.1)]

    originals = gaussian_rows(rng, place_centres(2, 1.2), name_rows=name_rows)

    def rows(count: int) -> Rows:
        return copy_rows(rng, originals(count // 5), 5, declared=declared)

    return make_draw(rows, natural(rows))


def draw_unequal_groups(rng: np.random.Generator) -> Draw:
    """Return groups of 1 to about 100 rows that share noise, one random label each, and one source."""

    def rows(count: int) -> Rows:
        sizes = rng.geometric(0.06, count)
        groups = np.repeat(np.arange(count), sizes)[:count]
        labels = draw_labels(rng, count)[groups]
        signal = scatter(rng, labels, np.zeros((2, WIDTH)), groups)
        return build_rows(rng, signal, labels, np.zeros(count), groups=groups)

    return make_draw(rows, natural(rows))


NULLS = (
    null(
        "random labels",
        lambda rng: draw_plain(rng, apart=0.0),
        "Labels are random, so a verdict must name nothing and must not call the task learnable.",
        expected=NOT_LEARNT,
        refused=FALSE_IF_RANDOM,
    ),
    null(
        "random labels, classes of 70, 20 and 10 %",
        lambda rng: draw_plain(rng, apart=0.0, shares=(0.7, 0.2, 0.1)),
        "Labels are random and only the class shares can be learnt, so accuracy over one third must not count.",
        expected=NOT_LEARNT,
        refused=FALSE_IF_RANDOM,
    ),
    null(
        "random labels, groups of four",
        lambda rng: draw_plain(rng, apart=0.0, group_size=4),
        "Labels are random per row and noise is shared per group, so a verdict must count groups and name nothing.",
        expected=NOT_LEARNT,
        refused=FALSE_IF_RANDOM,
    ),
    null(
        "clean task",
        draw_plain,
        "Features carry the task and no property matters, so a verdict may say learnable or easy and no more.",
    ),
    null(
        "clean task, 15 % wrong labels",
        lambda rng: draw_plain(rng, wrong=0.15),
        "Wrong labels are random, so the rows that a filter keeps are partly noise and nothing explains them.",
    ),
    null(
        "clean task, classes of 70, 20 and 10 %",
        lambda rng: draw_plain(rng, shares=(0.7, 0.2, 0.1)),
        "More is learnt than the class shares, so neither a shortcut nor class balance alone may be said.",
    ),
    null(
        "clean task, groups of four",
        lambda rng: draw_plain(rng, group_size=4),
        "Rows of a group share noise and properties, so a verdict that counts rows finds too much.",
    ),
    null(
        "clean task, texts of any length",
        draw_text_lengths,
        "Longer texts are easier in both classes alike, so removed rows are long and length is no shortcut.",
        cue="words",
        refused=FALSE_IF_LEARNT - LEANS,
    ),
    null(
        "heavy tails",
        draw_heavy_tails,
        "Outlying rows make single fits unstable, so a difference between two fits alone must not count.",
    ),
    null(
        "undeclared clusters",
        draw_clusters,
        "Rows of a site resemble each other and labels do not depend on sites, so sites must not be called a shortcut.",
        cue="site",
    ),
    null(
        "classes of 95 and 5 % with noise",
        lambda rng: draw_plain(rng, apart=1.8, shares=(0.95, 0.05), wrong=0.03),
        "The rare class is small and partly wrong, so its rows are removed or kept together without any shortcut.",
        refused=FOUND | HELPS | LEANS,
    ),
    null(
        "near copies, undeclared",
        lambda rng: draw_copies(rng, declared=False),
        "Five near copies of each row make chance look certain, also across random halves of the rows.",
        cue="rare_word",
    ),
    null(
        "near copies, declared as groups",
        lambda rng: draw_copies(rng, declared=True),
        "Five near copies of each row are one observation, and the groups say which rows they are.",
        cue="rare_word",
    ),
    null(
        "groups of unequal size with one random label each",
        draw_unequal_groups,
        "Labels are random per group, so what is learnt beyond chance are the groups, and sources tempt by chance.",
        cue="source",
        expected=NOT_LEARNT,
        refused=FALSE_IF_RANDOM,
    ),
)
