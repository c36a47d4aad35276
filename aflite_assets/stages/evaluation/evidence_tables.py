"""Tables of `bias_evidence` that compare kept rows with removed and random rows, each with a caption."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.cues import PlantedRemoval, read_cues
from aflite_assets.analysis.inputs.records import EvidenceTable
from aflite_assets.data.examples import Examples
from aflite_assets.reports.sentences.filtering import classes_text, cues_caption, planted_sentence
from aflite_assets.results import PublishedResult
from aflite_assets.stages.shared.published import open_features, read_rows
from aflite_assets.text import percent
from aflite_assets.wording import counted

if TYPE_CHECKING:
    from aflite_assets.diagnostics.evidence.neighbours import NeighbourDistances

_NEIGHBOURS_SHOWN = 10
"""Number of neighbours (k) for which the caption states distances.

If the table by class would be too long with all k, it contains this k only.
"""

_MOST_COMPARED, _COMPARED_MEMORY = 1_000_000, 2**33
"""Limits of rows and bytes for distances that are compared with a paper's distances.

The limits are high, because every neighbour is farther away in a sample of the rows.
"""

_MOST_WRONG = 0.15
"""Share of suspected label errors above which most suspects are hard rows rather than wrong labels."""

_MOST_ROWS = 50
"""Largest number of rows for which a table by class is made, because a report shows at most this many rows."""


def neighbour_tables(
    representation: str, rows: pa.Table, embedded: PublishedResult, label_names: tuple[str, ...], *, seed: int
) -> Iterator[EvidenceTable]:
    """Yield tables of the distances to the nearest train rows before and after filtering, overall and by class."""
    distances = _neighbours(rows, embedded, label_names, seed=seed)
    yield from _distance_tables(representation, distances)


def paper_neighbour_tables(
    representation: str, rows: pa.Table, features: PublishedResult, label_names: tuple[str, ...], *, seed: int
) -> Iterator[EvidenceTable]:
    """Yield tables of distances between features of a model that was trained on all train rows, as in the AFLite paper.

    The last table shows sums of similarities, because the paper's "distances" are probably sums of similarities.
    """
    from aflite_assets.diagnostics.evidence.neighbours import similarity_sums

    distances = _neighbours(rows, features, label_names, seed=seed, compared=True)
    yield from _distance_tables(f"{representation}, in features of a model trained on all rows", distances)
    kept = _neighbours(rows, features, label_names, seed=seed, kept_queries=True, compared=True)
    if not distances.held_out or not kept.queries:
        return
    sampled = " Measured on a random sample, which makes the sums smaller." if distances.sampled or kept.sampled else ""
    yield EvidenceTable(
        f"Nearest train rows as sums of similarities ({representation})",
        "Sums of the cosine similarities to the 1, 5, 10 and 50 nearest train rows, in features of a model trained on "
        f"all train rows. Before: {counted(distances.queries, 'row')} of the other splits to all train rows. After: "
        f"the {counted(kept.queries, 'row')} that filtering kept, to the kept train rows. Compare with Table 3 of "
        "the ICLR 2020 submission. That table prints distances, but they grow with the number of neighbours as "
        f"sums of similarities do; it does not define what is summed.{sampled}",
        similarity_sums(distances, kept),
    )


def _neighbours(
    rows: pa.Table,
    embedded: PublishedResult,
    label_names: tuple[str, ...],
    *,
    seed: int,
    kept_queries: bool = False,
    compared: bool = False,
) -> "NeighbourDistances":
    from aflite_assets.diagnostics.evidence.neighbours import neighbour_distances

    places = read_rows(embedded)
    kept = np.isin(places["row_id"].to_numpy(), rows.filter(rows["kept"])["row_id"].to_numpy())
    return neighbour_distances(
        open_features(embedded),
        places["label"].to_numpy(),
        in_train=_in_train(places).to_numpy(),
        kept=kept,
        label_names=label_names,
        seed=seed,
        asked=kept if kept_queries else None,
        **({"most_rows": _MOST_COMPARED, "memory_limit": _COMPARED_MEMORY} if compared else {}),
    )


def _distance_tables(representation: str, distances: "NeighbourDistances") -> Iterator[EvidenceTable]:
    whose = (
        counted(distances.queries, "row") + " of the other splits"
        if distances.held_out
        else "the train rows themselves"
    )
    sampled = (
        f" Measured on a random sample: from {distances.queries:,} of {distances.all_queries:,} rows to "
        f"{distances.train_rows:,} of {distances.all_train_rows:,} train rows."
        if distances.sampled
        else ""
    )
    yield EvidenceTable(
        f"Distance to the nearest train rows ({representation})",
        f"Mean cosine distance from {whose} to their k nearest train rows of the same class and of the others. "
        f"{_distances(distances.overall)}. A difference from the random rows is due to the filter, not to the "
        f"smaller number of rows. The scales of two representations cannot be compared.{sampled}",
        distances.overall,
    )
    by_class = distances.by_class
    if by_class.num_rows > _MOST_ROWS:
        by_class = by_class.filter(pc.equal(by_class["k"], _NEIGHBOURS_SHOWN))
    if by_class.num_rows <= _MOST_ROWS:
        yield EvidenceTable(
            f"Distance to the nearest train rows by class ({representation})",
            "The same distances per class; train_rows are the train rows of the class. If a class lost more rows "
            "than others, its rows are farther apart for that reason alone.",
            by_class,
        )


def similarities(rows: pa.Table, embedded: PublishedResult, label_names: tuple[str, ...], *, seed: int) -> pa.Table:
    """Return similarities of kept, removed and random rows, for the classes that `class_similarities` selects."""
    from aflite_assets.diagnostics.evidence.similarity import class_similarities

    places = read_rows(embedded)
    row_ids = places["row_id"].to_numpy()
    similarity_table = class_similarities(
        open_features(embedded),
        places["label"].to_numpy(),
        row_ids,
        in_train=_in_train(places).to_numpy() & np.isin(row_ids, rows["row_id"].to_numpy()),  # without quarantined rows
        kept=np.isin(row_ids, rows.filter(rows["kept"])["row_id"].to_numpy()),
        seed=seed,
    )
    names = pa.array([label_names[label] for label in similarity_table["label"].to_pylist()], pa.string())
    return similarity_table.add_column(0, "label_name", names)


def nearest_rows(rows: pa.Table, embedded: PublishedResult, *, seed: int) -> pa.Table:
    """Return the nearest kept row of another class for each removed row (`diagnostics.evidence.nearest_kept`)."""
    from aflite_assets.diagnostics.evidence.nearest_kept import nearest_kept

    places, train = read_rows(embedded), rows.filter(_in_train(rows))
    row_ids = places["row_id"].to_numpy()
    kept, removed = (
        np.isin(row_ids, train.filter(side)["row_id"].to_numpy()) for side in (train["kept"], pc.invert(train["kept"]))
    )
    return nearest_kept(
        open_features(embedded), places["label"].to_numpy(), row_ids, kept=kept, removed=removed, seed=seed
    )


def similarity_tables(representation: str, alike: pa.Table) -> Iterator[EvidenceTable]:
    """Yield a table of mean similarities; `alike` is the table that `similarities` returns.

    No table is yielded if no class has at least two removed and at least two kept rows.
    """
    if not alike.num_rows:
        return
    whole = alike["rows"].equals(alike["used_rows"])
    yield EvidenceTable(
        f"Similarity of kept and removed rows ({representation})",
        "Mean cosine similarity over all pairs of train rows of a class, for the classes with most kept and removed "
        "rows. Random has as many rows of the class as were kept. If kept is below random, this is due to the "
        "filter, because fewer rows alone do not change this mean. Part of the effect is inevitable: rows that a "
        "linear classifier predicts correctly lie close together in its features, and rows with wrong labels lie "
        "apart. With few rows, a small difference may be chance."
        + ("" if whole else " If there are more rows than used_rows, a random sample is measured."),
        alike.select(["label_name", "side", "rows", "used_rows", "mean_similarity"]),
    )


def _distances(overall: pa.Table) -> str:
    means = {row["when"]: row["within_class"] for row in overall.to_pylist() if row["k"] == _NEIGHBOURS_SHOWN}
    known = (means[when] for when in ("before", "random", "after"))
    before, random, after = ("none" if mean is None else f"{mean:.4f}" for mean in known)
    return (
        f"The distance within the class at k = {_NEIGHBOURS_SHOWN} {before} before filtering, {after} after it, and "
        f"{random} among "
        "as many train rows drawn at random"
    )


def overlap_tables(filtered: Mapping[str, pa.Table]) -> Iterator[EvidenceTable]:
    """Yield a table that compares the train rows that the filters of different representations removed.

    No table is yielded if there is only one representation.
    """
    from aflite_assets.diagnostics.evidence.removal_overlap import removal_overlap

    table = removal_overlap(filtered)
    known = table.filter(pc.is_valid(table["jaccard"]))
    if not table.num_rows:
        return
    overlap = (
        f"the overlap (Jaccard) is {_range(known['jaccard'])}, against {_range(known['expected_jaccard'])}"
        if known.num_rows
        else "none was removed in any pair"
    )
    yield EvidenceTable(
        "Overlap of the rows that representations removed",
        f"Of the train rows removed with one representation and with another {overlap}. If it is close to the value "
        "for random rows, easiness depends on the representation. If it is much larger, the same rows are easy for "
        "both. Neither shows that the rows carry an artefact. tau is the agreement of the two orders by "
        "predictability, 1 when they "
        "are the same.",
        table,
    )


def _range(column: pa.ChunkedArray) -> str:
    low, high = (f"{value:.2f}" for value in pc.min_max(column).as_py().values())
    return low if low == high else f"{low} to {high}"


def annotator_tables(representation: str, rows: pa.Table, raw: Examples) -> Iterator[EvidenceTable]:
    """Yield a table of the annotators' agreement on kept and on removed rows, if any row has annotators."""
    from aflite_assets.diagnostics.evidence.kept_vs_removed import annotator_shares

    table = annotator_shares(rows, raw)
    if table.num_rows:
        yield EvidenceTable(
            f"Annotators on kept and removed rows ({representation})",
            f"Share of single annotators who gave the row's label: {_agreement(table)}. If they agree less on kept "
            "rows, a lower accuracy after filtering is partly due to doubtful labels instead of a harder task. "
            "A row with one annotator mostly has that annotator's label, so read unanimous, which covers "
            "rows_of_several.",
            table,
        )


def _agreement(table: pa.Table) -> str:
    return "; ".join(
        f"{_share(row['kept_accuracy'])} of kept and {_share(row['removed_accuracy'])} of removed {row['split']} rows"
        for row in table.to_pylist()
    )


def _share(share: float | None) -> str:
    return "none" if share is None else f"{percent(share)} %"


def suspect_tables(representation: str, rows: pa.Table, raw: Examples) -> Iterator[EvidenceTable]:
    """Yield a table of the rows whose label had the lowest probability, if label probabilities exist."""
    from aflite_assets.diagnostics.evidence.label_errors import suspects

    table = suspects(rows, raw)
    if table.num_rows:
        probabilities = table["label_probability"].to_pylist()
        yield EvidenceTable(
            f"Possible label errors ({representation})",
            f"The {counted(table.num_rows, 'row')} whose own label had the lowest probability before anything was "
            f"removed ({probabilities[0]:.2g} to {probabilities[-1]:.2g}), {pc.sum(table['kept']).as_py()} of them "
            "kept. Wrong labels and hard rows look alike here, so read the rows before you drop any.",
            table,
        )


def tested_cues(rows: pa.Table, raw: Examples, planted: Mapping[str, tuple[str, ...]], *, seed: int) -> pa.Table:
    """Test which cues of the train rows are associated with removal by the filter (`diagnostics.evidence.cues`)."""
    from aflite_assets.diagnostics.evidence.cues import removal_cues

    return removal_cues(rows.filter(_in_train(rows)), raw, planted=planted, seed=seed)


def cue_tables(representation: str, tested: pa.Table, label_names: tuple[str, ...]) -> Iterator[EvidenceTable]:
    """Yield a table of the cues that are most informative about removal, if any cue could be tested."""
    if not tested.num_rows:
        return
    read = read_cues(tested)
    own = pa.array([cue.same_rows_as is None for cue in read])
    cues = [cue for cue in read if cue.same_rows_as is None]
    shown = tested.filter(own).drop_columns(["class_shares", "same_rows_as"])
    columns = {
        "in_the_same_rows": pa.array([", ".join(cue.alike) for cue in cues], pa.string()),
        "classes": pa.array([classes_text(cue, label_names) for cue in cues], pa.string()),
        "share_kept": pa.array([cue.share_kept for cue in cues], pa.float64()),
        "adjusted_p": pa.array([cue.adjusted_p for cue in cues], pa.float64()),
        "shown": pa.array([cue.shown for cue in cues]),
    }
    for name, column in columns.items():
        shown = shown.append_column(name, column)
    yield EvidenceTable(f"Cues of the removed rows ({representation})", cues_caption(read), shown.slice(0, _MOST_ROWS))


def label_noise_tables(representation: str, rows: pa.Table, label_errors: pa.Table | None) -> Iterator[EvidenceTable]:
    """Yield a table of the share of suspected label errors among kept and removed rows.

    No table is yielded if `label_errors` is None.
    """
    from aflite_assets.diagnostics.evidence.label_noise import suspect_shares

    if label_errors is None:
        return
    table = suspect_shares(rows, label_errors)
    taken_out = sum(table["quarantined"].to_pylist())
    found = ". ".join(
        f"Of {row['split']} rows {_share(row['kept_share'])} of kept and {_share(row['removed_share'])} of removed ones"
        for row in table.to_pylist()
    )
    yield EvidenceTable(
        f"Suspected label errors on either side ({representation})",
        "Rows whose label confident learning suspects, from the held-out probabilities of the first iteration. "
        f"{found}. The filter removes rows that are predicted correctly, so wrong labels tend to stay and their "
        "share grows. A suspect may also be a hard row with the right label."
        f"{_many_suspects(table)}"
        + (f" Taken out before the first iteration: {counted(taken_out, 'suspect')}." if taken_out else ""),
        table,
    )


def _many_suspects(shares: pa.Table) -> str:
    """Return a warning if so many labels are suspected that most are probably right; otherwise, return ""."""

    def total(what: str) -> int:
        return sum(pc.sum(shares[f"{side}_{what}"]).as_py() or 0 for side in ("kept", "removed"))

    share = total("suspects") / max(total("rows"), 1)
    if share <= _MOST_WRONG:
        return ""
    return (
        f" {percent(share)} % of all rows are suspected, but rarely are so many labels wrong. If a shortcut is "
        "misleading, rows that contradict it look wrong, and they are worth keeping."
    )


def planted_removals(
    representation: str, rows: pa.Table, raw: Examples, planted: Mapping[str, tuple[str, ...]]
) -> list[PlantedRemoval]:
    """Return, for each planted attribute, counts of the train rows that the filter removed."""
    from aflite_assets.diagnostics.evidence.planted import planted_removed

    table = planted_removed(rows.filter(_in_train(rows)), raw, planted)
    counts = table.select(["attribute", "rows", "planted_rows", "removed_rows", "removed_planted_rows"]).to_pylist()
    return [PlantedRemoval(representation=representation, values=planted[row["attribute"]], **row) for row in counts]


def planted_tables(
    representation: str, rows: pa.Table, raw: Examples, planted: Mapping[str, tuple[str, ...]]
) -> Iterator[EvidenceTable]:
    """Yield tables of the filter's precision and recall in removing planted rows.

    No table is yielded if the dataset's YAML file names no planted rows.
    """
    from aflite_assets.diagnostics.evidence.planted import planted_by_iteration, planted_removed

    if not planted:
        return
    sentences = map(planted_sentence, planted_removals(representation, rows, raw, planted))
    yield EvidenceTable(
        f"Planted rows among the removed ({representation})",
        f"{' '.join(sentences)} A row that was not planted may be removed because it is easy without a shortcut, so "
        "a precision under 100 % need not be a mistake.",
        planted_removed(rows, raw, planted),
    )
    by_iteration = planted_by_iteration(rows, raw, planted)
    if by_iteration.num_rows:
        yield EvidenceTable(
            f"Planted rows removed in each iteration ({representation})",
            "The same numbers per iteration, for the train rows that entered it. When precision falls to "
            "precision_by_chance, the shortcut is used up, and later removals are easy in other ways.",
            by_iteration,
        )


def adversary_tables(filtered: Mapping[str, pa.Table], raw: Examples, *, seed: int) -> Iterator[EvidenceTable]:
    """Yield a table of the accuracy of a simple model that no filter used.

    The model is evaluated on all train rows, on the kept rows, and on the same number of random rows.
    """
    from aflite_assets.diagnostics.evidence.unseen_adversary import unseen_adversary

    trains = {name: rows.filter(_in_train(rows)) for name, rows in filtered.items()}
    # Each filter quarantines different rows, so no filter's pool contains all rows that the other filters keep.
    pooled = pa.chunked_array([chunk for train in trains.values() for chunk in train["row_id"].chunks])
    pool = raw.select(pc.unique(pooled).to_numpy())
    kept = {name: train.filter(train["kept"])["row_id"].to_numpy() for name, train in trains.items()}
    adversary = unseen_adversary(pool, kept, seed=seed)
    reached = ". ".join(
        f"On rows kept with {name} it reaches {_share(adversary.of('filtered', name)['accuracy'])}, on as many "
        f"random rows {_share(adversary.of('random', name)['accuracy'])}"
        for name in kept
    )
    sampled = any(row["used_rows"] < row["rows"] for row in adversary.accuracies.to_pylist())
    yield EvidenceTable(
        "A simple model that the filter did not use",
        f"Held-out accuracy of {adversary.name} in five-fold cross-validation: "
        f"{_share(adversary.of('full')['accuracy'])} of all train "
        f"rows. {reached}. The drop from random to kept rows is what this model shares with the filter, whether a "
        "shortcut or the task itself. What remains above majority_share may be either too. Differences up to "
        "deviation, taken over the five parts, may be chance."
        + (" Sets with more rows were measured on a random sample of used_rows." if sampled else ""),
        adversary.accuracies,
    )


def _in_train(rows: pa.Table) -> pa.ChunkedArray:
    return pc.equal(rows["split"], "train")
