"""The roles of a team's databases on a real server: each works in its own database and is refused in the other."""

import pytest

from tests.deploy.conftest import PASSWORD, PostgresServer

WORK = "create table if not exists kept (n int); insert into kept values (1); select count(*) > 0 from kept"


@pytest.mark.parametrize(("role", "other"), [("dagster", "mlflow"), ("mlflow", "dagster")])
def test_a_role_works_in_its_database_and_is_refused_in_others(postgres: PostgresServer, role: str, other: str) -> None:
    own = postgres.attempt("psql", "-Atq", "-d", role, "-c", WORK, role=role)
    assert (own.returncode, own.stdout.strip()) == (0, "t"), own.stderr
    for database in (other, "postgres"):
        refused = postgres.attempt("psql", "-Atc", "select 1", "-d", database, role=role)
        assert refused.returncode == 2
        assert f'permission denied for database "{database}"' in refused.stderr
    for statement in ("create database x", "create role x", f"set role {other}", "set role backup", "set role aflite"):
        refused = postgres.attempt("psql", "-Atc", statement, "-d", role, role=role)
        assert refused.returncode == 1, statement
        assert "permission denied" in refused.stderr
    for statement in ("copy (select 1) to program 'true'", "select pg_read_file('/etc/hostname')"):
        assert postgres.attempt("psql", "-Atc", statement, "-d", role, role=role).returncode == 1, statement


def test_the_backups_role_reads_both_databases_and_no_other(postgres: PostgresServer) -> None:
    for database in ("dagster", "mlflow"):
        assert postgres.attempt("psql", "-Atq", "-d", database, "-c", WORK, role=database).returncode == 0
        dumped = postgres.attempt("pg_dump", f"--dbname={database}", role="backup")
        assert dumped.returncode == 0, dumped.stderr
        assert "COPY public.kept" in dumped.stdout
    assert postgres.attempt("psql", "-Atc", "select 1", "-d", "postgres", role="backup").returncode == 2
    assert postgres.attempt("psql", "-Atc", "create database x", "-d", "dagster", role="backup").returncode == 1


def test_no_role_has_rights_over_the_server(postgres: PostgresServer) -> None:
    rights = "rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls"
    named = "select rolname from pg_roles where rolname !~ '^pg_' and ({}) order by 1"
    assert postgres.client("psql", "-d", "postgres", "-Atc", named.format(rights)) == "aflite"
    assert postgres.client("psql", "-d", "postgres", "-Atc", named.format(True)).split() == [
        "aflite", "backup", "dagster", "mlflow"
    ]  # fmt: skip


def test_a_wrong_password_and_none_are_refused(postgres: PostgresServer) -> None:
    for password in ("", PASSWORD, PASSWORD + "mlflow"):
        address = f"host=127.0.0.1 port={postgres.port} user=dagster dbname=dagster"
        told = postgres.attempt("psql", "-w", "-Atc", "select 1", f"{address} password='{_quoted(password)}'")
        assert told.returncode == 2
        assert "password" in told.stderr


def _quoted(password: str) -> str:
    return password.replace("\\", "\\\\").replace("'", "\\'")


def test_passwords_are_in_no_log_even_where_the_script_fails(postgres: PostgresServer) -> None:
    again = postgres.make_roles()
    assert again.returncode == 3
    assert 'role "dagster" already exists' in again.stderr
    log = (postgres.folder / "log").read_text()
    assert 'role "dagster" already exists' in log
    assert PASSWORD[:4] not in log
    assert "CREATE ROLE" not in log
