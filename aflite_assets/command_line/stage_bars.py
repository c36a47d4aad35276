"""A progress bar on a terminal for each stage that a command runs."""

from types import TracebackType
from typing import Self, TextIO

from tqdm import tqdm

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.command_line.terminal import one_line, truncate_escaped
from aflite_assets.stages.stage import Progress

_COUNTED = "{desc} {percentage:3.0f} % |{bar:20}| {n_fmt} of {total_fmt} [{elapsed}<{remaining}]"
_UNCOUNTED = "{desc} [{elapsed}]"
_LONGEST_LINE = 60


class StageBars:
    """Context manager for progress bars on `stream`, one below the other.

    A bar shows the progress, the last log line and the duration of a stage.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar: tqdm | None = None
        self._stage = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def begin(self, stage: str) -> Progress:
        """End the bar of the previous stage, and return the functions that the next stage calls to report progress.

        The new bar appears when the stage first reports progress.
        """
        self._end()
        self._stage = stage
        return Progress(log=self._log, on_iteration=self._iteration, on_part=self._part)

    def _end(self) -> None:
        if self._bar is not None:
            self._bar.set_description_str(self._stage, refresh=False)
            self._bar.close()
        self._bar = None

    def _shown(self, line: str) -> tqdm:
        """Show a log line in the stage's bar, and return the bar. The first log line of a stage creates its bar."""
        words = f"{self._stage:<18} {truncate_escaped(one_line(line), _LONGEST_LINE)}"
        if self._bar is None:
            # At the first place: libraries may have bars of their own that never end.
            self._bar = tqdm(
                desc=words, file=self._stream, bar_format=_UNCOUNTED, dynamic_ncols=True, position=0, mininterval=0.2
            )
        self._bar.set_description_str(words)
        return self._bar

    def _log(self, line: str) -> None:
        self._shown(line)

    def _iteration(self, report: IterationRow) -> None:
        left = report.rows_in - report.removed
        self._shown(f"{report.representation}: iteration {report.iteration}, {left:,} rows left")

    def _part(self, done: int, total: int) -> None:
        bar = self._shown("")
        bar.bar_format, bar.total, bar.n = _COUNTED, total, done


__all__ = ["StageBars"]
