"""One run of a dataset at a time, named to those who wait; marks of readers."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aflite_assets.errors import DatasetBusyError, StoreError
from aflite_assets.results import PublishedResult, ResultKey, ResultStore
from aflite_assets.results.locks import read_holder, reading, unread, writing

HOLDER = """
import sys, time
from pathlib import Path
from aflite_assets.results import ResultStore

with ResultStore(Path(sys.argv[1])).dataset_lock("digits", what="aflite refresh"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def test_a_lock_that_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with (
        pytest.raises(StoreError, match=r"\.lock cannot be taken \(Is a directory\)"),
        writing(tmp_path, wait=0),
    ):
        pass


def test_a_second_run_is_refused_by_name_and_goes_on_when_the_first_is_killed(store: ResultStore) -> None:
    first = subprocess.Popen([sys.executable, "-c", HOLDER, str(store.root)], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    with first:
        assert first.stdout.readline() == "held\n"
        named = rf"'digits' is being run \(aflite refresh, process {first.pid} on .*, since 20.*\); wait for its end"
        for wait in (0.0, 0.3):
            second = store.dataset_lock("digits", what="run_pipeline", wait=wait)
            with pytest.raises(DatasetBusyError, match=named), second:
                pytest.fail("two runs at once")
        with store.dataset_lock("other", what="run_pipeline", wait=0):
            pass
        first.kill()
    with store.dataset_lock("digits", what="run_pipeline", wait=10):
        holder = read_holder(store.locks_folder / "digits.lock")
        assert re.fullmatch(rf"run_pipeline, process {os.getpid()} on .+, since 20\S+\+00:00", holder)
    assert read_holder(store.locks_folder / "digits.lock") == "an unknown process"


def test_the_holder_may_take_it_again_and_another_thread_may_not(store: ResultStore) -> None:
    refused: list[str] = []

    def try_it() -> None:
        try:
            with store.dataset_lock("digits", what="second", wait=0):
                refused.append("held")
        except DatasetBusyError as error:
            refused.append(str(error))

    with store.dataset_lock("digits", what="first"):
        with store.dataset_lock("digits", what="within"):
            pass
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert f"first, process {os.getpid()}" in refused[0]


def test_a_dataset_that_is_no_name_is_refused(store: ResultStore) -> None:
    with pytest.raises(StoreError, match="cannot be the name of a result"), store.dataset_lock("../up", what="x"):
        pass


def test_a_mark_of_reading_is_seen_and_ends_with_its_block(store: ResultStore) -> None:
    result = store.get_or_create("raw_dataset", "digits", ResultKey("1", {}, {}), lambda draft: {}).result
    with reading([result]), reading([result]), unread(result.path) as free:
        assert not free
    with unread(result.path) as free:
        assert free
    gone = PublishedResult("raw_dataset", "digits", "gone", result.path.parent / "gone")
    message = r"raw_dataset of 'digits' has no result .*gone any more; materialise it again"
    with pytest.raises(StoreError, match=message), reading([gone]):
        pass
