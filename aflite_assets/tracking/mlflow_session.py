"""One MLflow database or server: opening it safely, explaining errors, and its schema's version. Runs are not handled
here.
"""

import errno
import http.client
import logging
import os
import shlex
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from filelock import FileLock

from aflite_assets.address_secrets import read_address, shown_address, without_secrets
from aflite_assets.errors import AfliteError, TrackingError

if TYPE_CHECKING:
    from mlflow import MlflowClient


# The first contact builds the database, which takes seconds; a process that waits this long waits for a dead one.
LOCK_TIMEOUT_SECONDS = 300
# MLflow itself tries for minutes before it gives up; a server that is up answers its health page at once.
HEALTH_TIMEOUT_SECONDS = 10


def _is_full(error: BaseException | None) -> bool:
    """Return True if a full disk caused an error; SQLite reports a full disk only in the error's text."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if "database or disk is full" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _make_whole(database: Path) -> None:
    """Make an SQLite database under another name and move it into place when it is complete.

    MLflow's migrations cannot continue in a database that a full disk or a kill left incomplete.
    """
    from mlflow import MlflowClient

    with TemporaryDirectory(prefix=f".{database.name}.", dir=database.parent) as aside:
        made = Path(aside) / database.name
        MlflowClient(tracking_uri=f"sqlite:///{made}").search_experiments(max_results=1)
        made.replace(database)


class _Censor(logging.Filter):
    """A filter that removes an address's secrets from log records, or their whole text if `clean` returns None."""

    def __init__(self, clean: Callable[[str], str | None]) -> None:
        super().__init__()
        self._clean = clean

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the record's text; every record is still logged."""
        record.msg, record.args = "%s", (self._clean(record.getMessage()) or "this line is not shown",)
        return True


@dataclass(frozen=True)
class MlflowSession:
    """A tracking address, and a lock file for the first connection of processes on this machine.

    `is_own`: whether the address was derived from a folder's name, so that the whole address may be shown.
    """

    uri: str = field(repr=False)
    lock_path: Path
    is_own: bool = False

    @property
    def is_server(self) -> bool:
        """Whether the address is a tracking server instead of a database."""
        return self.uri.startswith(("http://", "https://"))

    @property
    def shown_uri(self) -> str:
        """The address without user name, password and query."""
        return self.uri if self.is_own else shown_address(self.uri)

    @property
    def argument(self) -> str:
        """The address as a command's argument, or the variable with the address if it may not be shown in full."""
        return shlex.quote(self.uri) if self._is_whole else '"$MLFLOW_TRACKING_URI"'

    @property
    def _is_whole(self) -> bool:
        return self.is_own or read_address(self.uri).is_whole

    def _without_secrets(self, text: str) -> str | None:
        return text if self.is_own else without_secrets(text, self.uri)

    @cached_property
    def client(self) -> "MlflowClient":
        """The connected client.

        Raises:
            TrackingError: the address cannot be reached, is refused by MLflow or needs a missing driver.
        """
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        # Otherwise every run that ends on a server prints its address; the caller has `reference.url`.
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        with self.errors(), self.locked():
            from mlflow import MlflowClient

            if self.is_server:
                self._check_health()
            elif self._file is not None and not self._file.exists():
                _make_whole(self._file)
            with self._quiet_logs():
                return MlflowClient(tracking_uri=self.uri)

    @property
    def _file(self) -> Path | None:
        """The file of an SQLite database whose address is only a path; None for any other address."""
        named = self.uri.startswith("sqlite:///") and "?" not in self.uri
        return Path(self.uri.removeprefix("sqlite:///")) if named else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let one process of this machine at a time enter the block, because parallel migrations of MLflow crash."""
        self.lock_path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.lock_path, timeout=LOCK_TIMEOUT_SECONDS, is_singleton=True):
            yield

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Convert every error of MLflow to a TrackingError that names the address without its secrets.

        If the address has a secret, the error has no cause, because a traceback would show the texts of the libraries'
        own errors.
        """
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except AfliteError:
            raise
        # ValueError and TypeError: what drivers raise for parts of an address that they do not know.
        except (MlflowException, SQLAlchemyError, OSError, ImportError, ValueError, TypeError) as error:
            raise self._refusal(error) from (error if self._is_whole else None)

    def _refusal(self, error: Exception) -> TrackingError:
        lines = (self._without_secrets(str(error).strip()) or "").splitlines() or [type(error).__name__]
        return TrackingError(f"MLflow at {self.shown_uri} cannot be used: {lines[0][:500]}; {self._remedy(error)}")

    @contextmanager
    def _quiet_logs(self) -> Iterator[None]:
        """Censor MLflow's logs, because connection errors in the logs can contain the address."""
        logger, censor = logging.getLogger("mlflow.store.db.utils"), _Censor(self._without_secrets)
        logger.addFilter(censor)
        try:
            yield
        finally:
            logger.removeFilter(censor)

    def _remedy(self, error: BaseException) -> str:
        if not self.is_server and _is_full(error):
            return (
                "no space is left on the disk of this database: free some, or set AFLITE_HOME to a folder on a larger "
                "disk, and try again"
            )
        return (
            "start the server, correct the tracking URI, or leave it out to keep runs in a database of this project's "
            "own"
        )

    def _check_health(self) -> None:
        try:
            urlopen(f"{self.shown_uri.rstrip('/')}/health", timeout=HEALTH_TIMEOUT_SECONDS).close()
        except HTTPError as error:
            with error:
                if error.code >= 500:
                    raise
        except URLError as error:
            # Certificates are MLflow's to judge: it has its own settings for them.
            if not isinstance(error.reason, ssl.SSLError):
                raise
        except http.client.HTTPException as error:
            raise OSError(f"the server at this address is not an MLflow tracking server ({error!r})") from error


def pending_migration(session: MlflowSession) -> str | None:
    """Return the migration that this database needs before use, or None if it needs none, is missing or is a server.

    Raises:
        TrackingError: the database cannot be reached.
    """
    uri = session.uri
    if session.is_server:
        return None
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///").partition("?")[0]).is_file():
        return None
    from mlflow.store.db.utils import _get_latest_schema_revision, _get_schema_version
    from sqlalchemy import create_engine

    with session.errors():
        engine = create_engine(uri)
        try:
            schema, needed = _get_schema_version(engine), _get_latest_schema_revision()
        finally:
            engine.dispose()
    if schema in (None, needed):
        return None
    return (
        f"MLflow's database {session.shown_uri} has schema {schema}, the installed MLflow reads {needed}; copy it, "
        f"then run `mlflow db upgrade {session.argument}`"
    )
