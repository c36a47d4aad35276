"""Whether MLflow's database is of the version that the installed MLflow reads."""

from pathlib import Path

from aflite_assets.tracking.mlflow_values import without_password


def pending_migration(uri: str) -> str | None:
    """What to do before this database can be used; None where nothing is, there is no database yet, or it is a server.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: the database cannot be reached.
    """
    if uri.startswith(("http://", "https://")):
        return None
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).is_file():
        return None
    from mlflow.store.db.utils import _get_latest_schema_revision, _get_schema_version
    from sqlalchemy import create_engine

    engine = create_engine(uri)
    try:
        found, needed = _get_schema_version(engine), _get_latest_schema_revision()
    finally:
        engine.dispose()
    if found in (None, needed):
        return None
    return (
        f"MLflow's database {without_password(uri)} has schema {found}, the installed MLflow reads {needed}; copy it, "
        f"then run `mlflow db upgrade {without_password(uri)}`"
    )
