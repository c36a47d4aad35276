"""The guard passes on what a page of its own origin may send, and nothing that another page can make a browser send."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from aflite_assets.automation.web.guard import BrowserGuard

HOST = "127.0.0.1:3000"
OWN = {"origin": f"http://{HOST}", "content-type": "application/json"}
MUTATION = "mutation {startSchedule {x}}"


class Behind:
    """An application that counts what reaches it, and answers with the body that it was sent."""

    def __init__(self) -> None:
        self.reached = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached += 1
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        body, has_more = b"", True
        while has_more:
            message = await receive()
            body, has_more = body + message.get("body", b""), message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-security-policy", b"x 'y'")]})
        await send({"type": "http.response.body", "body": body})


def sent(
    guard: BrowserGuard,
    method: str = "GET",
    path: str = "/graphql",
    *,
    query: str = "",
    headers: Mapping[str, str] | tuple[tuple[str, str], ...] = (),
    body: bytes = b"",
    kind: str = "http",
    host: str | None = HOST,
) -> list[dict[str, Any]]:
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    named = [("host", host)] if host is not None else []
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in (*named, *pairs)],
    }
    answer: list[dict[str, Any]] = []
    # In two pieces, as a server may hand it over.
    waiting = [{"type": "http.request", "body": body[7:], "more_body": False},
               {"type": "http.request", "body": body[:7], "more_body": True}]  # fmt: skip

    async def receive() -> dict[str, Any]:
        return waiting.pop() if waiting and kind == "http" else {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        answer.append(message)

    asyncio.run(guard(scope, receive, send))
    return answer


def status(answer: list[dict[str, Any]]) -> int:
    found: int = answer[0]["status"]
    return found


def text(answer: list[dict[str, Any]]) -> str:
    body: bytes = answer[1]["body"]
    return body.decode()


@pytest.fixture
def behind() -> Behind:
    return Behind()


@pytest.fixture
def guard(behind: Behind) -> BrowserGuard:
    return BrowserGuard(behind, hosts={"127.0.0.1", "localhost", "::1"}, origins={"https://dagster.example.org"})


@pytest.mark.parametrize("host", [HOST, "localhost", "LOCALHOST:1", "[::1]:3000", "127.0.0.1:"])
def test_known_hosts_are_served(guard: BrowserGuard, host: str) -> None:
    assert status(sent(guard, path="/", host=host)) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:3000", "127.0.0.1.evil.example", "localhost.evil.example:3000", "", None,
        "evil.example@127.0.0.1", "127.0.0.1@evil.example", "127.0.0.1, evil.example", "127.0.0.1:3000:3000",
        "[::1", "::1", "0x7f.1", "2130706433", "127.0.0.1/evil.example", "127.0.0.1#",
    ],
)  # fmt: skip
def test_other_hosts_are_refused(guard: BrowserGuard, behind: Behind, host: str | None) -> None:
    answer = sent(guard, path="/", host=host)
    assert (status(answer), behind.reached) == (421, 0)
    assert "is not served, but 127.0.0.1, ::1, localhost; open one of these" in text(answer)
    assert status(sent(guard, kind="websocket", host=host, headers={"origin": f"http://{host}"})) == 421


def test_two_hosts_are_refused(guard: BrowserGuard, behind: Behind) -> None:
    assert status(sent(guard, path="/", headers={"host": "evil.example"})) == 421
    assert behind.reached == 0


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", 200),
        ("query={a}", 405),
        (f"query={MUTATION}", 405),
        ("query=%6dutation%7Ba%7D", 405),
        ("%71uery=mutation{a}", 405),
        ("other=1&query=mutation{a}", 405),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_graphql_is_not_answered_by_get(
    guard: BrowserGuard, behind: Behind, method: str, query: str, expected: int
) -> None:
    answer = sent(guard, method, query=query, headers={"sec-fetch-site": "same-origin"})
    assert (status(answer), behind.reached) == (expected, int(expected == 200))
    if expected == 405:
        assert text(answer) == "GraphQL is not answered by GET; send it by POST.\n"


@pytest.mark.parametrize("path", ["/graphql", "/graphql/", "//graphql", "/prefix/graphql", "/GraphQL", "/./graphql"])
def test_no_spelling_of_the_path_lets_a_mutation_through(guard: BrowserGuard, path: str) -> None:
    assert status(sent(guard, path=path, query=f"query={MUTATION}", headers={"origin": f"http://{HOST}"})) == 405


def test_a_page_that_names_another_origin_loads_nothing(guard: BrowserGuard) -> None:
    assert status(sent(guard, path="/", headers={"origin": f"http://{HOST}"})) == 200
    assert status(sent(guard, path="/", headers={"origin": "http://evil.example"})) == 403


def test_pages_may_have_a_query_of_their_own(guard: BrowserGuard) -> None:
    assert status(sent(guard, path="/runs", query="query=status:failed")) == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "object"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, 403),
    ],
)
def test_other_origins_may_link_and_load_nothing(guard: BrowserGuard, headers: dict[str, str], expected: int) -> None:
    assert status(sent(guard, path="/runs", headers=headers)) == expected


@pytest.mark.parametrize("path", ["/notebook", "/dagit/notebook"])
def test_notebooks_are_not_shown(guard: BrowserGuard, path: str) -> None:
    answer = sent(guard, path=path, query="path=a.ipynb", headers={"sec-fetch-site": "same-origin"})
    assert status(answer) == 403
    assert text(answer) == "Notebooks are not shown: their scripts would run as this server's.\n"


def test_no_name_is_no_host(behind: Behind) -> None:
    guard = BrowserGuard(behind, hosts={"", "localhost"})
    for host in ("", "-x.example", "a+b.example", "a~b.example", "localhost\xa0"):
        assert status(sent(guard, path="/", host=host)) == 421
    assert behind.reached == 0


def test_under_a_proxys_name_its_scheme_alone_is_this_origin(behind: Behind) -> None:
    guard = BrowserGuard(behind, hosts={"lan.example"}, origins={"https://lan.example"})
    for origin, expected in (("https://lan.example", "accept"), ("http://lan.example", "http.response.start")):
        answer = sent(guard, kind="websocket", host="lan.example", headers={"origin": origin})
        assert answer[0]["type"] == f"websocket.{expected}"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "http://127.0.0.1:3000", "content-type": "Application/JSON; charset=utf-8"}, 200),
        ({"origin": "https://dagster.example.org"}, 200),
        ({"origin": None, "sec-fetch-site": "same-origin"}, 403),
        ({"origin": None}, 403),
        ({"origin": None, "sec-fetch-site": "none"}, 403),
        ({"origin": None, "sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, 403),
        ({"origin": ""}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1"}, 403),
        ({"origin": "http://127.0.0.1:5000"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "http://127.0.0.1:3000.evil.example"}, 403),
        ({"origin": "http://evil.example/127.0.0.1:3000"}, 403),
        ({"origin": "http://evil@127.0.0.1:3000"}, 403),
        ({"origin": "http://127.0.0.1:3000/"}, 403),
        ({"origin": "file://127.0.0.1:3000"}, 403),
        ({"origin": "http://[127.0.0.1:3000"}, 403),
        ({"origin": "http://127.0.0.1:3000 http://evil.example"}, 403),
        ({"origin": "https://dagster.example.org.evil.example"}, 403),
    ],
)
@pytest.mark.parametrize("path", ["/graphql", "/report_asset_materialization/raw_dataset"])
def test_post_is_of_this_origin(
    guard: BrowserGuard, behind: Behind, path: str, changed: dict[str, str | None], expected: int
) -> None:
    headers = {name: value for name, value in {**OWN, **changed}.items() if value is not None}
    assert status(sent(guard, "POST", path, headers=headers, body=b"{}")) == expected
    assert behind.reached == int(expected == 200)


@pytest.mark.parametrize("name", ["origin", "sec-fetch-site"])
def test_a_header_that_stands_twice_is_refused(guard: BrowserGuard, behind: Behind, name: str) -> None:
    other = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}[name]
    headers = tuple({**OWN, "sec-fetch-site": "same-origin"}.items())
    for pairs in ((*headers, (name, other)), ((name, other), *headers)):
        assert status(sent(guard, "POST", headers=pairs, body=b"{}")) == 403
    assert behind.reached == 0


def test_a_refusal_says_what_came_and_what_a_program_sends(guard: BrowserGuard) -> None:
    answer = sent(guard, "POST", headers={"content-type": "application/json", "origin": "http://evil.example"})
    assert text(answer) == (
        "Origin is 'http://evil.example', which is not this server's page; a program sends the header Origin: "
        "http://127.0.0.1:3000.\n"
    )


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
def test_other_methods_are_refused(guard: BrowserGuard, behind: Behind, method: str) -> None:
    assert (status(sent(guard, method, headers=OWN)), behind.reached) == (405, 0)


@pytest.mark.parametrize(
    ("headers", "is_accepted"),
    [
        ({"origin": f"http://{HOST}"}, True),
        ({"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}, True),
        ({}, False),
        ({"sec-fetch-site": "same-origin"}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "http://127.0.0.1:5000"}, False),
        ({"origin": "null"}, False),
        ({"origin": f"http://{HOST}", "sec-fetch-site": "cross-site"}, False),
    ],
)
def test_websockets_are_of_this_origin(
    guard: BrowserGuard, behind: Behind, headers: dict[str, str], is_accepted: bool
) -> None:
    answer = sent(guard, kind="websocket", headers=headers)
    assert answer[0]["type"] == ("websocket.accept" if is_accepted else "websocket.http.response.start")
    assert behind.reached == int(is_accepted)


def test_a_read_only_server_takes_no_reports(behind: Behind) -> None:
    """Mutations are refused by Dagster itself, which is started read-only too."""
    guard = BrowserGuard(behind, hosts={"127.0.0.1"}, read_only=True)
    assert status(sent(guard, "POST", headers=OWN, body=b"{}")) == 200
    for path in ("/report_asset_materialization/raw_dataset", "/report_asset_check/graphql", "/graphql/"):
        answer = sent(guard, "POST", path, headers=OWN, body=b"{}")
        assert (status(answer), behind.reached) == (403, 1)
        assert "was started with --read-only" in text(answer)


def test_answers_cannot_be_framed_or_loaded_elsewhere(guard: BrowserGuard) -> None:
    for answer in (sent(guard, path="/"), sent(guard, path="/", host="evil.example")):
        headers = answer[0]["headers"]
        assert (b"x-frame-options", b"SAMEORIGIN") in headers
        assert (b"cross-origin-resource-policy", b"same-origin") in headers
        assert (b"content-security-policy", b"frame-ancestors 'self'") in headers
    assert (b"content-security-policy", b"x 'y'") in sent(guard, path="/")[0]["headers"]


def test_refusals_are_logged_with_what_was_asked(guard: BrowserGuard, caplog: pytest.LogCaptureFixture) -> None:
    sent(guard, "POST", "/graphql\x1b[2J", headers={**OWN, "origin": "http://evil.example"})
    (line,) = caplog.records
    assert line.levelname == "WARNING"
    assert line.getMessage().startswith("refused POST '/graphql\\x1b[2J': Origin is 'http://evil.example'")
