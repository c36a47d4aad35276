"""Finding a process again, and processes that end with their parent."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aflite_assets.processes import ProcessMark, mark_of, this_process

PARENT = """
import multiprocessing, sys, time
from aflite_assets.processes import end_with_parent

def work(path):
    end_with_parent()
    open(path, "w").write(f"{multiprocessing.current_process().pid}.")
    time.sleep(120)

if __name__ == "__main__":
    multiprocessing.get_context("fork").Process(target=work, args=(sys.argv[1],)).start()
    time.sleep(120)
"""


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_this_process_is_alive_and_its_mark_survives_json() -> None:
    mark = this_process()
    assert mark.pid == os.getpid()
    assert ProcessMark(**mark.as_json()) == mark  # type: ignore[arg-type]
    assert mark.is_here()
    assert mark.is_alive()


def test_another_process_of_that_number_is_not_it() -> None:
    mark = this_process()
    assert mark.started is not None
    assert not replace(mark, started=mark.started - 1).is_alive()
    assert not replace(mark, boot="another").is_alive()
    assert not replace(mark, host="elsewhere").is_here()
    assert replace(mark, started=None).is_alive()


def test_a_killed_process_is_not_alive_before_and_after_it_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"]) as process:
        mark = mark_of(process.pid)
        assert mark.is_alive()
        process.kill()
        assert within(10, lambda: not mark.is_alive())
    assert not mark.is_alive()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_worker_ends_with_its_killed_parent(tmp_path: Path) -> None:
    note = tmp_path / "worker"
    with subprocess.Popen([sys.executable, "-c", PARENT, str(note)]) as parent:
        assert within(30, lambda: note.is_file() and note.read_text().endswith("."))
        worker = mark_of(int(note.read_text().rstrip(".")))
        assert worker.is_alive()
        parent.kill()
    assert within(10, lambda: not worker.is_alive())
