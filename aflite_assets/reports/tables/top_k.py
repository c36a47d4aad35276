"""Top-1 and top-5 accuracy of datasets with many classes (ICML 2020, Tables 5 and 6; ICLR 2020 submission, Table 4)."""

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.scores.groups import Compared, challenge_columns, natural_columns
from aflite_assets.analysis.scores.ranks import TOP
from aflite_assets.analysis.scores.score_table import score_table
from aflite_assets.reports.tables.in_distribution import ComparedScores
from aflite_assets.reports.tables.long_form import SCORE, TESTED, LongForm
from aflite_assets.reports.tables.table import Column, Heading, Table, pivot, ruled


@cached_per_record
def top_k_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """A table per test set where some cell has probabilities; none with few classes (`ranks.is_ranked`).

    A challenge set that adds probabilities up and leaves classes out (ImageNet-A's 200 of 1,000) is ranked over its
    own classes. Differences are, on a natural test set that was filtered, of full on full and filtered on filtered
    rows.
    """
    ranked = {place.test_set for place in score_table(data) if place.top == TOP}
    return tuple(_table(data, one) for one in data.test_sets if one.name in ranked and data.plain_evaluators)


TOP_5 = LongForm("top_5", (*TESTED, "top", *SCORE, "difference"), top_k_tables)


def _table(data: BenchmarkData, test_set: TestSet) -> Table:
    columns = challenge_columns(data) if test_set.challenge else natural_columns(data, test_set)
    compared = ComparedScores(data, test_set, columns)
    shown: list[Compared | str] = [*columns, *data.representations]
    keys = [(key, top) for key in shown for top in (1, TOP)]
    return Table(
        "top_5",
        test_set.name,
        f"{test_set.name}: the likeliest class, and the five likeliest",
        ("evaluator",),
        ruled([Column(Heading(f"top-{top}"), compared.heading(key)) for key, top in keys]),
        pivot(
            data.plain_evaluators,
            lambda evaluator: (evaluator,),
            keys,
            lambda evaluator, key: compared.cell(evaluator, key[0], "top_5", top=key[1]),
        ),
        f"{_CAPTION}{_MASKED if test_set.challenge else ''}",
    )


_CAPTION = (
    "Accuracy in per cent; a row counts as right in top-5 when its class is among the five that the model finds "
    "likeliest. Difference: full minus filtered, in points, for each representation."
)
_MASKED = " Where the set has some of the dataset's classes and adds probabilities up, only its own classes are ranked."
