"""Passwords in a tracking address: in no error, traceback, log, `repr`, reference or metadata."""

import http.server
import io
import logging
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from aflite_assets.assets.common import open_in_mlflow
from aflite_assets.errors import TrackingError
from aflite_assets.tracking import MlflowTracker
from aflite_assets.tracking.mlflow_session import MlflowSession, pending_migration
from resources import ExperimentTracker

SECRET = "s3cret"
NOBODY = "127.0.0.1:9"
REFUSED = [
    f"http://{NOBODY}/?token=s3cret",
    f"http://{NOBODY}/#s3cret",
    "http://ann:pw@host:s3cret/",
    "http://ann:s3cret@[::1/",
    f"http://ann:pw@s3cret@{NOBODY}",
    "HTTP://ann:s3cret@host",
    "postgresql:/ann:s3cret@host/db",
    "postgres//ann:s3cret@host",
    "//ann:s3cret@host/db",
    "ann:s3cret@host/db",
    f"postgresql+psycopg2://ann:x/s3cret@{NOBODY}/db",
    f"postgresql+psycopg2://ann:x@y#s3cret@{NOBODY}/db",
    f"postgresql+psycopg2://{NOBODY}/db;password=s3cret",
    "postgresql+psycopg2://ann:s3cret",
    "jdbc:postgresql://host/db?password=s3cret",
    "sqlite:ann:s3cret@host",
    "sqlite://s3cret@/x.db",
    "s3cret",
]
UNUSABLE = [
    f"http://ann:s3cret@{NOBODY}",
    f"http://s3cret@{NOBODY}",
    "htp://ann:s3cret@host",
    "htp://host?token=s3cret",
    "postgressql://ann:s3cret@host/db",
    "postgressql://ann:%733cret@host/db",
    "file://ann:s3cret@host/mlruns",
    f"postgresql+psycopg2://ann:s3cret@{NOBODY}/db",
    f"postgresql+psycopg2://ann:pw@{NOBODY}/db?sslmode=s3cret",
    f"postgresql+psycopg2://{NOBODY}/db?options=-cx%3Ds3cret&sslmode=s3%63ret",
    "mysql+s3cret://ann:s3cret@host/db",
    "mssql+pyodbc:///?odbc_connect=Server%3Ddb%3BPWD%3Ds3cret",
    "sqlite:////proc/none/x.db?mode=s3cret&uri=true",
]


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[io.StringIO]:
    """All that is logged, by MLflow too, whose log does not go on to others; it tries a database twice."""
    monkeypatch.setattr("mlflow.store.db.utils.MAX_RETRY_COUNT", 2)
    caplog.set_level(logging.DEBUG)
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    for logger in (logging.getLogger(), logging.getLogger("mlflow")):
        logger.addHandler(handler)
    yield lines
    for logger in (logging.getLogger(), logging.getLogger("mlflow")):
        logger.removeHandler(handler)


def _without_scheme(text: str) -> str:
    """A driver's name is no secret, and MLflow has it in its messages."""
    return text.replace("mysql+s3cret:", "").replace("mysql.s3cret", "")


@pytest.mark.parametrize("uri", REFUSED)
def test_a_doubtful_address_is_refused_and_not_repeated(uri: str, tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"^the tracking URI .*; (write|give) ") as refused:
        MlflowTracker(uri, tmp_path)
    assert SECRET not in "".join(traceback.format_exception(refused.value))


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
@pytest.mark.parametrize("uri", UNUSABLE)
def test_an_address_that_cannot_be_used_is_named_without_its_secrets(
    uri: str, tmp_path: Path, logged: io.StringIO
) -> None:
    tracker = MlflowTracker(uri, tmp_path)
    session = MlflowSession(uri, tmp_path / "lock")
    with (
        pytest.raises(TrackingError, match=r"^MLflow at \w+.* cannot be used: .+; ") as refused,
        tracker.run("e", "s", "k"),
    ):
        pass
    shown = ["".join(traceback.format_exception(refused.value)), logged.getvalue(), repr(tracker), repr(session)]
    if not session.is_server and not uri.startswith("sqlite:"):
        with pytest.raises(TrackingError) as refused:
            pending_migration(session)
        shown += ["".join(traceback.format_exception(refused.value)), session.argument, logged.getvalue()]
    assert SECRET not in _without_scheme("\n".join(shown))


def test_the_log_of_every_try_is_without_secrets(tmp_path: Path, logged: io.StringIO) -> None:
    tracker = MlflowTracker(f"postgresql+psycopg2://ann:pw@{NOBODY}/db?sslmode=s3cret", tmp_path)
    with pytest.raises(TrackingError, match=r'invalid sslmode value: "\*\*\*"'), tracker.run("e", "s", "k"):
        pass
    assert 'invalid sslmode value: "***"\n' in logged.getvalue()
    assert "Operation will be retried" in logged.getvalue()
    assert SECRET not in logged.getvalue()


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
@pytest.mark.parametrize("query", ["?password=s3cret", "?x=ann@s3cret", "?sslpassword=s3cret&s3cret"])
def test_a_reference_has_no_query(query: str, mlflow_home: Path) -> None:
    uri = f"sqlite:///{mlflow_home}/mlflow/mlflow.db"
    tracker = MlflowTracker(uri + query, mlflow_home)
    with tracker.run("embeddings", "snli", "k1") as run:
        assert run.reference.tracking_uri == uri
        assert SECRET not in repr(run) + repr(tracker) + open_in_mlflow(run.reference)


def test_a_command_takes_what_a_reference_lacks_from_the_variable(tmp_path: Path) -> None:
    session = MlflowSession("postgresql://ann:s3cret@db/mlflow", tmp_path)
    assert session.argument == '"$MLFLOW_TRACKING_URI"'
    assert MlflowSession("postgresql+psycopg2:///mlflow", tmp_path).argument == "postgresql+psycopg2:///mlflow"


def test_an_own_database_is_shown_whatever_its_folder_is_called(tmp_path: Path) -> None:
    home = tmp_path / "me@corp;x=1"
    session = MlflowTracker(None, home).session
    assert session.shown_uri == f"sqlite:///{home}/mlflow/mlflow.db"
    assert MlflowSession(session.uri, tmp_path).shown_uri == "sqlite://(not shown)"


class Refusing(http.server.BaseHTTPRequestHandler):
    """Healthy, but it answers every other question with the address that was asked."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path.endswith("/health") else 404)
        self.end_headers()
        host = self.headers["Host"]
        self.wfile.write(f"no http://ann:s3cret@{host}{self.path}, http://ann:s3%63ret@{host}".encode())

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_what_a_server_says_of_the_address_is_without_secrets(tmp_path: Path, logged: io.StringIO) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tracker = MlflowTracker(f"http://ann:s3%63ret@127.0.0.1:{server.server_port}", tmp_path)
        with pytest.raises(TrackingError, match=r"404.*no http://ann:\*\*\*@") as refused, tracker.run("e", "s", "k"):
            pass
        server.shutdown()
    text = "".join(traceback.format_exception(refused.value)) + logged.getvalue()
    assert SECRET not in text
    assert "s3%63ret" not in text


@pytest.mark.parametrize("uri", [UNUSABLE[0], UNUSABLE[4], UNUSABLE[8], REFUSED[5]])
def test_dagster_logs_no_secret(
    uri: str, logged: io.StringIO, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    @dg.asset
    def tracked(tracker: ExperimentTracker) -> None:
        with tracker.open().run("e", "s", "k"):
            pass

    resource = ExperimentTracker(tracking_uri=uri, home=str(tmp_path))
    with dg.DagsterInstance.ephemeral() as instance:
        done = dg.materialize([tracked], resources={"tracker": resource}, instance=instance, raise_on_error=False)
        events = "".join(str(record) for record in instance.all_logs(done.run_id))
    assert not done.success
    assert "TrackingError" in events
    said = capfd.readouterr()
    assert SECRET not in events + said.out + said.err + logged.getvalue() + repr(resource)
