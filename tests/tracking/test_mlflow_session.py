"""MLflow's database of another version."""

import sqlite3
from contextlib import closing
from pathlib import Path

from aflite_assets.tracking.mlflow_session import MlflowSession, pending_migration


def test_a_database_that_lacks_a_migration_is_named(mlflow_home: Path) -> None:
    database = mlflow_home / "mlflow" / "mlflow.db"
    uri = f"sqlite:///{database}"
    session = MlflowSession(uri, mlflow_home / "lock")
    assert pending_migration(session) is None
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")
    told = pending_migration(session)
    assert told is not None
    assert told.startswith(f"MLflow's database {uri} has schema 451aebb31d03, but the installed MLflow needs schema ")
    assert told.endswith(f"; make a copy of the database, then run `mlflow db upgrade '{uri}'`")
    hidden = pending_migration(MlflowSession(f"{uri}?timeout=30", mlflow_home / "lock"))
    assert hidden is not None
    assert hidden.startswith(f"MLflow's database {uri} has schema 451aebb31d03, ")
    assert hidden.endswith('; make a copy of the database, then run `mlflow db upgrade "$MLFLOW_TRACKING_URI"`')


def test_servers_and_databases_that_are_not_there_need_nothing(tmp_path: Path) -> None:
    for uri in ("http://127.0.0.1:9", f"sqlite:///{tmp_path}/none.db", f"sqlite:///{tmp_path}/none.db?x=1"):
        assert pending_migration(MlflowSession(uri, tmp_path / "lock")) is None
    assert not (tmp_path / "none.db").exists()
