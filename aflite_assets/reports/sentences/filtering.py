"""What filtering kept, how alike its runs are, and whether kept train rows are still predicted, in sentences."""

from aflite_assets.analysis.filtering import FilterOutcome, StillPredicted
from aflite_assets.reports.sentences.wording import answers_text, stop_text
from aflite_assets.text import count, percent


def filtering_sentence(one: FilterOutcome, questions: int | None = None) -> str:
    """How much was kept, why filtering stopped, and what became of representation bias.

    `questions`: of how many questions the train rows are answers, or None if they are no answers.
    """
    share = f"{answers_text(questions)} ({percent(one.kept_rows / one.train_rows)} %)" if one.train_rows else ""
    text = (
        f"Filtering with representation {one.representation} kept {count(one.kept_rows)} of {count(one.train_rows)} "
        f"train rows{share} and stopped because {stop_text(one.stop_reason)}."
    )
    if one.bias is None or one.largest_class is None:
        return text
    first, last = one.bias
    verb = "fell" if last < first else "rose" if last > first else "stayed"
    return (
        f"{text} Over {one.passes} passes representation bias {verb} from {percent(first)} % to {percent(last)} %. "
        f"The largest class makes up {percent(one.largest_class)} % of the rows left in the pool."
    )


def runs_sentence(one: FilterOutcome) -> str:
    """How alike several runs of the filter are; empty for one."""
    if one.kept_jaccard is None:
        return ""
    mean, least, chance = (one.kept_jaccard[name] for name in ("mean", "least", "by_chance"))
    return (
        f"Filtering with representation {one.representation} was run {one.runs} times, with other draws each time. Of "
        f"the train rows that either of two runs kept, {percent(mean)} % were kept by both (least {percent(least)} %). "
        f"Two random sets of these sizes share {percent(chance)} %. Differences count this."
    )


def still_predicted_sentence(still: StillPredicted) -> str:
    """How many kept train rows are still predicted, and what left them there.

    "59.8 % of kept rows are still predicted every time: target_size stopped the filter. ..."
    """
    if not still.rows:
        return "No train row was kept."
    unscored = _unscored_text(still)
    threshold = f"the threshold of {still.threshold:g}"
    if not still.over:
        return f"{'Every' if not unscored else 'Every other'} kept train row is under {threshold}.{unscored}"
    over = f"{percent(still.over / still.rows)} % of kept train rows ({count(still.over)} of {count(still.rows)})"
    if not still.every_time:
        return f"{over} are still predicted at or over {threshold}: {_why(still)}.{unscored}"
    every = f"{percent(still.every_time / still.rows)} % of kept rows are still predicted every time: {_why(still)}."
    return f"{every} {over} are at or over {threshold}.{unscored}"


def _unscored_text(still: StillPredicted) -> str:
    if not still.unscored:
        return ""
    return f" {count(still.unscored)} of {count(still.rows)} were never held out, so nothing is known of them."


def _why(still: StillPredicted) -> str:
    if still.stop_reason == "target_size":
        return "target_size stopped the filter"
    if still.stop_reason == "chance":
        return "the filter stopped because " + stop_text(still.stop_reason)
    if still.selection == "gumbel":
        return "with selection gumbel the threshold ends the filter and does not choose rows"
    if still.remove == "groups":
        return "whole groups leave, by the mean of their rows"
    return "the last pass, with classifiers of its own, found them among what was left"
