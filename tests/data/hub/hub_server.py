"""A hub of the test's own: serves folders as repositories and takes commits, as `huggingface_hub` asks for it."""

import base64
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
    r"/api/(?P<kind>dataset|model)s/(?P<id>[^/]+/[^/]+)"
    r"/(?P<what>revision|tree|paths-info|auth-check|preupload|commit)/?(?P<rest>.*)"
)
_INFO = re.compile(r"/api/(?P<kind>dataset)s/(?P<id>[^/]+/[^/]+)")
_BATCH = re.compile(r"/(?P<kind>dataset)s/(?P<id>[^/]+/[^/]+)\.git/info/lfs/objects/batch")
_OBJECT = re.compile(r"/objects/(?P<oid>[0-9a-f]{64})")
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

    def do_PUT(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self._body()
        try:
            url = urlsplit(self.path)
            if found := _API.fullmatch(url.path):
                self._answer(json.dumps(self._api(found, parse_qs(url.query), body)).encode(), {})
            elif found := _FILE.fullmatch(url.path):
                self._file(found)
            elif found := _INFO.fullmatch(url.path):
                self._answer(json.dumps(self._info(found)).encode(), {})
            elif self.command != "GET" and (done := self._written(url.path, body)) is not None:
                self._answer(json.dumps(done).encode(), {})
            else:
                raise _Refused(404)
        except _Refused as refusal:
            self._answer(b"{}", refusal.headers, status=refusal.status)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while length := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(length))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _api(self, found: re.Match[str], query: dict[str, list[str]], body: bytes) -> Any:
        repository = self._repository(found, gate=found["what"] == "auth-check")
        revision, _, path = found["rest"].partition("/")
        match found["what"]:
            case "auth-check":
                return {}
            case "preupload":
                self._may_write(found)
                files = json.loads(body)["files"]
                return {
                    "files": [{"path": f["path"], "uploadMode": _mode(f["path"]), "shouldIgnore": False} for f in files]
                }
            case "commit":
                self._may_write(found)
                return self._commit_made(repository, [json.loads(line) for line in body.splitlines()])
        commit = self._commit(repository, unquote(revision))
        root = repository / "commits" / commit
        match found["what"]:
            case "revision":
                return {"id": found["id"], "sha": commit}
            case "tree":
                folder = root / unquote(path)
                if not folder.is_dir():
                    raise _Refused(404, "EntryNotFound")
                deep = query.get("recursive", ["false"])[0].lower() == "true"
                return [_entry(entry, root) for entry in _listed(folder, deep)]
        return [_entry(root / name, root) for name in parse_qs(body.decode())["paths"] if (root / name).exists()]

    def _info(self, found: re.Match[str]) -> Any:
        repository = self._repository(found, gate=False)
        commit = self._commit(repository, "main")
        root = repository / "commits" / commit
        card = root / "README.md"
        tags = re.findall(r"^- ([a-z-]+)$", card.read_text().split("---")[1], re.MULTILINE) if card.is_file() else []
        return {
            "id": found["id"],
            "sha": commit,
            "private": json.loads((repository / "access.json").read_text()).get("private", False),
            "tags": tags,
            "siblings": [
                {"rfilename": path.relative_to(root).as_posix()} for path in _listed(root, True) if path.is_file()
            ],
        }

    def _written(self, path: str, body: bytes) -> Any:
        """What is answered to requests that write, beside those about one repository; None for no such request."""
        if path == "/api/validate-yaml":
            return {"errors": [], "warnings": []}
        if path == "/api/repos/create":
            return self._created(json.loads(body))
        if found := _BATCH.fullmatch(path):
            self._may_write(found)
            return {"objects": [self._upload_action(one) for one in json.loads(body)["objects"]]}
        if found := _OBJECT.fullmatch(path):
            if hashlib.sha256(body).hexdigest() != found["oid"]:
                raise _Refused(400, message="the content has another hash")
            (self.server.root / "objects").mkdir(exist_ok=True)
            (self.server.root / "objects" / found["oid"]).write_bytes(body)
            return {}
        return None

    def _created(self, asked: dict[str, Any]) -> Any:
        self._token_may_write(asked["organization"])
        repository = self.server.root / f"{asked['type']}s" / asked["organization"] / asked["name"]
        if repository.is_dir():
            raise _Refused(409, message="You already created this dataset repo")
        first = repository / "commits" / ("0" * 40)
        first.mkdir(parents=True)
        (first / ".gitattributes").write_text("*.parquet filter=lfs\n")
        (repository / "refs.json").write_text(json.dumps({"main": first.name}))
        (repository / "access.json").write_text(json.dumps({"private": asked["visibility"] == "private"}))
        return {"url": f"http://{self.headers['Host']}/datasets/{asked['organization']}/{asked['name']}"}

    def _upload_action(self, one: dict[str, Any]) -> Any:
        if (self.server.root / "objects" / one["oid"]).exists():
            return {"oid": one["oid"], "size": one["size"]}
        href = f"http://{self.headers['Host']}/objects/{one['oid']}"
        return {"oid": one["oid"], "size": one["size"], "actions": {"upload": {"href": href}}}

    def _commit_made(self, repository: Path, lines: list[dict[str, Any]]) -> Any:
        """A folder of its own for what the commit leaves; every line is a file, and the first says what it is about."""
        before = repository / "commits" / self._commit(repository, "main")
        files = {path.relative_to(before).as_posix(): path.read_bytes() for path in before.rglob("*") if path.is_file()}
        for line in lines[1:]:
            path, value = line["value"]["path"], line["value"]
            match line["key"]:
                case "file":
                    files[path] = base64.b64decode(value["content"])
                case "lfsFile":
                    files[path] = (self.server.root / "objects" / value["oid"]).read_bytes()
                case "deletedFile":
                    del files[path]
        commit = hashlib.sha1(json.dumps([before.name, lines]).encode()).hexdigest()
        for name, content in files.items():
            path = repository / "commits" / commit / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        (repository / "refs.json").write_text(json.dumps({"main": commit}))
        (repository / "message.txt").write_text(lines[0]["value"]["summary"])
        page = f"http://{self.headers['Host']}/{repository.relative_to(self.server.root).as_posix()}"
        return {"commitUrl": f"{page}/commit/{commit}", "commitOid": commit}

    def _may_write(self, found: re.Match[str]) -> None:
        self._token_may_write(found["id"].split("/")[0])

    def _token_may_write(self, owner: str) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token == "hf_expired":
            raise _Refused(401, message="Invalid credentials in Authorization header")
        if token != f"hf_{owner}":
            raise _Refused(403, message="You don't have the rights to create a dataset under this namespace")

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
    an answer takes, `private` who may see it. The token `hf_OWNER` may write what is OWNER's: make a repository, upload
    (Parquet files as large ones) and commit.
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


def _mode(path: str) -> str:
    return "lfs" if path.endswith(".parquet") else "regular"


def _listed(folder: Path, deep: bool) -> list[Path]:
    return sorted(folder.rglob("*") if deep else folder.iterdir())


def _entry(path: Path, root: Path) -> dict[str, Any]:
    name = path.relative_to(root).as_posix()
    digest = hashlib.sha1(name.encode()).hexdigest()
    if path.is_dir():
        return {"type": "directory", "oid": digest, "size": 0, "path": name}
    return {"type": "file", "oid": digest, "size": path.stat().st_size, "path": name}
