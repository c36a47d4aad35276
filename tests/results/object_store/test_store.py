"""Results in a bucket: published once, read everywhere, and nothing half-done visible."""

import json
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import StoreError, StoreUnreachableError
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.results.damage import find_damage
from aflite_assets.results.object_store import results as results_module
from aflite_assets.results.object_store.bucket import Bucket
from aflite_assets.results.object_store.results import ObjectBackend
from tests.object_stores import backend, bucket, key, listening, make, with_part, withdraw, write_text

Machine = Callable[[str], ResultStore]
Names = Callable[[], list[str]]


def test_what_one_machine_publishes_another_finds_and_reads(
    here: ResultStore, there: ResultStore, names: Names
) -> None:
    made = here.get_or_create("embeddings", "digits", key(a=1), with_part("one"))
    assert not made.cached
    found = there.get_or_create("embeddings", "digits", key(a=1), write_text("two"))
    assert (found.cached, found.result.summary) == (True, {"rows": 3})
    assert found.result.data_version == made.result.data_version
    assert there.current("embeddings", "digits") == found.result
    assert there.find("embeddings", "digits", key(a=2)) is None
    assert not found.result.folder.exists()  # nothing was read yet
    assert found.result.file("rows.txt").read_text() == "one"
    assert found.result.path == there.root / "embeddings" / "digits" / key(a=1).digest
    assert found.result.part("cell").file("rows.txt").read_text() == "part of one"
    assert find_damage(found.result) is None
    assert (there.has("embeddings", "digits", made.result.key), there.has("embeddings", "digits", "0")) == (True, False)
    attempts = {result.manifest["attempt"] for result in (made.result, made.result.part("cell"))}
    assert len(attempts) == 2
    place = f"embeddings/digits/{made.result.key}"
    part = f"embeddings/digits/parts/{made.result.part('cell').key}"
    assert names() == sorted(
        [
            "format.json",
            "embeddings/digits/current.json",
            f"{place}/manifest.json",
            f"{place}/{made.result.manifest['attempt']}/rows.txt",
            f"{part}/manifest.json",
            f"{part}/{made.result.part('cell').manifest['attempt']}/rows.txt",
        ]
    )


def test_a_copy_is_fetched_once_and_readers_keep_what_they_opened(here: ResultStore, there: ResultStore) -> None:
    make(here)
    reads: list[str] = []

    def hear(params: Any, **_: Any) -> None:
        reads.append(params["url_path"])

    first = there.current("embeddings", "digits")
    with listening(there, "before-call.s3.GetObject", hear), ThreadPoolExecutor(4) as readers:
        paths = list(readers.map(lambda _: there.current("embeddings", "digits").path, range(4)))
    assert set(paths) == {first.path}
    assert sum(path.endswith("/rows.txt") for path in reads) == 1
    with first.file("rows.txt").open() as opened:
        results_module.discard(first)
        assert opened.read() == "one"


def test_a_result_travels_between_processes(here: ResultStore, there: ResultStore) -> None:
    make(here)
    sent = pickle.loads(pickle.dumps(there.current("embeddings", "digits")))
    assert sent == there.current("embeddings", "digits")
    assert sent.file("rows.txt").read_text() == "one"
    assert "folder=" in repr(sent)


@pytest.mark.parametrize("seconds_later", [-1, 0, 1])  # the clock may strike between the two machines' requests
def test_the_loser_of_a_race_takes_the_winners_result(
    here: ResultStore,
    there: ResultStore,
    names: Names,
    seconds_later: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both_at_work = threading.Barrier(2)
    lines: list[str] = []
    begun = bucket(here).now()
    monkeypatch.setattr(
        ObjectBackend, "now", lambda this: begun + timedelta(seconds=seconds_later * (this.root == there.root))
    )

    def work(store: ResultStore, text: str) -> PublishedResult:
        def write(draft: Draft) -> Mapping[str, Any]:
            both_at_work.wait(timeout=30)
            return write_text(text)(draft)

        return store.get_or_create("embeddings", "digits", key(), write, log=lines.append).result

    for round_ in range(3):
        lines.clear()
        with ThreadPoolExecutor(2) as machines:
            running = [machines.submit(work, here, f"a{round_}"), machines.submit(work, there, f"b{round_}")]
            one, other = (each.result() for each in running)
        assert one.data_version == other.data_version
        assert one.file("rows.txt").read_text() == other.file("rows.txt").read_text()
        assert len(lines) == 1
        assert "another machine published" in lines[0]
        assert sum(name.endswith("rows.txt") for name in names()) == 1  # the loser's files are gone
        bucket(here).delete(names())


PUBLISHER = """
import sys
from pathlib import Path
from aflite_assets.results import ResultKey
from aflite_assets.results.opening import open_store

def write(draft):
    (draft.path / "rows.txt").write_text(sys.argv[2])
    Path(sys.argv[1], f"at work {sys.argv[2]}").touch()
    while len(list(Path(sys.argv[1]).glob("at work *"))) < 2:
        pass
    return {}

store = open_store(Path(sys.argv[1], sys.argv[2]))
result = store.get_or_create("embeddings", "digits", ResultKey("1", {}, {}), write).result
print(result.data_version, result.file("rows.txt").read_text())
"""


def test_two_processes_race_and_both_have_one_result(address: str, tmp_path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", PUBLISHER, str(tmp_path), name], stdout=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert said[0] == said[1]
    assert said[0].split()[1] in ("a", "b")


def test_what_was_asked_for_later_stays_current(
    here: ResultStore, there: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = bucket(here).now() - timedelta(minutes=1)
    lines: list[str] = []

    def slow(draft: Draft) -> Mapping[str, Any]:
        make(there, "later", a=2)
        return write_text("slow")(draft)

    monkeypatch.setattr(ObjectBackend, "now", lambda this: begun + timedelta(seconds=this.root == there.root))
    slow_result = here.get_or_create("embeddings", "digits", key(a=1), slow, log=lines.append).result
    assert lines == [f"another machine requested embeddings of 'digits' later: its {key(a=2).digest} remains current"]
    assert here.current_key("embeddings", "digits") == key(a=2).digest
    assert slow_result.file("rows.txt").read_text() == "slow"
    make(here, a=1)  # asked for before the other, as the clocks here say
    assert here.current_key("embeddings", "digits") == key(a=2).digest
    monkeypatch.undo()
    make(here, a=1)
    assert there.current_key("embeddings", "digits") == key(a=1).digest


@pytest.mark.parametrize("seconds", [-1, 1])
def test_a_mark_that_changes_between_read_and_write_is_read_again(
    here: ResultStore, there: ResultStore, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """The other machine asked a second before or after this one, and writes first."""
    begun = bucket(here).now() - timedelta(minutes=1)
    moments = {here.root: begun, there.root: begun + timedelta(seconds=seconds)}
    monkeypatch.setattr(ObjectBackend, "now", lambda this: moments[this.root])
    make(here, "first", a=0)
    marks, answers = list[str](), list[int]()

    def other_first(params: Any, **_: Any) -> None:
        if params["url_path"].endswith("/current.json") and "If-Match" in params["headers"]:
            marks.append(params["headers"]["If-Match"])
            if len(marks) == 1:
                bucket(there).put("embeddings/digits/current.json", _mark(there, key(a=2)))

    def answer(http_response: Any, **_: Any) -> None:
        answers.append(http_response.status_code)

    with (
        listening(here, "before-call.s3.PutObject", other_first),
        listening(here, "after-call.s3.PutObject", answer),
    ):
        make(here, "this", a=1)
    wins = seconds < 0
    assert (len(marks), len(set(marks))) == ((2, 2) if wins else (1, 1))
    assert answers.count(412) == 1
    assert here.current_key("embeddings", "digits") == key(a=1 if wins else 2).digest


def _mark(store: ResultStore, wanted: ResultKey) -> bytes:
    asked = backend(store).now().isoformat()
    return json.dumps({"key": wanted.digest, "data_version": "x", "asked": asked}).encode()


@pytest.mark.parametrize("asked", ["2100-01-01T00:00:00", "soon"])
def test_a_moment_that_says_nothing_counts_as_the_earliest(here: ResultStore, asked: str) -> None:
    make(here, a=1)
    mark = {"key": key(a=1).digest, "data_version": "x", "asked": asked}
    bucket(here).put("embeddings/digits/current.json", json.dumps(mark).encode())
    make(here, a=2)
    assert here.current_key("embeddings", "digits") == key(a=2).digest


def test_the_server_decides_what_is_current_when_many_write(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """All have read the same mark before the first write, which is that of the last who asked."""
    stores = [machine(f"machine{number}") for number in range(6)]
    begun = bucket(stores[0]).now() - timedelta(minutes=1)
    moments = {store.root: begun for store in stores}
    monkeypatch.setattr(ObjectBackend, "now", lambda this: moments[this.root])
    for number, store in enumerate(stores):
        make(store, f"{number}", a=number)
        moments[store.root] = begun + timedelta(seconds=number)
    all_have_read, last_has_written = threading.Barrier(6), threading.Event()
    last = key(a=5).digest
    held: set[str] = set()

    def hold(params: Any, **_: Any) -> None:
        wanted = json.loads(params["body"].getvalue())["key"] if params["url_path"].endswith("/current.json") else None
        if wanted is not None and wanted not in held:
            held.add(wanted)
            all_have_read.wait(timeout=30)
            if wanted != last:
                assert last_has_written.wait(timeout=30)

    def ask(number: int) -> None:
        make(stores[number], a=number)
        if number == 5:
            last_has_written.set()

    with listening(stores[0], "before-call.s3.PutObject", hold), ThreadPoolExecutor(6) as threads:
        list(threads.map(ask, range(6)))
    assert len(held) == 6
    assert {store.current_key("embeddings", "digits") for store in stores} == {last}


KILLED = """
import os, signal, sys
from pathlib import Path
from aflite_assets.results import ResultKey
from aflite_assets.results.object_store.results import ObjectBackend
from aflite_assets.results.object_store.bucket import Bucket
from aflite_assets.results.opening import open_store

def write(draft):
    for name in "abcdefgh":
        (draft.path / name).write_text(name)
    print("made", flush=True)
    return {}

upload = Bucket.upload
uploaded = []
def count(bucket, path, name):
    upload(bucket, path, name)
    uploaded.append(name)
    if len(uploaded) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "kill":
    Bucket.upload = count
open_store(Path(sys.argv[1])).get_or_create("embeddings", "digits", ResultKey("1", {}, {}), write)
"""


def test_a_killed_upload_leaves_nothing_to_be_seen_and_its_work_is_not_lost(
    there: ResultStore, tmp_path: Path, names: Names
) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed")]
    killed = subprocess.run([*command, "kill"], check=False, capture_output=True, text=True)
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "made\n")
    assert sum(name.count("/") == 4 for name in names()) >= 3
    wanted = ResultKey("1", {}, {})
    assert there.find("embeddings", "digits", wanted) is None
    assert list(there.results("embeddings", "digits")) == []
    with pytest.raises(StoreError, match=r"embeddings of 'digits' was never materialised below s3://.*/team/one; mat"):
        there.current("embeddings", "digits")
    again = subprocess.run([*command, "go on"], check=True, capture_output=True, text=True)
    assert again.stdout == ""  # made before the kill
    result = there.current("embeddings", "digits")
    assert [result.file(name).read_text() for name in "abcdefgh"] == list("abcdefgh")


def test_work_that_could_not_be_uploaded_is_uploaded_by_the_next_try(
    here: ResultStore, there: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreUnreachableError("the server went away")

    def never(draft: Draft) -> Mapping[str, Any]:
        raise AssertionError("made again")

    lines: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr("aflite_assets.results.object_store.bucket.Bucket.upload", away)
        with pytest.raises(StoreUnreachableError, match="went away"):
            make(here, "one")
    result = here.get_or_create("embeddings", "digits", key(), never, log=lines.append).result
    assert "was computed before but not published" in lines[0]
    assert there.current("embeddings", "digits").data_version == result.data_version
    assert list((here.root / "embeddings" / "digits").glob(".work/*")) == []

    with monkeypatch.context() as patch:
        patch.setattr("aflite_assets.results.object_store.bucket.Bucket.upload", away)
        with pytest.raises(StoreUnreachableError, match="went away"):
            make(here, "one", a=2)
    (left,) = (here.root / "embeddings" / "digits").glob(".work/*/ready/*/rows.txt")
    left.write_text("changed since")
    assert make(here, "two", a=2).file("rows.txt").read_text() == "two"

    with monkeypatch.context() as patch:
        patch.setattr("aflite_assets.results.object_store.bucket.Bucket.upload", away)
        with pytest.raises(StoreUnreachableError, match="went away"):
            make(here, "one", a=3)
    (left,) = (here.root / "embeddings" / "digits").glob(".work/*/ready/*/manifest.json")
    left.write_text(left.read_text().replace('"summary": {', '"summary": {"edited": true, ', 1))
    assert "edited" not in make(here, "two", a=3).summary


def test_work_whose_part_was_made_again_meanwhile_is_not_uploaded(
    here: ResultStore, there: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = Bucket.upload

    def parts_alone(bucket: Bucket, path: Path, name: str) -> None:
        if "/parts/" not in name:
            raise StoreUnreachableError("the server went away")
        upload(bucket, path, name)

    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "upload", parts_alone)
        with pytest.raises(StoreUnreachableError, match="went away"):
            here.get_or_create("embeddings", "digits", key(), with_part("one"))
    (part,) = here.results("embeddings", "digits", parts=True)
    assert withdraw(here, part)
    newer = there.get_or_create("embeddings", "digits", key(a=2), with_part("two")).result.part("cell")
    lines: list[str] = []
    made = here.get_or_create("embeddings", "digits", key(), with_part("three"), log=lines.append).result
    assert lines == []
    assert made.manifest["parts"]["cell"] == {"key": newer.key, "data_version": newer.data_version}
    assert (made.file("rows.txt").read_text(), made.part("cell").file("rows.txt").read_text()) == (
        "three",
        "part of two",
    )


def test_files_that_arrive_short_are_not_published(here: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    upload = type(bucket(here)).upload

    def short(bucket: Any, path: Path, name: str) -> None:
        upload(bucket, path, name)
        bucket.put(name, path.read_bytes()[:1])

    monkeypatch.setattr(type(bucket(here)), "upload", short)
    with pytest.raises(
        StoreError,
        match=r"not published: some files were not uploaded completely \(rows\.txt has 1 bytes instead of 3\); try",
    ):
        make(here)
    assert here.find("embeddings", "digits", key()) is None


def test_a_later_format_is_refused(machine: Machine) -> None:
    store = machine("later")
    bucket(store).put("format.json", b'{"format": 3}')
    with pytest.raises(StoreError, match=r"results in s3://\S+ are of store format 3, which a later version"):
        store.find("embeddings", "digits", key())
    for content, said in {
        b"[]": r"holds \[\], which is not a format of a store",
        b"null": "holds null, which",
        b'{"format": "1"}': r'holds \{"format": "1"\}, which',
        b'{"format": true}': r'holds \{"format": true\}, which',
        b"[" * 100_000: r"cannot be read \(the JSON is nested too deeply\)",
        b"\xff": r"cannot be read \(the text is not UTF-8\)",
    }.items():
        bucket(store).put("format.json", content)
        for use in (lambda: make(store), lambda: store.find("embeddings", "digits", key())):
            with pytest.raises(StoreError, match=rf"s3://\S+/format\.json {said}.*; write {{\"format\": 2}} into it"):
                use()


def test_a_mark_that_cannot_be_read_is_named(here: ResultStore) -> None:
    make(here)
    bucket(here).put("embeddings/digits/current.json", b"{}")
    with pytest.raises(
        StoreError, match=r"embeddings/digits/current\.json cannot be read \(None is not a key\); mater"
    ):
        here.current("embeddings", "digits")


def test_datasets_results_and_sizes_are_listed_from_the_bucket(
    here: ResultStore, there: ResultStore, names: Names
) -> None:
    one = make(here, "12345", a=1)
    two = make(here, "123", a=2)
    make(here, asset="raw_dataset")
    assert list(there.partitions()) == [
        (asset, "digits", there.root / asset / "digits") for asset in ("embeddings", "raw_dataset")
    ]
    assert {result.key for result in there.results("embeddings", "digits")} == {one.key, two.key}
    assert there.size("digits") == sum(each.size for each in bucket(here).objects()) - len('{"format": 2}\n')
    assert there.size("circles") == 0


def test_one_run_of_a_dataset_at_a_time_holds_on_one_machine(here: ResultStore) -> None:
    with here.dataset_lock("digits", what="test"):
        assert (here.root / ".locks" / "digits.json").is_file()


def test_a_folder_that_cannot_be_written_is_named(
    here: ResultStore, there: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(here)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results_module, "flush_folder", full)
    with pytest.raises(
        StoreError, match=r"s3://\S+ cannot be fetched into /\S+ \(No space left on device\); free some space"
    ):
        there.current("embeddings", "digits").file("rows.txt")
    assert list((there.root / "embeddings" / "digits").glob(".fetching/*-*")) == []
