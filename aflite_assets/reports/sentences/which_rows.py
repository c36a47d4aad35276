"""The last sentence under a verdict: which rows to train and to test on, and what of that is shown."""

from collections.abc import Sequence

from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.scores.dataset_verdict import Comparison, DatasetVerdict
from aflite_assets.reports.tables.paired import free_sets
from aflite_assets.reports.tables.verdict_evidence import judged_against_full
from aflite_assets.reports.text import signed_points


def use_text(data: BenchmarkData, representation: str, verdict: DatasetVerdict) -> str:
    """Which rows to train and test on, by the verdict's code.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    code, primary = verdict.code, verdict.evidence.primary
    if code == "nothing_found":
        return (
            "Use: nothing speaks for fewer rows. If models should learn from this, check its labels and features first."
        )
    if code == "class_balance_only":
        return "Use: all rows, with balanced classes or weights where shares matter. Filtering does no more."
    if code == "learnable_no_shortcut_shown":
        return "Use: all rows for training. What was kept is hard for this representation, not more right."
    if code == "cannot_tell":
        return "Use: all rows until it can be told."
    if code == "shortcut_found_helps" and primary is not None:
        return _helps(data, representation, primary, verdict.evidence.comparisons)
    if code == "shortcut_found_harms":
        return "Use: all rows for training; the filtered test rows show how much a model leans on the shortcut."
    use = "Use: the filtered test rows to see how much a model leans on the shortcut"
    if primary is not None:
        return f"{use}; for training nothing is shown."
    if free_sets(data):
        return f"{use}. To judge training, add an evaluator that learns the task."
    return f"{use}. To judge training, add a challenge set or hold rows out of the filter (evaluation_rows: kept)."


def _helps(data: BenchmarkData, representation: str, primary: Comparison, comparisons: Sequence[Comparison]) -> str:
    """Where filtered beats its control, by what is shown against all rows."""
    whole = judged_against_full(data, representation, primary.evaluator, (primary.test_set,))
    side = whole[primary.test_set][1].side if whole else None
    if not primary.challenge:
        than = {"above": ", and than all rows", "below": "; all rows are better still"}
        return (
            f"Use: on “{primary.test_set}” filtered is better than as many random rows"
            f"{than.get(side or '', '; against all rows nothing is shown')}. These rows were drawn from the same data: "
            "a challenge set would show more."
        )
    if side == "above":
        return "Use: filtered for training where the shortcut is absent or misleads, all rows where it holds."
    better = _better_than_full(data, representation, primary, comparisons)
    if better is not None:
        rest = (
            f"Use all rows elsewhere: on “{primary.test_set}” they are better still."
            if side == "below"
            else f"On “{primary.test_set}” nothing is shown against all rows."
        )
        return (
            f"Use: filtered for training where the shortcut misleads, as on “{better[0]}” ({better[1]} points above "
            f"all rows). {rest}"
        )
    if side == "below":
        return (
            f"Use: all rows for training, since they are better still on “{primary.test_set}”. Filtered is for where "
            "as few rows are all you can use, and tests models that lean on the shortcut."
        )
    return (
        f"Use: filtered rather than as many random rows, since it is better on “{primary.test_set}”. Against all rows "
        "nothing is shown there."
    )


def _better_than_full(
    data: BenchmarkData, representation: str, primary: Comparison, comparisons: Sequence[Comparison]
) -> tuple[str, str] | None:
    """The challenge set where filtered is most surely better than all rows, and its points; None without one.

    Asked only of sets where this evaluator is better than its control, all of them judged together.
    """
    asked = [
        one.test_set
        for one in comparisons
        if one.challenge and one.evaluator == primary.evaluator and one.verdict.side == "above"
    ]
    found = [
        (interval.low, name, signed_points(interval.difference))
        for name, (interval, verdict) in judged_against_full(data, representation, primary.evaluator, asked).items()
        if verdict.side == "above"
    ]
    return max(found)[1:] if found else None
