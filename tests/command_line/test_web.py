"""`aflite web`: what it refuses at once, and what it starts and leaves nothing of."""

import os
import re
import signal
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from aflite_assets.automation.web.server import WebSettings
from aflite_assets.command_line.main import main
from aflite_assets.errors import InvalidInputError
from tests.running_dagster import running

Found = TypeVar("Found")
WEB = [sys.executable, "-m", "aflite_assets.command_line.main", "web", "--dev", "--port", "0"]
SMALL = ["-m", "tests.automation.web.attacked"]
"""Definitions that load in half the time of the project's own, where it does not matter what is served."""


def test_a_history_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web"]) == 1
    assert capsys.readouterr().err == (
        "`DAGSTER_HOME` is not set, so there is no run history to show; set `DAGSTER_HOME` to the folder that "
        "your runs use, or try "
        "`aflite web --dev`\n"
    )


def test_dev_has_a_code_location_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web", "--dev", "--workspace", "w.yaml"]) == 1
    assert capsys.readouterr().err == (
        "`--dev` starts its own code location and cannot be combined with `--workspace`; "
        "leave out `--workspace w.yaml`\n"
    )


def test_a_taken_port_and_a_missing_workspace_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["web", "--port", str(port)]) == 1
    assert re.fullmatch(
        rf"Dagster cannot be served on 127\.0\.0\.1:{port} \(.*in use.*\); end what uses the port, or give another by "
        r"--port\n",
        capsys.readouterr().err,
    )
    assert main(["web", "--port", "0", "-w", str(tmp_path / "none.yaml")]) == 1
    assert (
        capsys.readouterr().err == f"the workspace '{tmp_path}/none.yaml' is not a file; give one with `--workspace`\n"
    )


def test_hosts_are_this_machines_and_those_that_were_named(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"127.0.0.1", "localhost", "::1"}
    assert WebSettings().hosts() == own
    assert WebSettings(host="0.0.0.0").hosts() == own
    assert WebSettings(host="10.0.0.7", allowed_hosts=("Dagster.Lab", "[fe80::1]")).hosts() == own | {
        "10.0.0.7", "dagster.lab", "fe80::1"
    }  # fmt: skip
    assert WebSettings().origins() == frozenset()
    for address in ("https://Dagster.example.org/prefix", "https://dagster.example.org:443"):
        monkeypatch.setenv("AFLITE_DAGSTER_URL", address)
        assert WebSettings().hosts() == own | {"dagster.example.org"}
        assert WebSettings().origins() == {"https://dagster.example.org"}
    monkeypatch.setenv("AFLITE_DAGSTER_URL", "http://127.0.0.1:3000")  # may be another program's by now
    assert WebSettings(port=3001).origins() == frozenset()


@pytest.mark.parametrize(
    "name",
    ["", "[]", "*", "lan.example:3000", "http://lan.example", "b\xfccher.example", " lan.example", "[::1]:3", "a b"],
)
def test_hosts_that_no_browser_sends_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="is no host name as browsers send it; give it without scheme, port"):
        WebSettings(allowed_hosts=(name,))


@pytest.mark.parametrize("port", [-1, 65536])
def test_ports_are_those_of_tcp(port: int) -> None:
    with pytest.raises(InvalidInputError, match=rf"the port is {port}; give one from 0 \(any that is free\) to 65535"):
        WebSettings(port=port)


@contextmanager
def dagster(tmp_path: Path, *options: str) -> Iterator[tuple[psutil.Process, str, Path]]:
    """`aflite web --dev` without DAGSTER_HOME: its process, its address, and where its temporary folders are."""
    (tmp_path / "temporary").mkdir()
    # Sockets have short names.
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"AFLITE_HOME": str(tmp_path / "home"), "TMPDIR": folder}
        environment.pop("DAGSTER_HOME", None)
        log = tmp_path / "log"
        with running([*WEB, *options], environment, log=log) as process:
            found = wait_for(lambda: re.search(r"Dagster at (\S+)", log.read_text()), log)
            assert "DAGSTER_HOME is not set: Dagster's history of this command is temporary" in log.read_text()
            yield psutil.Process(process.pid), found[1], Path(folder)


def wait_for(condition: Callable[[], Found | None], log: Path | None = None) -> Found:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.1)
    pytest.fail(log.read_text() if log else "not within three minutes")


def _status(address: str) -> int | None:
    """Return the status of a page; None while the server, which has said its address, does not listen yet."""
    try:
        return int(urllib.request.urlopen(address, timeout=10).status)
    except urllib.error.URLError:
        return None


def test_nothing_is_left_when_it_is_told_to_end(tmp_path: Path) -> None:
    # Both at once: a code server that was still loading ends by itself, half a minute later, without a heartbeat.
    (tmp_path / "told").mkdir()
    (tmp_path / "interrupted").mkdir()
    with dagster(tmp_path / "told") as told, dagster(tmp_path / "interrupted", *SMALL) as interrupted:
        started = []
        for process, address, _ in (told, interrupted):
            assert wait_for(partial(_status, f"{address}/server_info")) == 200
            children = process.children(recursive=True)
            assert len(children) >= 4  # code server, what it starts, webserver, daemon
            started += children
        for (process, _, _), number in ((told, signal.SIGTERM), (interrupted, signal.SIGINT)):
            process.send_signal(number)
        assert (told[0].wait(30), interrupted[0].wait(30)) == (143, 0)
        _, alive = psutil.wait_procs(started, 120)
        assert alive == []
        assert [list(folder.iterdir()) for _, _, folder in (told, interrupted)] == [[], []]


def test_no_code_server_is_left_by_an_interrupt_while_it_loads(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
    with running([*WEB, *SMALL], environment | {"AFLITE_HOME": str(tmp_path / "home")}, log=log) as process:
        parent = psutil.Process(process.pid)
        # The code server, and the process in which it loads the definitions.
        wait_for(lambda: len(parent.children(recursive=True)) == 2)
        started = parent.children(recursive=True)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        _, alive = psutil.wait_procs(started, 10)
        assert alive == []
    assert "main.py" not in log.read_text()  # no traceback of the command


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["dagster._daemon", "aflite_assets.automation.web.server"])
def test_a_lost_service_ends_all(tmp_path: Path, lost: str) -> None:
    with dagster(tmp_path, *SMALL) as (process, _, _):
        (found,) = wait_for(lambda: [child for child in process.children() if lost in child.cmdline()])
        found.kill()
        assert process.wait(60) == 1
    assert "one of Dagster's processes was lost; see what it printed above" in (tmp_path / "log").read_text()


@pytest.mark.slow
def test_its_processes_end_with_it_when_it_is_killed(tmp_path: Path) -> None:
    with dagster(tmp_path, *SMALL) as (process, _, _):
        started = process.children(recursive=True)
        process.kill()
        _, alive = psutil.wait_procs(started, 120)  # what the code server started notices after half a minute
        assert alive == []
