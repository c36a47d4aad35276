"""The last sentence under a verdict: which rows to train and to test on, and what of that is shown."""

from aflite_assets.analysis.comparisons.filtering_verdict import AgainstAllRows, FilteringVerdict
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.cues import telling
from aflite_assets.analysis.rules.dataset_verdict import Comparison, DatasetVerdict
from aflite_assets.reports.sentences.cues import cue_name
from aflite_assets.text import listed, signed_points

_MOST_GAINS = 2


def use_text(facts: DatasetFacts, one: FilteringVerdict) -> str:
    """Which rows to train and test on, by the verdict's code."""
    verdict, code, primary = one.verdict, one.verdict.code, one.verdict.evidence.primary
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
    filtering = facts.filtering[one.representation]
    if filtering.kept_rows == filtering.train_rows:
        return "Use: all rows. Nothing was removed, so there is no other train set to compare."
    if code == "learnable_no_shortcut_shown":
        return "Use: all rows for training. What was kept is hard for this representation, not more right."
    if code == "shortcut_found_helps" and primary is not None and one.against_all_rows is not None:
        return _helps(facts, one, primary, one.against_all_rows)
    tests = _filtered_test_rows(facts, one.representation)
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
        if any(not test.pooled for test in facts.test_sets)
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


def _filtered_test_rows(facts: DatasetFacts, representation: str) -> bool:
    """Whether there are test rows that filtering kept, and others that it removed."""
    return any(0 < one.filtered_rows.get(representation, 0) < one.rows for one in facts.test_sets)


def _helps(facts: DatasetFacts, one: FilteringVerdict, primary: Comparison, whole: AgainstAllRows) -> str:
    """Which rows to use if filtered beats its control, by what is shown against all rows."""
    where, side = primary.test_set, whole.side
    if not primary.challenge:
        than = {"above": ", and than all rows", "below": "; all rows are better still"}
        return (
            f"Use: on “{where}” filtered is better than as many random rows"
            f"{than.get(side or '', '; against all rows nothing is shown')}. These rows were drawn from the same data: "
            "a challenge set would show more."
        )
    if side == "above":
        lost = [f"“{name}” ({signed_points(-points)} points)" for name, points in whole.worse]
        elsewhere = f" On {listed(lost, _MOST_GAINS)} all rows are better too." if lost else ""
        return (
            f"Use: filtered to train for rows like those of “{where}”, all rows where the shortcut holds."
            f"{_random_too(whole, where)}{elsewhere}"
        )
    if whole.best is not None:
        name, points = whole.best
        rest = (
            f"Use all rows elsewhere: on “{where}” they are better still."
            if side == "below"
            else f"On “{where}” nothing is shown against all rows."
        )
        return (
            f"Use: filtered for training where the shortcut misleads, as on “{name}” ({signed_points(points)} points "
            f"above all rows).{_random_too(whole, name)} {rest}"
        )
    if side == "below":
        tests = ", and tests models that lean on the shortcut" if _filtered_test_rows(facts, one.representation) else ""
        return (
            f"Use: all rows for training, since they are better still on “{where}”. Filtered is for where as few rows "
            f"are all you can use{tests}."
        )
    return (
        f"Use: filtered rather than as many random rows, since it is better on “{where}”. Against all rows nothing is "
        "shown there."
    )


def _random_too(whole: AgainstAllRows, test_set: str) -> str:
    """That plain random rows are not shown to be worse, if the control is another: fewer rows alone may do it."""
    if test_set not in whole.random_as_good:
        return ""
    return " As many plain random rows are not shown to be worse there: try them first."
