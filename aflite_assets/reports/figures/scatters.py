"""Figure 2 of the paper (ICML 2020): two features before and after filtering, with what models make of them."""

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.comparisons.falls import Headline, headlines
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.scores.accuracy import Score
from aflite_assets.reports.figures import representation_figures as figures
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.text import count, listed, percent
from aflite_assets.wording import counted

_LINE = 62
"""Characters that fit over a picture."""


def scatter_pictures(data: BenchmarkData, filtered: FilteredSet) -> tuple[Picture, ...]:
    """The two chosen features of the train rows before and after filtering; none where none were chosen.

    Both have the same limits, classes in the same colours, and each the accuracies of models trained and tested on it.
    """
    if data.scatter_features is None:
        return ()
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    points = data.examples.select(train["row_id"].to_pylist()).features[:, list(data.scatter_features)]
    labels, kept = train["label"].to_numpy(), train["kept"].to_numpy(zero_copy_only=False)
    compared = headlines(data, filtered.representation)
    sides = (
        ("Before", np.ones(len(points), dtype=bool), _notes("full", compared, [one.full for one in compared])),
        ("After", kept, _notes("filtered", compared, [one.filtered for one in compared])),
    )
    x, y = (data.source.feature_title(number) for number in data.scatter_features)
    drawn = []
    for when, mask, notes in sides:
        title = f"{when} filtering: {counted(int(mask.sum()), 'train row')}"
        png = figures.scatter(
            points[mask],
            labels[mask],
            data.label_names,
            title=title,
            axis_names=(x, y),
            limits=figures.scatter_limits(points),
            notes=notes,
        )
        alt = f"{title}, {x} against {y}, coloured by class"
        drawn.append(Picture(png, ". ".join([alt, " ".join(notes)]) if notes else alt))
    return tuple(drawn)


def scatter_caption(data: BenchmarkData, representation: str) -> str:
    """What the accuracies at the two scatters are, and what as many random rows give; empty without any."""
    compared = headlines(data, representation)
    if not compared:
        return ""
    first = compared[0]
    random = listed([f"{one.evaluator} {_score(one.random)}" for one in compared])
    return (
        f"Accuracies: trained on full and tested on all {count(first.full.test_rows)} rows of {first.test_set}; "
        f"trained on filtered and tested on the {count(first.filtered.test_rows)} of them that were kept. Trained on "
        f"random, as many rows as were kept, and tested on all: {random}."
    )


def _notes(where: str, compared: Sequence[Headline], scores: Sequence[Score]) -> list[str]:
    """Lines under a title, up to three evaluators on each as far as they fit."""
    if not compared:
        return []
    lines: list[list[str]] = [[]]
    for one, score in zip(compared, scores, strict=True):
        label = f"{one.evaluator} {_score(score)}"
        if lines[-1] and (len(lines[-1]) == 3 or len(", ".join([*lines[-1], label])) > _LINE):
            lines.append([])
        lines[-1].append(label)
    where = f"trained on {where}, tested on {where} rows of {compared[0].test_set}:"
    return [where, *(", ".join(line) for line in lines)]


def _score(score: Score) -> str:
    return score.status if score.accuracy is None else f"{percent(score.accuracy.mean)} %"
