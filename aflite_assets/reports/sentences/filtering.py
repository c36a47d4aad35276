"""Sentences on the outcome of filtering: kept and removed rows, cues of the removed rows, and planted shortcuts."""

from collections.abc import Sequence
from functools import partial

from aflite_assets.analysis.filtering import FilterOutcome, StillPredicted
from aflite_assets.analysis.inputs.cues import PlantedRemoval, RemovedCue
from aflite_assets.reports.sentences.wording import answers_text, stop_text
from aflite_assets.text import count, listed, percent, short
from aflite_assets.wording import counted

_brief = partial(short, length=40)
_MOST_CLASSES, _MOST_ALIKE, _MOST_SETS = 3, 4, 3


def filtering_sentence(one: FilterOutcome, questions: int | None = None) -> str:
    """Describe the outcome of one filtering: the kept rows, the reason for stopping, and the representation bias.

    `questions`: the number of questions that the train rows answer, or None if rows are not answers.
    """
    share = f"{answers_text(questions)} ({percent(one.kept_rows / one.train_rows)} %)" if one.train_rows else ""
    kept, why = f"{count(one.kept_rows)} of {count(one.train_rows)} train rows{share}", stop_text(one.stop_reason)
    text = f"Filtering with representation {one.representation} kept {kept} and stopped because {why}."
    if one.bias is None or one.largest_class is None:
        return text
    first, last = map(percent, one.bias)
    if first == last:
        text += f" Over {f'{one.passes} passes' if one.passes > 1 else 'one pass'} representation bias was {last} %."
    else:
        verb = "fell" if one.bias[1] < one.bias[0] else "rose"
        text += f" Over {one.passes} passes representation bias {verb} from {first} % to {last} %."
    return f"{text} The largest class makes up {percent(one.largest_class)} % of the rows left in the pool."


def runs_sentence(one: FilterOutcome) -> str:
    """Describe how similar the results of several filter runs are.

    Return an empty string if the filter ran only once.
    """
    if one.kept_jaccard is None:
        return ""
    mean, least, chance = (percent(one.kept_jaccard[name]) for name in ("mean", "least", "by_chance"))
    text = f"Filtering with representation {one.representation} was run {one.runs} times, with other draws each time."
    text += f" Of the train rows that either of two runs kept, {mean} % were kept by both (least {least} %)."
    return f"{text} Two random sets of these sizes share {chance} %. The intervals of differences include this."


def still_predicted_sentence(still: StillPredicted) -> str:
    """Describe how many kept train rows are still predicted correctly, and why these rows were kept."""
    if not still.rows:
        return "No train row was kept."
    threshold, rows = f"the threshold of {still.threshold:g}", count(still.rows)
    unknown = f" {count(still.unscored)} of {rows} were never held out, so their predictability is unknown."
    unscored = unknown if still.unscored else ""
    if not still.over:
        return f"{'Every other' if unscored else 'Every'} kept train row is under {threshold}.{unscored}"
    over = f"{percent(still.over / still.rows)} % of kept train rows ({count(still.over)} of {rows})"
    if not still.every_time:
        return f"{over} are still predicted at or over {threshold}: {_why(still)}.{unscored}"
    every = f"{percent(still.every_time / still.rows)} % of kept rows are still predicted every time: {_why(still)}."
    return f"{every} {over} are at or over {threshold}.{unscored}"


def _why(still: StillPredicted) -> str:
    if still.stop_reason == "target_size":
        return "target_size stopped the filter"
    if still.stop_reason in ("chance", "nothing_learnt"):
        return f"the filter stopped because {stop_text(still.stop_reason)}"
    if still.selection == "gumbel":
        return "with selection gumbel the threshold ends the filter and does not choose rows"
    if still.remove == "groups":
        return "whole groups are removed, by the mean of their rows"
    return "only the last pass, which has classifiers of its own, predicted them"


def cue_name(cue: RemovedCue) -> str:
    """Return the name of a cue, such as "the word “not” of text_pair", "colour = red", "the length of text (13 or
    more)" or "text alone".
    """
    value = _brief(cue.value)
    if cue.kind == "word":
        alike = listed([f"“{_brief(word)}”" for word in cue.alike], _MOST_ALIKE)
        return f"the word “{value}”{f' (and {alike} in the same rows)' if alike else ''} of {cue.name}"
    names = {"attribute": f"{_brief(cue.name)} = {value}", "length": f"the {cue.name} ({value})"}
    return names.get(cue.kind, f"{cue.name} alone")


def cues_caption(cues: Sequence[RemovedCue]) -> str:
    """Return the caption of the table of cues: the number of tested cues, the strongest cue, and the meaning of the
    columns.
    """
    shown = [cue for cue in cues if cue.shown]
    first = f" Most telling: {cue_text(shown[0])}." if shown else ""
    return (
        f"Of {counted(len(cues), 'tested cue')}, {len(shown):,} {'is' if len(shown) == 1 else 'are'} beyond chance "
        f"(Holm, 5 %).{first} rows is the number of rows with the cue, classes are their classes, and share_kept is "
        "the share of them that was kept. share_removed is the share of the removed train rows that have the cue, and "
        "share_expected that of random rows, same number per class. Both count only rows of classes that the cue goes "
        "with. A cue describes what was removed. It need not be a shortcut: rows that are easy for the task have cues "
        "as well."
    )


def class_text(cue: RemovedCue) -> str:
    """Return a phrase on how often rows with a cue have the cue's class, such as "with spam in 100.0 % of its 284
    rows".
    """
    return f"with {_brief(cue.label_name or '')} in {percent(cue.class_share or 0.0)} % of its {count(cue.rows)} rows"


def classes_text(cue: RemovedCue, label_names: Sequence[str]) -> str:
    """List the classes of the rows with a cue, the largest shares first, such as "spam 91.0 %, ham 9.0 %"."""
    shares = sorted(zip(cue.class_shares, label_names, strict=False), key=lambda pair: -pair[0])
    rest = f" and {count(len(shares) - _MOST_CLASSES)} more" if len(shares) > _MOST_CLASSES else ""
    return ", ".join(f"{_brief(name)} {percent(share)} %" for share, name in shares[:_MOST_CLASSES]) + rest


def numbered_cue(cue: RemovedCue, label_names: Sequence[str]) -> str:
    """Return a cue with its numbers in brackets, such as "the word “not” of text_pair (284 rows, 100.0 % spam, 3.2 %
    kept)" or "rows whose label the column size alone predicts (284 rows, 3.2 % kept)".
    """
    shares = zip(cue.class_shares, label_names, strict=False)
    share, name = max(shares, key=lambda pair: pair[0], default=(0.0, ""))
    is_prediction = cue.kind in ("partial input", "column")  # accuracy from one input alone refers to no class
    most = share >= 0.5 and not is_prediction
    of_class = f", {percent(share)} % {_brief(name)}" if most else ""
    numbers = f"{counted(cue.rows, 'row')}{of_class}, {percent(cue.share_kept)} % kept"
    for number, (name, part) in enumerate(cue.elsewhere[:_MOST_SETS]):
        numbers += f"{', ' if number else '; '}in {f'{percent(part)} %' if part else 'no row'} of “{_brief(name)}”"
    if is_prediction:
        own = f"the column {cue.name}" if cue.kind == "column" and not cue.name.startswith("column ") else cue.name
        return f"rows whose label {own} alone predicts ({numbers})"
    return f"{cue_name(cue).removesuffix(')')}; {numbers})" if cue.kind == "length" else f"{cue_name(cue)} ({numbers})"


def cue_text(cue: RemovedCue) -> str:
    """Describe a cue and its share of the removed rows in one or two sentences, without the last full stop."""
    removed, expected = percent(cue.share_removed), percent(cue.share_expected)
    if cue.label_name is None or cue.class_share is None:
        verb = "is right for" if cue.kind in ("partial input", "column") else "is in"
        return f"{cue_name(cue)} {verb} {removed} % of the removed rows, against {expected} % of random rows"
    shares = f"{removed} % have it and a class that it goes with, against {expected} % of random rows"
    return f"{cue_name(cue)}, {class_text(cue)}. Of the removed rows {shares}"


def planted_sentence(removal: PlantedRemoval) -> str:
    """Describe how well filtering removes planted rows, by precision and recall.

    The text compares precision and recall with the values for the same number of random rows.
    """
    planted = f"{short(removal.attribute)} {listed(list(map(short, removal.values)))}"
    where = f"Of the {count(removal.rows)} train rows that entered filtering with {removal.representation}"
    if removal.recall is None or removal.recall_by_chance is None:
        return f"{where} none was planted with a shortcut ({planted}), so precision and recall cannot be computed."
    text = f"{where} {count(removal.planted_rows)} were planted with a shortcut ({planted})."
    if removal.precision is None or removal.precision_by_chance is None:
        return f"{text} No row was removed."
    text += f" It removed {count(removal.removed_rows)}: {percent(removal.precision)} % of these were planted"
    text += f" (precision; by chance {percent(removal.precision_by_chance)} %), and {percent(removal.recall)} % of all"
    return f"{text} planted ones were among them (recall; by chance {percent(removal.recall_by_chance)} %)."
