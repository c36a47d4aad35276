"""Tables of `bias_evidence` with terms of the Data Quality Index; each table has a note on valid comparisons."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import EvidenceTable, FilteredSet
from aflite_assets.data.examples import Examples

_MOST_ROWS = 50
"""Largest number of classes for which the table by class is made, because a report shows at most this many rows."""


def quality_tables(filtered: FilteredSet, raw: Examples, *, seed: int) -> Iterator[EvidenceTable]:
    """Yield tables of Data Quality Index terms, overall and by class, for all, randomly drawn and kept train rows.

    There are ten random sets, each with as many rows as the filter kept. No table is yielded if rows have no texts, or
    if no train row entered the filter.
    """
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    if raw.modality != "text" or not train.num_rows:
        return
    from aflite_assets.studies.sample.diagnostics.quality_terms.compared import DRAWS, quality_terms

    kept = train.filter(train["kept"])["row_id"].to_numpy()
    terms = quality_terms(raw.select(train["row_id"].to_numpy()), kept, seed=seed)
    of_classes = pc.is_valid(terms["label_name"])
    overall, by_class = terms.filter(pc.invert(of_classes)).drop_columns(["label_name"]), terms.filter(of_classes)
    groups = (
        " Rows are removed in whole groups but drawn one by one, so the random sets differ less than they should."
        if filtered.settings.get("remove") == "groups"
        else ""
    )
    yield EvidenceTable(
        f"Quality terms ({filtered.representation})",
        f"{_first_term(overall, len(kept))} These are single terms of the Data Quality Index (Mishra et al. 2020); "
        "the paper does not define how to combine them into one index. t1, distinct words per row, depends on the "
        f"number of rows, and so do other terms. So compare kept with the {DRAWS} random sets of its size, not with "
        "before. By chance a term of the kept rows lies outside the range of the random sets 2 times in "
        f"{DRAWS + 1}, and there are many terms. X or N rows, l words of a text, V distinct words. c: count of an "
        "item; K items have C occurrences in all. |dl|: by how many words the two texts of a row differ. A term is "
        "None if it is not a number, for example if all items are equally frequent. Words are runs of letters and "
        "digits in lower case, with stop words and endings, so the terms differ slightly from the authors'. c3, "
        "c4, c5 and c7 with similarities are not implemented, because they need other models and time that grows "
        "with the square of the rows. The tables of nearest train rows and of similarity measure the same for the "
        f"representation's features.{groups}",
        overall,
    )
    if 0 < by_class.num_rows <= _MOST_ROWS:
        columns = ["label_name", *(name for name in by_class.column_names if name != "label_name")]
        yield EvidenceTable(
            f"Quality terms by class ({filtered.representation})",
            "The terms of c6 per class, from the words of its rows only. Random sets are of the kept rows' number, "
            "not of "
            "its class sizes: if a class lost more rows than others, its terms change for that reason alone.",
            by_class.select(columns),
        )


def _first_term(overall: pa.Table, kept: int) -> str:
    """Return a sentence about t1, the term of the Data Quality Index by which Mishra and Sachdeva rank rows."""
    named = {(row["component"], row["term"]): row for row in overall.to_pylist()}
    first = named["c1", "t1"]
    if not kept:
        return f"No train row was kept; t1 is {first['before']:.4g} before."
    return (
        f"t1 is {first['before']:.4g} before, {first['kept']:.4g} of the {kept:,} kept rows, and "
        f"{first['random_least']:.4g} to {first['random_most']:.4g} (mean {first['random_mean']:.4g}) of as many "
        "random ones."
    )


PART = quality_tables
