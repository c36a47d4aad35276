"""Runs of a tiny dataset in processes that are killed hard at given moments; what `test_kills` counts and compares."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from aflite_assets.results import ResultStore
from aflite_assets.results.doctor import examine_store
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_pipeline
from tests.forked import forking_context
from tests.pipeline_fixtures import permuted_four_times
from tests.small_datasets import template_pairs
from tests.undrawn import undrawn_figures

TINY = template_pairs(train=160, test=40, warmup=40, epochs=3, slice_size=0.1, target_size=0.3)


def run_whole(root: Path, *, quick: bool = False) -> None:
    """The whole pipeline into a store; `quick`: its figures are dots, and labels are permuted a few times."""
    with ExitStack() as shortened:
        if quick:
            shortened.enter_context(undrawn_figures())
            shortened.enter_context(permuted_four_times())
        run_pipeline(parse_spec(TINY), store=ResultStore(root))


def run_killed(root: Path, *, after: float | None, quick: bool = False) -> float | None:
    """The same in a process of its own that the kernel ends after so many processor seconds.

    Processor seconds, so that other work on the machine moves no moment. The seconds it took where it ended by itself,
    else None.
    """
    process, receiving = _started(_until, root, after, quick)
    process.join()
    assert process.exitcode in (0, -signal.SIGPROF)
    took: float | None = None if process.exitcode else receiving.recv()
    return took


def _until(root: Path, after: float | None, quick: bool, sending: Connection) -> None:
    begin = time.process_time()
    if after is not None:
        # Nobody handles this signal, so the process ends as it does by SIGKILL: at once, whatever it was doing.
        signal.setitimer(signal.ITIMER_PROF, after)
    run_whole(root, quick=quick)
    sending.send(time.process_time() - begin)


def _started(target: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    # Moments are drawn over the work: by itself a fresh process spends most of its time on imports.
    context = forking_context()
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(*arguments, sending))
    process.start()
    sending.close()
    return process, receiving


def attempt(root: Path, content: dict[str, Any]) -> str:
    """Run a spec's pipeline in a process of its own; "" where it ended well, else the error or what ended it."""
    process, receiving = _started(_attempt, root, content)
    try:
        said: str = receiving.recv()
    except EOFError:
        said = "it said nothing"
    process.join()
    return said if process.exitcode == 0 else f"{said}; ended with {process.exitcode}"


def _attempt(root: Path, content: dict[str, Any], sending: Connection) -> None:
    said = ""
    try:
        run_pipeline(parse_spec(content), store=ResultStore(root))
    except Exception as error:  # what it is is what the test looks at
        said = f"{type(error).__name__}: {error}"
    sending.send(said)


def published(root: Path) -> dict[str, dict[str, str]]:
    """Hashes of every published file by asset, folder and name; those of parts too."""
    store = ResultStore(root)
    found = {}
    for asset, partition, _ in store.partitions():
        for parts in (False, True):
            for result in store.results(asset, partition, parts=parts):
                found[f"{asset}/{'parts/' if parts else ''}{result.key}"] = dict(result.manifest["files"])
    return found


@dataclass(frozen=True)
class Outcome:
    """One kill: processor seconds after the begin, the stage being made then, and whether the resumed run is equal."""

    after: float
    stage: str
    equal: bool


def kill_and_resume(folder: Path, *, moments: int, seed: int, quick: bool = False) -> Iterator[Outcome]:
    """Kill runs of fresh stores at random moments, spread evenly over a run's length, and run each to its end again."""
    whole = folder / "whole"
    run_whole(folder / "first", quick=quick)  # what is compiled once is no part of the length
    length = run_killed(whole, after=None, quick=quick)
    assert length is not None
    expected = published(whole)
    assert published(folder / "first") == expected
    draws = np.random.default_rng(seed).uniform(size=moments)
    for number, draw in enumerate(draws):
        root, after = folder / f"killed-{number}", length * (number + draw) / moments
        running = run_killed(root, after=after, quick=quick) is None
        done = {asset for asset, _, home in ResultStore(root).partitions() if (home / "current.json").exists()}
        stage = next((name for name in STAGES if name not in done), "after the last") if running else "had ended"
        run_whole(root, quick=quick)
        # A kill may leave a half-written record of a file that was looked at; nothing reads it, and it is removed here.
        problems = list(examine_store(ResultStore(root), deep=True, fix=True))
        sound = all(one.mended and "/.seen/" in one.what for one in problems)
        sound = sound and not list(examine_store(ResultStore(root), deep=True, fix=False))
        yield Outcome(after, stage, published(root) == expected and sound)
