"""Counting the tries of one stage within one refresh, and refusing one more when there were too many."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aflite_assets.errors import AfliteError, TooManyTriesError
from aflite_assets.refresh.due import MOST_TRIES
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import StoredResult


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class CountedTry:
    """One refresh's try of one stage. `run`: the refresh's name; None where a person runs it: not counted."""

    state: RefreshState
    dataset: str
    stage: str
    run: str | None
    clock: Callable[[], datetime] = _now
    _key: str | None = field(default=None, init=False)

    def begin(self, key: str) -> None:
        """Count one try for a key; tries within the same refresh count once.

        Raises:
            TooManyTriesError: other refreshes have tried it `MOST_TRIES` times, or its inputs were refused.
            StoreError: the notes cannot be kept.
        """
        if self.run is None:
            return
        before = self.state.tries(self.dataset, self.stage, key)
        if before.refused:
            raise TooManyTriesError(
                f"{self.stage} of {self.dataset!r} was refused and is left until what it reads changes: {before.error}"
            )
        self.state.note_try(self.dataset, self.stage, key, run=self.run, now=self.clock())
        tries = self.state.tries(self.dataset, self.stage, key)
        if tries.count > MOST_TRIES:
            self.state.forget_try(self.dataset, self.stage, key, run=self.run)
            raise TooManyTriesError(
                f"{self.stage} of {self.dataset!r} was tried {MOST_TRIES} times from these inputs and is left alone; "
                f"the last failure: {tries.error or 'unknown'}; mend it, or materialise it by hand"
            )
        self._key = key

    def end(self, obtained: StoredResult) -> None:
        """Forget the stage's tries, or record that the result lacks parts."""
        if self.run is None:
            return
        if obtained.result.summary.get("incomplete"):
            self._note("its result lacks parts that failed")
        else:
            self.state.forget_tries(self.dataset, self.stage)

    def fail(self, error: Exception) -> None:
        """Record why the try failed, and whether every further try would fail too."""
        self._note(str(error), refused=is_refusal(error))

    def _note(self, why: str, *, refused: bool = False) -> None:
        if self.run is not None and self._key is not None:
            self.state.note_error(
                self.dataset, self.stage, self._key, run=self.run, error=why, now=self.clock(), refused=refused
            )


def is_refusal(error: Exception) -> bool:
    """Whether an error is about inputs that would be refused each time."""
    return isinstance(error, AfliteError) and error.refuses and not error.may_pass


__all__ = ["CountedTry", "is_refusal"]
