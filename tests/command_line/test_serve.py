"""What `aflite serve` answers, and everything that it does not."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from aflite_assets.command_line.main import main
from aflite_assets.command_line.serve import ResultServer, index_page, make_server
from aflite_assets.results import Draft, ResultKey, ResultStore

RESULT = ResultKey("1", {}, {})
KEY = RESULT.digest
REPORT = f"benchmark_report/digits/{KEY}/report.html"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Results with a report and a picture; a secret beside them, and ways to it."""
    root = tmp_path / "results"
    folder = (root / REPORT).parent

    def write(draft: Draft) -> dict[str, int]:
        (draft.path / "figures").mkdir()
        (draft.path / "report.html").write_text("<h1>report</h1>")
        (draft.path / "figures" / "curve of a.png").write_bytes(b"\x89PNG")
        (draft.path / "other.html").write_text("<script>1</script>")
        (draft.path / "rows.parquet").write_bytes(b"PAR1")
        return {}

    ResultStore(root).get_or_create("benchmark_report", "digits", RESULT, write)
    (root / ".hidden").write_text("hidden")
    (folder.parent / ".work").mkdir(exist_ok=True)
    (folder.parent / ".work" / "draft.json").write_text("{}")
    (tmp_path / "secret.json").write_text("secret")
    (root / "link.json").symlink_to(tmp_path / "secret.json")
    (root / "linked").symlink_to(tmp_path)
    (root / "inside.json").symlink_to(folder.parent / "current.json")
    (root / "circle").symlink_to(root / "circle")
    return root


@pytest.fixture
def server(root: Path) -> Iterator[ResultServer]:
    with make_server(ResultStore(root), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(server: ResultServer, path: str, *, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def test_a_report_is_served_and_runs_only_its_own_scripts(server: ResultServer) -> None:
    status, headers, body = ask(server, f"/{REPORT}?x=1")
    assert (status, body, headers["content-type"]) == (200, b"<h1>report</h1>", "text/html; charset=utf-8")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-scripts allow-downloads" in policy
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy
    assert (headers["x-content-type-options"], headers["referrer-policy"]) == ("nosniff", "no-referrer")
    assert headers["server"] == "aflite "


def test_other_pages_run_nothing_and_unknown_files_are_saved(server: ResultServer) -> None:
    _, headers, _ = ask(server, f"/{Path(REPORT).parent}/other.html")
    assert headers["content-security-policy"].endswith("; sandbox")
    assert "script-src" not in headers["content-security-policy"]
    _, headers, body = ask(server, f"/{Path(REPORT).parent}/rows.parquet")
    assert (headers["content-type"], headers["content-disposition"]) == ("application/octet-stream", "attachment")
    assert body == b"PAR1"


def test_only_pictures_may_stand_in_other_pages(server: ResultServer) -> None:
    _, picture, body = ask(server, f"/{Path(REPORT).parent}/figures/curve%20of%20a.png")
    assert (body, picture["content-type"]) == (b"\x89PNG", "image/png")
    assert picture["cross-origin-resource-policy"] == "cross-origin"
    _, report, _ = ask(server, f"/{REPORT}")
    assert report["cross-origin-resource-policy"] == "same-origin"


def test_head_has_no_body(server: ResultServer) -> None:
    status, headers, body = ask(server, f"/{REPORT}", method="HEAD")
    assert (status, body, headers["content-length"]) == (200, b"", "15")


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.json",
        "/..%2fsecret.json",
        "/%2e%2e/secret.json",
        "/benchmark_report/../../secret.json",
        "/benchmark_report/%2e%2e%2f%2e%2e%2fsecret.json",
        "/..\\secret.json",
        "/..%5csecret.json",
        "//etc/passwd",
        "/%2fetc%2fpasswd",
        "http://127.0.0.1/../secret.json",
        "/link.json",
        "/linked/secret.json",
        "/inside.json",
        "/circle",
        "/.hidden",
        "/benchmark_report/digits/.work/draft.json",
        "/benchmark_report",
        "/benchmark_report/",
        f"/benchmark_report/digits/{KEY}",
        f"/{REPORT}/",
        f"/{REPORT}%00",
        "/missing.json",
        "/" + "a" * 5000,
    ],
)
def test_nothing_else_is_served(server: ResultServer, path: str) -> None:
    status, headers, body = ask(server, path)
    assert (status, body) == (404, b"This result does not exist; / lists the current reports.\n")
    assert headers["content-security-policy"].endswith("; sandbox")


def test_an_invalid_address_is_answered(server: ResultServer) -> None:
    assert ask(server, "http://[x", Host="127.0.0.1")[0] == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:3333", "127.0.0.1.evil.example", "", "[::1", "0.0.0.0"])
def test_a_name_that_another_site_points_here_gets_nothing(server: ResultServer, host: str) -> None:
    for path in ("/", f"/{REPORT}"):
        status, _, body = ask(server, path, Host=host)
        assert status == 421
        assert body.startswith(b"Open http://127.0.0.1:")


@pytest.mark.parametrize("host", ["localhost:3333", "127.0.0.1", "LOCALHOST"])
def test_this_machines_names_are_served_whatever_the_port(server: ResultServer, host: str) -> None:
    assert ask(server, f"/{REPORT}", Host=host)[0] == 200


def test_the_host_of_the_address_told_is_served(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_RESULTS_URL", "https://results.example/aflite")
    with make_server(ResultStore(root), 0) as server:
        assert server.hosts == {"127.0.0.1", "localhost", "results.example"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_is_written(server: ResultServer, method: str) -> None:
    assert ask(server, f"/{REPORT}", method=method)[0] == 501
    assert (server.root / REPORT).read_text() == "<h1>report</h1>"


def test_only_this_machine_is_answered(server: ResultServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_the_start_page_links_current_reports(server: ResultServer, tmp_path: Path) -> None:
    status, headers, body = ask(server, "/")
    assert status == 200
    assert f'<a href="/{REPORT}">digits</a>'.encode() in body
    assert "script" not in headers["content-security-policy"]
    assert "There are no reports yet; materialise benchmark_report." in index_page(ResultStore(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (b'{"key": "', "Unterminated string"),
        (b"", "Expecting value"),
        (b"[]", "the content is not a JSON object"),
        (b"null", "the content is not a JSON object"),
        (b"{}", "None is not a key"),
        (b'{"key": "../../x"}', "&#x27;../../x&#x27; is not a key"),
        (b'{"key": "<script>"}', "&#x27;&lt;script&gt;&#x27; is not a key"),
        (b'{"key": ["0a1b"]}', "is not a key"),
        (b"\xff\xfe", "the text is not UTF-8"),
        (b"[" * 100_000, "the JSON is nested too deeply"),
    ],
)
def test_a_damaged_mark_is_named_beside_the_others(server: ResultServer, mark: bytes, said: str) -> None:
    broken = server.root / "benchmark_report" / "broken"
    broken.mkdir()
    (broken / "current.json").write_bytes(mark)
    status, _, body = ask(server, "/")
    assert status == 200
    page = body.decode()
    assert f'<li><a href="/{REPORT}">digits</a></li>' in page
    assert f"<li>broken is not shown: {server.root}/benchmark_report/broken/current.json cannot be read (" in page
    assert said in page
    assert "materialise benchmark_report of &#x27;broken&#x27; again</li>" in page
    assert page.count("<a ") == 1
    assert "<script" not in page


@pytest.mark.parametrize("kind", ["folder", "pipe", "missing", "link out of the store", "linked dataset", "odd name"])
def test_a_report_that_lies_elsewhere_is_not_linked(server: ResultServer, tmp_path: Path, kind: str) -> None:
    broken = server.root / "benchmark_report" / ("<b>" if kind == "odd name" else "broken")
    outside = tmp_path / "outside" / KEY
    outside.mkdir(parents=True)
    (outside / "report.html").write_text("outside")
    (outside / "manifest.json").write_text("{}")
    (outside.parent / "current.json").write_text(json.dumps({"key": KEY}))
    if kind == "linked dataset":
        broken.symlink_to(outside.parent)
    else:
        broken.mkdir()
    if kind == "folder":
        (broken / "current.json").mkdir()
    elif kind == "pipe":
        os.mkfifo(broken / "current.json")
    elif kind != "linked dataset":
        (broken / "current.json").write_text(json.dumps({"key": KEY}))
    if kind == "link out of the store":
        (broken / KEY).symlink_to(outside)
    page = ask(server, "/")[2].decode()
    expected = {
        "folder": "current.json cannot be read (the path is not a regular file)",
        "pipe": "current.json cannot be read (the path is not a regular file)",
        "odd name": "",
        "missing": f"{server.root}/benchmark_report/broken/{KEY}; materialise it again",
    }.get(kind, "of &#x27;broken&#x27; differs from the published report (its page is missing); run `aflite refresh")
    assert expected in page
    assert f'<a href="/{REPORT}">digits</a>' in page
    assert page.count("<a ") == 1
    assert "<b>" not in page


def test_a_browser_that_leaves_is_no_error(server: ResultServer, capfd: pytest.CaptureFixture[str]) -> None:
    (server.root / "large.json").write_bytes(b" " * (8 << 20))
    with socket.create_connection(server.server_address[:2]) as connection:  # type: ignore[arg-type]
        connection.sendall(b"GET /large.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connection.recv(100)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    assert ask(server, "/")[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_port_that_is_taken_is_named(server: ResultServer, capsys: pytest.CaptureFixture[str]) -> None:
    port = server.server_address[1]
    assert main(["serve", "--port", str(port)]) == 1
    assert f"results cannot be served on 127.0.0.1:{port}" in capsys.readouterr().err


def test_the_command_says_where_and_ends_by_interruption(home: Path) -> None:
    command = [sys.executable, "-m", "aflite_assets.command_line.main", "serve", "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "AFLITE_HOME": str(home)},
        # Where this test runs in the background, interruptions are ignored, and a child would ignore them too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith(f"Results of {home}/results at http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_report_that_was_edited_is_not_shown(server: ResultServer) -> None:
    (server.root / REPORT).write_text("<h1>retort</h1>")
    damage = "the content of report.html has changed"
    status, _, body = ask(server, f"/{REPORT}")
    assert (status, body.decode()) == (409, f"This report differs from the published report: {damage}.\n")
    _, _, page = ask(server, "/")
    assert f"({damage}); run `aflite refresh digits` to write the report again</li>" in page.decode()


def test_a_report_is_opened_by_the_name_of_its_dataset(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFLITE_HOME", str(root.parent))
    assert main(["open", "digits", "--print"]) == 0
    assert capsys.readouterr().out == f"{root.resolve() / REPORT}\n"
    opened: list[str] = []

    def browse(address: str) -> None:
        opened.append(address)
        raise KeyboardInterrupt  # as a person does who has seen enough

    monkeypatch.setattr("webbrowser.open", browse)
    assert main(["open", "digits"]) == 0
    (address,) = opened
    assert address.startswith("http://127.0.0.1:")
    assert address.endswith(f"/{REPORT}")
    assert capsys.readouterr().out == f"digits at {address} (Ctrl+C ends)\n"


@pytest.mark.parametrize("name", ["digit", "../digits", "<b>"])
def test_a_dataset_without_a_report_is_named_with_those_that_have_one(
    root: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFLITE_HOME", str(root.parent))
    assert main(["open", name]) == 1
    said = capsys.readouterr().err
    assert (
        f"{name!r} has no report in {root}; run `aflite refresh {name}` to write the report; available reports: digits"
        in said
    )


def test_a_report_that_was_edited_is_not_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFLITE_HOME", str(root.parent))
    (root / REPORT).write_text("<h1>retort</h1>")
    assert main(["open", "digits"]) == 1
    assert (
        "'digits' differs from the published report (the content of report.html has changed" in capsys.readouterr().err
    )
