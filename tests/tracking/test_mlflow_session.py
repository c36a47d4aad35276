"""MLflow's database of another version."""

import sqlite3
from contextlib import closing
from pathlib import Path

from aflite_assets.tracking.mlflow_session import pending_migration


def test_a_database_that_lacks_a_migration_is_named(mlflow_home: Path) -> None:
    database = mlflow_home / "mlflow" / "mlflow.db"
    uri = f"sqlite:///{database}"
    assert pending_migration(uri) is None
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '451aebb31d03'")
    told = pending_migration(uri)
    assert told is not None
    assert told.startswith(f"MLflow's database {uri} has schema 451aebb31d03, the installed MLflow reads ")
    assert told.endswith(f"; copy it, then run `mlflow db upgrade {uri}`")


def test_servers_and_databases_that_are_not_there_need_nothing(tmp_path: Path) -> None:
    assert pending_migration("http://127.0.0.1:9") is None
    assert pending_migration(f"sqlite:///{tmp_path}/none.db") is None
    assert not (tmp_path / "none.db").exists()
