"""In a real browser: a page of another origin drives Dagster's own webserver, and cannot drive ours."""

import http.server
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import yaml

from tests.running_dagster import CHROMIUM_FLAGS, REPOSITORY, DagsterServer, chromium_path, free_port, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

SCHEDULE = '{repositoryLocationName: "aflite", repositoryName: "__repository__", scheduleName: "nightly"}'
START = f"mutation {{startSchedule(scheduleSelector: {SCHEDULE}) {{__typename}}}}"
LAUNCH = """mutation {launchRun(executionParams: {mode: "default", runConfigData: "{}", selector: {
    repositoryLocationName: "aflite", repositoryName: "__repository__", pipelineName: "removal"}}) {__typename}}"""
STATE = f"""{{
    scheduleOrError(scheduleSelector: {SCHEDULE}) {{... on Schedule {{scheduleState {{status}}}}}}
    runsOrError {{... on Runs {{results {{runId}}}}}}
    assetNodes {{assetMaterializations {{runId}}}}
}}"""
SUBSCRIBE = {"type": "start", "id": "1", "payload": {"query": "subscription {locationStateChangeEvents {__typename}}"}}

ATTACKS = """async ([target, start, launch, subscribe]) => {
    const shown = {};
    const image = query => new Promise(done => {
        const tag = new Image();
        tag.onload = tag.onerror = done;
        tag.src = `${target}/graphql?query=${encodeURIComponent(query)}`;
    });
    await image(start);
    await image(launch);
    const post = (path, options) => fetch(target + path, {method: 'POST', mode: 'no-cors', ...options}).catch(() => 0);
    const body = JSON.stringify({query: launch});
    await post('/graphql', {body, headers: {'Content-Type': 'text/plain; application/json'}});
    await post('/graphql?query=' + encodeURIComponent(launch), {body: new URLSearchParams({a: '1'})});
    await post('/graphql', {body: new Blob([body])});
    await post('/report_asset_materialization/made', {});
    await post('/report_asset_materialization/made?description=x', {credentials: 'include'});
    navigator.sendBeacon(target + '/graphql?query=' + encodeURIComponent(launch), 'x');
    const cors = {method: 'POST', body, headers: {'Content-Type': 'application/json'}};
    shown.cors = await fetch(target + '/graphql', cors).then(() => 'answered', () => 'refused');
    shown.websocket = await new Promise(done => {
        const socket = new WebSocket(target.replace('http', 'ws') + '/graphql', 'graphql-ws');
        socket.onopen = () => { socket.send(JSON.stringify(subscribe)); done('open'); };
        socket.onerror = () => done('refused');
    });
    for (const [name, method] of [['get', 'GET'], ['post', 'POST']]) {
        const frame = document.createElement('iframe');
        frame.name = name;
        document.body.append(frame);
        const form = document.createElement('form');
        form.target = name;
        form.method = method;
        form.enctype = 'text/plain';
        form.action = target + '/graphql?query=' + encodeURIComponent(launch);
        form.innerHTML = '<input name="query">';
        form.firstChild.value = launch;
        document.body.append(form);
        form.submit();
        await new Promise(done => frame.onload = done);
    }
    const page = document.createElement('iframe');
    page.name = 'page';
    page.src = target + '/runs';
    document.body.append(page);
    await new Promise(done => page.onload = done);
    return shown;
}"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked")
    place = {"relative_path": str(Path(__file__).with_name("attacked.py")), "working_directory": str(REPOSITORY)}
    location = {"python_file": {**place, "location_name": "aflite"}}
    (folder / "workspace.yaml").write_text(yaml.safe_dump({"load_from": [location]}), encoding="utf-8")
    return folder / "workspace.yaml"


@pytest.fixture(scope="module")
def servers(
    chromium: "Browser", workspace: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, DagsterServer]]:
    """Dagster's own webserver and ours over the same definitions, each with an instance of its own."""
    started = {name: DagsterServer(f"http://127.0.0.1:{free_port()}", tmp_path_factory.mktemp(name)) for name in (
        "upstream", "ours")}  # fmt: skip
    environments = {}
    for name, server in started.items():
        (server.root / "dagster").mkdir()
        environments[name] = os.environ | {
            "AFLITE_HOME": str(server.root / "home"), "DAGSTER_HOME": str(server.root / "dagster")
        }  # fmt: skip
    ports = {name: server.url.rpartition(":")[2] for name, server in started.items()}
    upstream = [sys.executable, "-m", "dagster_webserver", "-w", str(workspace), "-p", ports["upstream"]]
    ours = [sys.executable, "-m", "aflite_assets.command_line.main", "web", "-w", str(workspace), "--port"]
    with (
        running(upstream, environments["upstream"], log=started["upstream"].log),
        running([*ours, ports["ours"]], environments["ours"], log=started["ours"].log),
    ):
        for server in started.values():
            server.wait_until(server.answers, seconds=90, what="the webserver answers")
        yield started


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    """The port of a server with one empty page."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>elsewhere</title><body>")

        def log_message(self, format: str, *arguments: Any) -> None:
            """No line per request."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def rebound(chromium: "Browser") -> Iterator["Browser"]:
    """A Chromium to which the name evil.example means this machine, as it does after DNS rebinding."""
    rule = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    started = chromium.browser_type.launch(executable_path=chromium_path(), headless=True, args=[*CHROMIUM_FLAGS, rule])
    yield started
    started.close()


def state(server: DagsterServer) -> tuple[str, int, int]:
    """Whether the schedule runs, how many runs were queued, and how many materialisations were reported."""
    found = server.ask(STATE)
    (asset,) = found["assetNodes"]
    return (
        found["scheduleOrError"]["scheduleState"]["status"],
        len(found["runsOrError"]["results"]),
        len(asset["assetMaterializations"]),
    )


def attack(browser: "Browser", server: DagsterServer, origin: str) -> tuple[dict[str, str], set[str]]:
    """What a page of another origin saw of its attacks, and the names of the frames that showed Dagster."""
    page: Page = browser.new_page()
    page.goto(f"{origin}/")
    seen: dict[str, str] = page.evaluate(ATTACKS, [server.url, START, LAUNCH, SUBSCRIBE])
    framed = {frame.name for frame in page.frames if frame.url.startswith(server.url)}
    page.close()
    return seen, framed


def test_dagsters_own_webserver_does_what_any_page_asks(
    chromium: "Browser", servers: dict[str, DagsterServer], elsewhere: int
) -> None:
    """Upstream's behaviour, as long as it lasts: what the attacks below would do."""
    upstream = servers["upstream"]
    assert state(upstream) == ("STOPPED", 0, 0)
    seen, framed = attack(chromium, upstream, f"http://127.0.0.1:{elsewhere}")
    status, runs, reported = state(upstream)
    assert (status, reported) == ("RUNNING", 2)
    assert runs >= 4
    assert seen == {"cors": "refused", "websocket": "open"}
    assert "page" in framed


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_ours_refuses_pages_of_other_origins(
    chromium: "Browser", servers: dict[str, DagsterServer], elsewhere: int, name: str
) -> None:
    ours = servers["ours"]
    seen, framed = attack(chromium, ours, f"http://{name}:{elsewhere}")
    assert state(ours) == ("STOPPED", 0, 0)
    assert seen == {"cors": "refused", "websocket": "refused"}
    assert framed == set()
    assert "refused GET '/graphql'" in ours.log.read_text()


def test_ours_refuses_names_that_are_made_to_point_here(rebound: "Browser", servers: dict[str, DagsterServer]) -> None:
    ours = servers["ours"]
    port = ours.url.rpartition(":")[2]
    page = rebound.new_page()
    answer = page.goto(f"http://evil.example:{port}/")
    assert answer is not None
    assert (answer.status, "Host 'evil.example" in answer.text()) == (421, True)
    headers = "{'Content-Type': 'application/json'}"
    send = f"async body => (await fetch('/graphql', {{method: 'POST', body, headers: {headers}}})).status"
    assert page.evaluate(send, json.dumps({"query": START})) == 421
    page.close()
    assert state(ours) == ("STOPPED", 0, 0)


def test_a_link_to_a_mutation_runs_nothing(
    chromium: "Browser", servers: dict[str, DagsterServer], elsewhere: int
) -> None:
    ours = servers["ours"]
    page = chromium.new_page()
    page.goto(f"http://127.0.0.1:{elsewhere}/")
    with page.expect_navigation() as link:
        page.evaluate(f"location.href = '{ours.url}/graphql?query={quote(START)}'")
    assert link.value is not None
    assert link.value.status == 405
    with page.expect_navigation() as link:
        page.evaluate(f"location.href = '{ours.url}/runs'")
    assert link.value is not None
    assert link.value.status == 200
    page.close()
    assert state(ours) == ("STOPPED", 0, 0)
