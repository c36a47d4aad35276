"""The last sentence under a verdict: which rows to train and to test on, and what of that is shown."""

from collections.abc import Sequence

from aflite_assets.analysis.comparisons.paired import free_sets
from aflite_assets.analysis.comparisons.verdict_evidence import judged_against
from aflite_assets.analysis.filtering import removed_train_rows
from aflite_assets.analysis.inputs.cues import telling
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rules.dataset_verdict import Comparison, DatasetVerdict
from aflite_assets.analysis.scores.groups import control
from aflite_assets.reports.sentences.cues import cue_name
from aflite_assets.text import listed, signed_points

_MOST_GAINS = 2


def use_text(data: BenchmarkData, representation: str, verdict: DatasetVerdict) -> str:
    """Which rows to train and test on, by the verdict's code.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    code, primary = verdict.code, verdict.evidence.primary
    filtered = next(one for one in data.filtered if one.representation == representation)
    if code in ("nothing_found", "class_balance_only") and (verdict.evidence.cues or verdict.gains):
        return _though(verdict)
    if code == "nothing_found":
        return (
            "Use: nothing speaks for fewer rows. If models should learn from this, check its labels and features first."
        )
    if code == "class_balance_only":
        return "Use: all rows, with balanced classes or weights where shares matter. Filtering does no more."
    if code == "cannot_tell":
        return "Use: all rows until it can be told."
    if not removed_train_rows(filtered):
        return "Use: all rows. Nothing was removed, so there is no other train set to compare."
    if code == "learnable_no_shortcut_shown":
        return "Use: all rows for training. What was kept is hard for this representation, not more right."
    if code == "shortcut_found_helps" and primary is not None:
        return _helps(data, representation, primary, verdict.evidence.comparisons)
    tests = _filtered_test_rows(data, representation)
    if code == "shortcut_found_harms":
        shown = "; the filtered test rows show how much a model leans on the shortcut" if tests else ""
        return f"Use: all rows for training{shown}."
    lead = "the filtered test rows to see how much a model leans on the shortcut"
    if verdict.gains:
        said = f"for training filtered is better than as many random rows on {gains_text(verdict)}"
        return f"Use: {lead}; {said}." if tests else f"Use: {said}."
    if primary is not None:
        return (
            f"Use: {lead}; for training nothing is shown." if tests else "Use: all rows; for training nothing is shown."
        )
    needed = (
        "add an evaluator that learns the task"
        if free_sets(data)
        else "add a challenge set or hold rows out of the filter (evaluation_rows: kept)"
    )
    return f"Use: {lead if tests else 'all rows'}. To judge training, {needed}."


def _though(verdict: DatasetVerdict) -> str:
    """Where the bias shows nothing, and a mark that counts or a gain is shown all the same."""
    all_rows = "Use: all rows"
    if verdict.evidence.cues:
        all_rows += f", if {cue_name(telling(verdict.evidence.cues)[0])} should matter"
    if not verdict.gains:
        return f"{all_rows}."
    return f"{all_rows}. Filtered is better than as many random rows on {gains_text(verdict)}."


def gains_text(verdict: DatasetVerdict) -> str:
    """The challenge sets won and by which evaluator."""
    return listed([f"“{one.test_set}” (evaluator “{one.evaluator}”)" for one in verdict.gains], _MOST_GAINS)


def _filtered_test_rows(data: BenchmarkData, representation: str) -> bool:
    """Whether there are test rows that filtering kept, and others that it removed."""
    kept = (one.kept[representation] for one in data.test_sets if representation in one.kept)
    return any(bool(rows.any() and not rows.all()) for rows in kept)


def _helps(data: BenchmarkData, representation: str, primary: Comparison, comparisons: Sequence[Comparison]) -> str:
    """Where filtered beats its control, by what is shown against all rows."""
    whole = judged_against(data, representation, primary.evaluator, "full", (primary.test_set,))
    side = whole[primary.test_set][1].side if whole else None
    if not primary.challenge:
        than = {"above": ", and than all rows", "below": "; all rows are better still"}
        return (
            f"Use: on “{primary.test_set}” filtered is better than as many random rows"
            f"{than.get(side or '', '; against all rows nothing is shown')}. These rows were drawn from the same data: "
            "a challenge set would show more."
        )
    if side == "above":
        return (
            f"Use: filtered to train for rows like those of “{primary.test_set}”, all rows where the shortcut holds."
            f"{_random_too(data, representation, primary.evaluator, primary.test_set)}"
            f"{_but_elsewhere(data, representation, primary)}"
        )
    better = _better_than_full(data, representation, primary, comparisons)
    if better is not None:
        rest = (
            f"Use all rows elsewhere: on “{primary.test_set}” they are better still."
            if side == "below"
            else f"On “{primary.test_set}” nothing is shown against all rows."
        )
        return (
            f"Use: filtered for training where the shortcut misleads, as on “{better[0]}” ({better[1]} points above "
            f"all rows).{_random_too(data, representation, primary.evaluator, better[0])} {rest}"
        )
    if side == "below":
        tests = ", and tests models that lean on the shortcut" if _filtered_test_rows(data, representation) else ""
        return (
            f"Use: all rows for training, since they are better still on “{primary.test_set}”. Filtered is for where "
            f"as few rows are all you can use{tests}."
        )
    return (
        f"Use: filtered rather than as many random rows, since it is better on “{primary.test_set}”. Against all rows "
        "nothing is shown there."
    )


def _random_too(data: BenchmarkData, representation: str, evaluator: str, test_set: str) -> str:
    """That plain random rows are not shown to be worse, where the control is another: fewer rows alone may do it."""
    if control(data, representation) == "random":
        return ""
    found = judged_against(data, representation, evaluator, "random", (test_set,))
    if not found or found[test_set][1].side == "above":
        return ""
    return " As many plain random rows are not shown to be worse there: try them first."


def _but_elsewhere(data: BenchmarkData, representation: str, primary: Comparison) -> str:
    """The other challenge sets on which all rows are better than filtered."""
    others = [one.name for one in data.test_sets if one.challenge and one.name != primary.test_set]
    lost = [
        f"“{name}” ({signed_points(-interval.difference)} points)"
        for name, (interval, verdict) in judged_against(data, representation, primary.evaluator, "full", others).items()
        if verdict.side == "below"
    ]
    return f" On {listed(lost, _MOST_GAINS)} all rows are better too." if lost else ""


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
        for name, (interval, verdict) in judged_against(data, representation, primary.evaluator, "full", asked).items()
        if verdict.side == "above"
    ]
    return max(found)[1:] if found else None
