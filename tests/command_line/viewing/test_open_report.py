"""What `aflite open` opens, prints and refuses."""

import http.client
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from aflite_assets.command_line.main import main
from aflite_assets.command_line.serve import ResultServer, make_server
from aflite_assets.command_line.viewing import open_report
from aflite_assets.results import Draft, ResultKey, ResultStore

KEY = ResultKey("1", {}, {})


@pytest.fixture
def page(home: Path) -> Path:
    """The page of the only report, that of the dataset `digits`."""

    def write(draft: Draft) -> dict[str, int]:
        (draft.path / "report.html").write_text("<h1>report</h1>", encoding="utf-8")
        return {}

    store = ResultStore(home / "results")
    return store.get_or_create("benchmark_report", "digits", KEY, write).result.path / "report.html"


def test_print_gives_the_path_or_the_address_that_is_set(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["open", "digits", "--print"]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    monkeypatch.setenv("AFLITE_RESULTS_URL", "http://127.0.0.1:3333")
    assert main(["open", "digits", "--print"]) == 0
    assert capsys.readouterr().out == f"http://127.0.0.1:3333/benchmark_report/digits/{KEY.digest}/report.html\n"


@pytest.mark.parametrize("starts", [True, False])
def test_the_address_that_the_browser_gets_is_served_on_the_loopback_address(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, starts: bool
) -> None:
    answers: list[tuple[str, int, bytes]] = []
    servers: list[ResultServer] = []

    def make(root: Path, port: int, **settings: Any) -> ResultServer:
        servers.append(make_server(root, port, **settings))
        return servers[-1]

    monkeypatch.setattr(open_report, "make_server", make)

    def read(address: str) -> None:
        parts = urlsplit(address)
        connection = http.client.HTTPConnection(parts.netloc, timeout=10)
        connection.request("GET", parts.path)
        answer = connection.getresponse()
        answers.append((str(parts.hostname), answer.status, answer.read()))
        connection.close()
        servers[0].shutdown()

    def browse(address: str) -> bool:
        threading.Thread(target=read, args=(address,)).start()
        return starts

    monkeypatch.setattr(open_report.webbrowser, "open", browse)
    assert main(["open", "digits"]) == 0
    assert answers == [("127.0.0.1", 200, b"<h1>report</h1>")]
    out = capsys.readouterr().out
    address = f"{servers[0].address}/benchmark_report/digits/{KEY.digest}/report.html"
    assert out.startswith(f"Report of digits at {address} (Ctrl+C ends)\n")
    assert ("open the address by hand" in out) is not starts


def test_what_cannot_be_opened_is_named_with_what_to_do(
    page: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", "marked_digit", "--print"]) == 1
    assert "no dataset is named 'marked_digit'; did you mean 'marked_digits'?" in capsys.readouterr().err
    assert main(["open", "marked_digits", "--print"]) == 1
    said = (
        f"dataset 'marked_digits' has no report yet below {home}/results; make one with `aflite refresh marked_digits`"
    )
    assert said in capsys.readouterr().err
    page.write_text("<h1>retort</h1>", encoding="utf-8")
    assert main(["open", "digits", "--print"]) == 1
    error = capsys.readouterr().err
    assert "is not what was published (report.html has other content); make it again" in error
