"""Connection to one MLflow database or server. The connection is opened safely, errors are explained, and the schema
version is checked.

The module `mlflow_run` handles runs.
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


# The first connection creates the database in a few seconds; after this time, the process with the lock must be dead.
LOCK_TIMEOUT_SECONDS = 300
# MLflow itself retries for minutes, but the health page of a running server responds at once.
HEALTH_TIMEOUT_SECONDS = 10


def _is_full(error: BaseException | None) -> bool:
    """Return True if a full disk caused the error. SQLite mentions a full disk only in the error's text."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if "database or disk is full" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _make_whole(database: Path) -> None:
    """Create an SQLite database under a temporary name, and rename the file when it is complete.

    MLflow cannot resume migrations that a full disk or a kill has interrupted, so an incomplete database must not
    remain.
    """
    from mlflow import MlflowClient

    with TemporaryDirectory(prefix=f".{database.name}.", dir=database.parent) as aside:
        made = Path(aside) / database.name
        MlflowClient(tracking_uri=f"sqlite:///{made}").search_experiments(max_results=1)
        made.replace(database)


class _Censor(logging.Filter):
    """A logging filter that removes an address's secrets from log records.

    If `clean` returns None, the whole text of the record is replaced.
    """

    def __init__(self, clean: Callable[[str], str | None]) -> None:
        super().__init__()
        self._clean = clean

    def filter(self, record: logging.LogRecord) -> bool:
        """Remove secrets from the record's text. Always return True, so that every record is logged."""
        record.msg, record.args = "%s", (self._clean(record.getMessage()) or "this line is not shown",)
        return True


@dataclass(frozen=True)
class MlflowSession:
    """A tracking address, and a lock file that the processes of this machine share for their first connection.

    `is_own`: whether the address was built from a folder's name and contains no secret, so that it may be shown in
    full.
    """

    uri: str = field(repr=False)
    lock_path: Path
    is_own: bool = False

    @property
    def is_server(self) -> bool:
        """True if the address belongs to a tracking server, not to a database."""
        return self.uri.startswith(("http://", "https://"))

    @property
    def shown_uri(self) -> str:
        """The address without user name, password and query."""
        return self.uri if self.is_own else shown_address(self.uri)

    @property
    def argument(self) -> str:
        """The address as a shell argument, or `"$MLFLOW_TRACKING_URI"` if the address has a secret."""
        return shlex.quote(self.uri) if self._is_whole else '"$MLFLOW_TRACKING_URI"'

    @property
    def _is_whole(self) -> bool:
        return self.is_own or read_address(self.uri).is_whole

    def _without_secrets(self, text: str) -> str | None:
        return text if self.is_own else without_secrets(text, self.uri)

    @cached_property
    def client(self) -> "MlflowClient":
        """The connected MLflow client.

        Raises:
            TrackingError: the address cannot be reached, MLflow does not accept it, or a database driver is missing.
        """
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        # Otherwise MLflow prints the address of every run that ends on a server; callers have `reference.url`.
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
        """The file of the SQLite database, or None if the address has a query or is not an address of an SQLite
        database.
        """
        named = self.uri.startswith("sqlite:///") and "?" not in self.uri
        return Path(self.uri.removeprefix("sqlite:///")) if named else None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let only one process of this machine run the block at a time, because MLflow crashes if migrations run in
        parallel.
        """
        self.lock_path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.lock_path, timeout=LOCK_TIMEOUT_SECONDS, is_singleton=True):
            yield

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Convert every error of MLflow to a TrackingError that shows the address without its secrets.

        If the address has a secret, the TrackingError has no `__cause__`, because a traceback would show the text of
        the original error.
        """
        from mlflow.exceptions import MlflowException
        from sqlalchemy.exc import SQLAlchemyError

        try:
            yield
        except AfliteError:
            raise
        # Database drivers raise ValueError and TypeError for unknown parts of an address.
        except (MlflowException, SQLAlchemyError, OSError, ImportError, ValueError, TypeError) as error:
            raise self._refusal(error) from (error if self._is_whole else None)

    def _refusal(self, error: Exception) -> TrackingError:
        lines = (self._without_secrets(str(error).strip()) or "").splitlines() or [type(error).__name__]
        return TrackingError(f"MLflow at {self.shown_uri} cannot be used: {lines[0][:500]}; {self._remedy(error)}")

    @contextmanager
    def _quiet_logs(self) -> Iterator[None]:
        """Remove secrets from MLflow's log records, because connection errors can contain the address."""
        logger, censor = logging.getLogger("mlflow.store.db.utils"), _Censor(self._without_secrets)
        logger.addFilter(censor)
        try:
            yield
        finally:
            logger.removeFilter(censor)

    def _remedy(self, error: BaseException) -> str:
        if not self.is_server and _is_full(error):
            return (
                "the disk of this database is full; free some space or set `AFLITE_HOME` to a folder on a larger disk, "
                "and try again"
            )
        return "start the server, correct the tracking URI, or leave it out to store runs in a local SQLite database"

    def _check_health(self) -> None:
        try:
            urlopen(f"{self.shown_uri.rstrip('/')}/health", timeout=HEALTH_TIMEOUT_SECONDS).close()
        except HTTPError as error:
            with error:
                if error.code >= 500:
                    raise
        except URLError as error:
            # MLflow checks certificates itself and has its own settings for this.
            if not isinstance(error.reason, ssl.SSLError):
                raise
        except http.client.HTTPException as error:
            raise OSError(f"the server at this address is not an MLflow tracking server ({error!r})") from error


def pending_migration(session: MlflowSession) -> str | None:
    """Return a message if the database must be migrated before it can be used; otherwise return None.

    Servers and missing databases need no migration.

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
        f"MLflow's database {session.shown_uri} has schema {schema}, but the installed MLflow needs schema {needed}; "
        f"make a copy of the database, then run `mlflow db upgrade {session.argument}`"
    )
