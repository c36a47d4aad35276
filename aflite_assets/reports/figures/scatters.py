"""Figure 2 of the paper (ICML 2020): two features before and after filtering, with what models make of them."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.comparisons.falls import Headline
from aflite_assets.analysis.inputs.source_rows import SourceRows
from aflite_assets.analysis.scores.accuracy import Score
from aflite_assets.data.examples import Examples
from aflite_assets.reports.figures import representation_figures as figures
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.text import count, listed, percent
from aflite_assets.wording import counted

_LINE = 62
"""Characters that fit over a picture."""


def scatter_pictures(
    examples: Examples, rows: pa.Table, chosen: tuple[int, int], source: SourceRows, compared: Sequence[Headline]
) -> tuple[Picture, Picture]:
    """The two chosen features of the train rows before and after filtering.

    Both have the same limits, classes in the same colours, and each the accuracies of models trained and tested on it.
    `rows`: of one filtering, with row_id, split, label and kept.
    """
    train = rows.filter(pc.equal(rows["split"], "train"))
    points = examples.select(train["row_id"].to_pylist()).features[:, list(chosen)]
    labels, kept = train["label"].to_numpy(), train["kept"].to_numpy(zero_copy_only=False)
    x, y = (source.feature_title(number) for number in chosen)

    def side(when: str, mask: np.ndarray, notes: list[str]) -> Picture:
        title = f"{when} filtering: {counted(int(mask.sum()), 'train row')}"
        png = figures.scatter(
            points[mask],
            labels[mask],
            examples.label_names,
            title=title,
            axis_names=(x, y),
            limits=figures.scatter_limits(points),
            notes=notes,
        )
        alt = f"{title}, {x} against {y}, coloured by class"
        return Picture(png, ". ".join([alt, " ".join(notes)]) if notes else alt)

    before, after = ([one.full for one in compared], [one.filtered for one in compared])
    every = np.ones(len(points), dtype=bool)
    return (
        side("Before", every, _notes("full", compared, before)),
        side("After", kept, _notes("filtered", compared, after)),
    )


def scatter_caption(compared: Sequence[Headline]) -> str:
    """What the accuracies at the two scatters are, and what as many random rows give; empty without any."""
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
