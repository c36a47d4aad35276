"""Counting the tries of one stage within one refresh: begun, failed, succeeded, and refused when there were enough."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aflite_assets.errors import TriedEnoughError
from aflite_assets.refresh.due import MOST_TRIES
from aflite_assets.refresh.state import RefreshState
from aflite_assets.results import Obtained


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class CountedTry:
    """One refresh's try of one stage. `run`: the refresh's name; None where a person runs it, and nothing counts."""

    state: RefreshState
    dataset: str
    stage: str
    run: str | None
    clock: Callable[[], datetime] = _now
    _key: str | None = field(default=None, init=False)

    def begin(self, key: str) -> None:
        """Count that the stage is begun for a key; a second time in the same refresh counts as the first.

        Raises:
            TriedEnoughError: other refreshes have tried it `MOST_TRIES` times.
            StoreError: the notes cannot be kept.
        """
        if self.run is None:
            return
        self.state.note_try(self.dataset, self.stage, key, run=self.run, now=self.clock())
        tries = self.state.tries(self.dataset, self.stage, key)
        if tries.count > MOST_TRIES:
            self.state.forget_try(self.dataset, self.stage, key, run=self.run)
            raise TriedEnoughError(
                f"{self.stage} of {self.dataset!r} was tried {MOST_TRIES} times from these inputs and is left alone; "
                f"the last failure: {tries.error or 'unknown'}; mend it, or materialise it by hand"
            )
        self._key = key

    def end(self, obtained: Obtained) -> None:
        """Count anew from now on, or keep that the result lacks parts."""
        if self.run is None:
            return
        if obtained.result.summary.get("incomplete"):
            self.fail("its result lacks parts that failed")
        else:
            self.state.forget_tries(self.dataset, self.stage)

    def fail(self, why: str) -> None:
        """Keep why the try failed."""
        if self.run is not None and self._key is not None:
            self.state.note_error(self.dataset, self.stage, self._key, run=self.run, error=why)


__all__ = ["CountedTry"]
