"""Commands where results lie in an object store: those that work there, and those that refuse and say what to do."""

import http.client
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.command_line.main import main
from aflite_assets.command_line.serve import make_server
from aflite_assets.results import Draft, ResultKey, ResultStore
from aflite_assets.results.opening import open_store
from tests.object_stores import backend, bucket


def report(draft: Draft) -> Mapping[str, Any]:
    (draft.path / "report.html").write_text("<h1>made elsewhere</h1>")
    return {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prune"], "aflite prune does not work on the object store {place}; no published result is deleted from"),
        (["pin", "digits"], "aflite pin does not work on the object store {place}; nothing is pruned there"),
        (["pins"], "aflite pin does not work on the object store {place}; nothing is pruned there"),
        (["unpin", "digits"], "aflite pin does not work on the object store {place}; nothing is pruned there"),
        (
            ["backup", "backups"],
            "aflite backup does not work on the object store {place}; copy the bucket and the databases",
        ),
        (
            ["restore", "backups"],
            "aflite restore does not work on the object store {place}; copy the bucket and the databases",
        ),
    ],
)
def test_commands_that_walk_a_folder_refuse(
    here: ResultStore,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    here.get_or_create("benchmark_report", "digits", ResultKey("1", {}, {}), report)
    assert main(arguments) == 1
    assert message.format(place=here.place) in capsys.readouterr().err
    assert not Path("backups").exists()


def test_the_doctor_looks_at_the_bucket(here: ResultStore, capsys: pytest.CaptureFixture[str]) -> None:
    result = here.get_or_create("benchmark_report", "digits", ResultKey("1", {}, {}), report).result
    bucket(here).delete([f"benchmark_report/digits/{result.key}/{result.manifest['attempt']}/report.html"])
    assert main(["doctor", "--fix"]) == 1
    said = capsys.readouterr().out
    assert f"damaged result: {here.place}/benchmark_report/digits/{result.key}: report.html is missing - mended" in said


def test_reports_made_elsewhere_are_served(here: ResultStore) -> None:
    result = here.get_or_create("benchmark_report", "digits", ResultKey("1", {}, {}), report).result
    store = open_store()
    assert store.root != here.root
    with make_server(store, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()

        def ask(path: str) -> tuple[int, str]:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
            connection.request("GET", path)
            answer = connection.getresponse()
            said = answer.status, answer.read().decode()
            connection.close()
            return said

        try:
            assert f'href="/benchmark_report/digits/{result.key}/report.html">digits' in ask("/")[1]
            assert ask(f"/benchmark_report/digits/{result.key}/report.html") == (200, "<h1>made elsewhere</h1>")
            other = here.get_or_create("benchmark_report", "circles", ResultKey("1", {}, {}), report).result
            bucket(here).put("benchmark_report/digits/current.json", b"{}")
            status, said = ask("/")
            assert (status, f"/benchmark_report/circles/{other.key}/" in said) == (200, True)
            lost = f"digits is not shown: {here.place}/benchmark_report/digits/current.json cannot be read"
            assert (lost in said, said.count("<a ")) == (True, 1)
            bucket(here).delete(["benchmark_report/circles/current.json"])
            assert "circles" not in ask("/")[1]
            bucket(here).delete([each.name for each in bucket(here).objects()])
            bucket(here)._client.delete_bucket(Bucket=backend(here).address.bucket)
            status, said = ask("/")
            assert (status, "answers NoSuchBucket" in said) == (502, True)
        finally:
            server.shutdown()
            thread.join()
