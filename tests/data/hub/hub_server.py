"""A hub of the test's own: serves folders as repositories, the way `huggingface_hub` asks for them."""

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_API = re.compile(
    r"/api/(?P<kind>dataset|model)s/(?P<id>[^/]+/[^/]+)/(?P<what>revision|tree|paths-info|auth-check)/?(?P<rest>.*)"
)
_FILE = re.compile(r"/(?P<kind>dataset)s/(?P<id>[^/]+/[^/]+)/resolve/(?P<rest>.+)")


class _Refused(Exception):
    def __init__(self, status: int, code: str = "", message: str = "") -> None:
        self.status, self.headers = status, {"X-Error-Code": code, "X-Error-Message": message}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are noted in a file instead."""

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        try:
            url = urlsplit(self.path)
            if found := _API.fullmatch(url.path):
                self._answer(json.dumps(self._api(found, parse_qs(url.query), parse_qs(body))).encode(), {})
            elif found := _FILE.fullmatch(url.path):
                self._file(found)
            else:
                raise _Refused(404)
        except _Refused as refusal:
            self._answer(b"{}", refusal.headers, status=refusal.status)

    def _api(self, found: re.Match[str], query: dict[str, list[str]], form: dict[str, list[str]]) -> Any:
        repository = self._repository(found, gate=found["what"] == "auth-check")
        if found["what"] == "auth-check":
            return {}
        revision, _, path = found["rest"].partition("/")
        commit = self._commit(repository, unquote(revision))
        match found["what"]:
            case "revision":
                return {"id": found["id"], "sha": commit}
            case "tree":
                folder = repository / "commits" / commit / unquote(path)
                if not folder.is_dir():
                    raise _Refused(404, "EntryNotFound")
                deep = query.get("recursive", ["false"])[0].lower() == "true"
                return [_entry(entry, repository / "commits" / commit) for entry in _listed(folder, deep)]
        root = repository / "commits" / commit
        return [_entry(root / name, root) for name in form["paths"] if (root / name).exists()]

    def _file(self, found: re.Match[str]) -> None:
        repository = self._repository(found, gate=True)
        # A revision with a slash comes quoted; a file's path has its slashes plain.
        revision, _, path = found["rest"].partition("/")
        commit = self._commit(repository, unquote(revision))
        file = repository / "commits" / commit / unquote(path)
        headers = {"X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        if not file.is_file():
            refusal = _Refused(404, "EntryNotFound")
            refusal.headers |= headers
            raise refusal
        content = file.read_bytes()
        headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()}"'
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if asked is None:
            self._answer(content, headers)
            return
        part = content[int(asked[1]) : int(asked[2]) + 1 if asked[2] else None]
        headers["Content-Range"] = f"bytes {asked[1]}-{int(asked[1]) + len(part) - 1}/{len(content)}"
        self._answer(part, headers, status=206)

    def _repository(self, found: re.Match[str], *, gate: bool) -> Path:
        folder = self.server.root / f"{found['kind']}s" / found["id"]
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token == "hf_expired":
            raise _Refused(401, message="Invalid credentials in Authorization header")
        if not folder.is_dir():
            raise _Refused(404 if token else 401, "RepoNotFound", "Repository not found")
        access = json.loads((folder / "access.json").read_text())
        time.sleep(access.get("seconds", 0))
        if "status" in access:
            raise _Refused(access["status"])
        if gate and access.get("gated") and token != access["gated"]:
            raise _Refused(403 if token else 401, "GatedRepo", "Access to this dataset is restricted")
        return folder

    def _commit(self, repository: Path, revision: str) -> str:
        if (repository / "commits" / revision).is_dir():
            return revision
        references: dict[str, str] = json.loads((repository / "refs.json").read_text())
        if revision not in references:
            raise _Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return references[revision]

    def _answer(self, content: bytes, headers: dict[str, str], *, status: int = 200) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        sent = b"" if self.command == "HEAD" else content
        self.server.note(path=self.path, authorization=self.headers.get("Authorization"), sent=len(sent))
        self.wfile.write(sent)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self._lock = threading.Lock()

    def note(self, **request: Any) -> None:
        with self._lock, (self.root / "requests.jsonl").open("a") as log:
            log.write(json.dumps(request) + "\n")


@contextmanager
def hub_server(root: Path) -> Iterator[str]:
    """Serve `root/datasets/OWNER/NAME` and `root/models/OWNER/NAME` on a free port; gives the address.

    A repository's folder has `commits/COMMIT/` with its files, `refs.json` (branch or tag: commit) and `access.json`:
    `gated` is the only token that may have the files, `status` what every request is answered with, `seconds` how long
    an answer takes.
    Requests are noted in `root/requests.jsonl`.
    """
    server = _Server(root)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _listed(folder: Path, deep: bool) -> list[Path]:
    return sorted(folder.rglob("*") if deep else folder.iterdir())


def _entry(path: Path, root: Path) -> dict[str, Any]:
    name = path.relative_to(root).as_posix()
    digest = hashlib.sha1(name.encode()).hexdigest()
    if path.is_dir():
        return {"type": "directory", "oid": digest, "size": 0, "path": name}
    return {"type": "file", "oid": digest, "size": path.stat().st_size, "path": name}
