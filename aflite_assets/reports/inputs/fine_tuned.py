"""Which evaluators went on training on challenge sets, and what must be said beside their numbers. No scores."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class FineTuned:
    """An evaluator that is `start`, trained as that one is and then on rows of the challenge sets `sets` in turn."""

    start: str
    sets: tuple[str, ...]

    @property
    def meaning(self) -> str:
        """What the evaluator is, in words."""
        return f"{self.start}, trained on the train set first and then fine-tuned on {', then '.join(self.sets)}"


def fine_tuned_note(test_set: str, fine_tuned: Mapping[str, FineTuned]) -> tuple[str, ...]:
    """What to read beside a challenge set's numbers where evaluators were fine-tuned on other rows of it."""
    names = [name for name, one in fine_tuned.items() if test_set in one.sets]
    if not names:
        return ()
    return (f"Not zero-shot for evaluators fine-tuned on other rows of this set: {', '.join(names)}.",)


def started_from(start: str, fine_tuned: Mapping[str, FineTuned]) -> dict[str, FineTuned]:
    """The evaluators that go on from `start`, in their order."""
    return {name: one for name, one in fine_tuned.items() if one.start == start}


def starts(fine_tuned: Mapping[str, FineTuned]) -> Iterable[str]:
    """The evaluators that others go on from, each once."""
    return dict.fromkeys(one.start for one in fine_tuned.values())
