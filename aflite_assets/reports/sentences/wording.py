"""Words for differences and for the names of train sets, and explanations of the report's terms."""

from aflite_assets.analysis.comparisons.differences import Difference
from aflite_assets.analysis.comparisons.falls import FallTerm
from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.analysis.rules.verdicts import Shortfall
from aflite_assets.analysis.train_sets import earlier_name
from aflite_assets.reports.tables.cells import bounds
from aflite_assets.studies import parts
from aflite_assets.text import DASH, count, signed_points
from aflite_assets.wording import counted

_AT_RANDOM = "drawn at random from full (from sampled if a sample is filtered)"

TRAIN_SET_MEANINGS = {
    "full": "all train rows; rows spent on warm-up are included only if the settings say so",
    "sampled": "the random sample of full that was filtered, without the rows spent on warm-up; the sets after it "
    "are drawn from it",
    "random": f"as many rows as filtered has, {_AT_RANDOM}",
    "random_matched": "like random, with the class sizes of filtered: the control for which rows were kept",
    "filtered": "the rows that filtering kept",
    "single_pass_model": "as many rows as filtered has, without those that the warm-up model is surest of",
    "single_pass_linear": "as many rows as filtered has, without those that a single pass of linear classifiers "
    "predicts most reliably",
    "weighted": "the rows of full, each row's loss multiplied by its weight, which is low if the features give the "
    "label away and high if they mislead",
}

STOP_REASONS = {
    "target_size": "the target size was reached",
    "threshold": "too few rows were predictable enough to be removed",
    "chance": "its rows were no more predictable than with shuffled labels",
    "nothing_learnt": "its classifiers learnt nothing beyond class shares, in which case nothing is removed",
}

GLOSSARY = {
    "Accuracy": "Share of test rows for which the predicted class is the right one, in per cent.",
    "Artefact": "A cue that is no part of any task, such as a record number, a file's format or a doubled blank.",
    "Challenge set": "A test set from elsewhere, built to fail models that use shortcuts. It is never filtered.",
    "Cue": "A property of rows that tells their class by itself, better than chance.",
    "Evaluator": "A model trained from scratch, or from its pretrained checkpoint, on one train set and then "
    "tested. It is not the model that filtered.",
    "Filtered": "The rows that AFLite kept. If the target size ended the filter, some may still be predicted every "
    "time.",
    **{term: meaning for terms in parts("reports.wording", dict) for term, meaning in terms.items()},
    "Full": "All train rows, called “all rows” on the first screen; rows spent on warm-up are included only if the "
    "settings say so. Of a test set: all its rows.",
    "Control": "What filtered is compared with, called “random rows” on the first screen: the same number of random "
    "rows per class (random_matched). If there is no such set, the rows are of any class.",
    "Group": "Test rows that belong together (one premise, one template), as the dataset's settings say. Intervals "
    "count groups, not rows.",
    "Hint": "A cue of removed rows that may be the task itself, such as a word of a single text. It is no proof of a "
    "shortcut.",
    "Interval": "The range of values that agree with the data, with 95 % confidence. For an accuracy (Wilson) it "
    "counts that the test set is a sample. For a difference it counts that test groups and trainings are "
    "samples, for one warm-up and one filter run unless the settings ask for several (filter_seeds).",
    "Iteration": "One pass of filtering: score all rows left, remove a slice of the most predictable. Counted from 0.",
    "Lean on": "Models lean on a property if they predict its class on rows of other classes that have it, and do so "
    "less when it goes with no class. Not shown to lean: tested, and not seen. Cannot be told: too few rows. Not "
    "tested: at most three properties are.",
    "Points": "Difference of two accuracies in per cent: from 80 % to 75 % is 5 points.",
    "Largest class": "The most frequent class of the rows at hand. Its share is the accuracy of always answering it.",
    "Pool": "The rows that classifiers are trained on and that filtering removes from: the train rows left after "
    "warm-up, and the test rows too if the dataset's settings pool them.",
    "Predictability": "The share of a row's held-out predictions by linear classifiers that were right, from 0 to 1.",
    "Random": f"As many rows as filtered has, {_AT_RANDOM}: what having fewer rows does by itself.",
    "Representation": "The features of a row that the linear classifiers see, from an encoder or the data.",
    "Representation bias": "Mean predictability of the rows that entered an iteration: how much of the data a "
    "linear classifier can solve from this representation.",
    "Second phase": "Training that goes on from a finished model, on chosen rows alone.",
    "Seeds' deviation": "Standard deviation of the accuracy over training runs that differ in their seed only.",
    "Shortcut": "A cue that is no part of the task, and on which models lean.",
    "Shuffled labels": "The bias that the same classifiers reach when the labels are shuffled, that is, from class "
    "shares and groups alone.",
    "Target size": "Filtering never keeps fewer train rows than this.",
    "Verdict": "Above or below: filtered differs from its control by more than the choice of test groups and "
    "trainings explains, counting how many comparisons were made. On a challenge set this must hold of the "
    "mean over gold labels too. Open: it was tested, and no difference was shown. No verdict: it cannot be "
    "tested.",
    "Threshold": "The lowest predictability that a removed row may have. With selection gumbel any row may be "
    "removed, and filtering ends when no row reaches the threshold.",
    "Weak model": "A small model that mostly learns shortcuts. The rows that it forgets are those on which these "
    "shortcuts fail.",
    "Warm-up rows": "Rows on which the encoder was trained; they are not used again.",
}

Bounded = CrossedInterval | Difference | FallTerm
"""A difference in points with its 95 % interval, as a record or as a row of the tidy table."""


def side_text(points: float, none: str = "no difference") -> str:
    """Return a difference in words instead of with a sign, such as "2.0 points above".

    `none`: the text to return if the difference rounds to zero.
    """
    side = "above" if points > 0 else "below"
    return f"{signed_points(abs(points))} points {side}" if round(points, 1) else none


def paired_text(one: Bounded) -> str:
    """Return a paired difference with its interval, such as "2.0 points above, 95 % [0.5, 3.5]"."""
    return f"{side_text(one.difference or 0.0)}, {bounds_text(one)}"


def bounds_text(one: Bounded) -> str:
    """Return an interval in points, such as "95 % [0.5, 3.5]".

    If the interval does not include the variation between training runs, the text begins with "95 % of test rows
    alone".
    """
    return f"{'95 %' if one.counts_training else '95 % of test rows alone'} {bounds(one.low, one.high)}"


def interval_points(one: Bounded) -> str:
    """Return a difference in points with its interval, such as "2.0 [0.5, 3.5]", or a dash without a result."""
    if one.difference is None:
        return DASH
    alone = "" if one.counts_training else ", rows alone"
    return f"{signed_points(one.difference)} {bounds(one.low, one.high)}{alone}"


def answers_text(questions: int | None) -> str:
    """Return a phrase such as ", answers of 98 questions", or "" if rows are not answers."""
    return "" if questions is None else f", answers of {counted(questions, 'question')}"


def present_text(one: Shortfall) -> str:
    """Return how much there is of a quantity, such as "4 effective test groups (6 groups of unequal size)"."""
    noun = one.what.removesuffix("s")
    if one.unequal is None:
        return counted(one.present, noun)
    return f"{counted(one.present, f'effective {noun}')} ({counted(one.unequal, 'group')} of unequal size)"


def needed_text(one: Shortfall) -> str:
    """Return how much of a quantity would be enough, such as "10 test groups of equal size"."""
    return f"{count(one.needed)} {one.what}{'' if one.unequal is None else ' of equal size'}"


def train_set_meaning(name: str) -> str:
    """Return a phrase that explains which rows a train set contains."""
    earlier = earlier_name(name)
    left = (
        f"the rows left when the filter had come down to the number of train rows that the settings give for {earlier}"
    )
    random = f"as many rows as filtered_{earlier} has, {_AT_RANDOM}"
    return TRAIN_SET_MEANINGS.get(name, random if name.startswith("random_") else left)


def stop_text(stop_reason: str) -> str:
    """Return a phrase that explains why filtering stopped."""
    return STOP_REASONS.get(stop_reason.lower().split(".")[-1], stop_reason)
