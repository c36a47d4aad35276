"""A PostgreSQL server of the tests' own on loopback, made anew for each module that asks for one."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

REPOSITORY = Path(__file__).parents[2]
PASSWORD = "p:/@ s%'\"x"  # everything that an address would have to quote
ROLES = ("dagster", "mlflow", "backup")


@dataclass(frozen=True)
class PostgresServer:
    """A running server with the databases of `deploy/`, and how a user reaches it."""

    binaries: Path
    folder: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which PostgreSQL's clients find it as its administrator."""
        return {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "aflite", "PGPASSWORD": PASSWORD}

    def environment_of(self, role: str) -> dict[str, str]:
        """The variables by which the processes of a role find it."""
        return self.environment | {"PGUSER": role, "PGPASSWORD": PASSWORD + role}

    def address_of(self, role: str) -> str:
        """The database of a role's name, with the role and its password."""
        return f"postgresql+psycopg2://{role}:{quote(PASSWORD + role, safe='')}@127.0.0.1:{self.port}/{role}"

    def control(self, action: str, *options: str) -> None:
        """Start, stop or restart it, as a user who is not root."""
        run_as_postgres(
            [str(self.binaries / "pg_ctl"), action, "-w", "-D", str(self.folder / "data"), *options], self.folder
        )

    def client(self, program: str, *arguments: str) -> str:
        """What one of PostgreSQL's client programs prints to the administrator."""
        done = self.attempt(program, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def attempt(self, program: str, *arguments: str, role: str | None = None) -> subprocess.CompletedProcess[str]:
        """How one of the programs ends, run by a role or by the administrator."""
        environment = self.environment if role is None else self.environment_of(role)
        command = [str(self.binaries / program), *arguments]
        return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)

    def make_roles(self) -> subprocess.CompletedProcess[str]:
        """Run the script that the container runs on an empty volume."""
        passwords = {f"{role.upper()}_PGPASSWORD": PASSWORD + role for role in ROLES}
        script = str(REPOSITORY / "deploy" / "roles.sql")
        psql = [str(self.binaries / "psql"), "-q", "--no-psqlrc", "-d", "postgres", "-f", script]
        environment = os.environ | self.environment | passwords
        return subprocess.run(psql, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A fresh server with two empty databases, `dagster` and `mlflow`, and their roles."""
    pytest.importorskip("psycopg2", reason="the extra `postgres` is not installed")
    binaries = _binaries()
    folder = Path(tempfile.mkdtemp(prefix="aflite-postgres-"))
    if os.getuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    server = PostgresServer(binaries, folder, _free_port())
    try:
        _initialise(server)
        server.control("start", "-l", str(folder / "log"))
        try:
            made = server.make_roles()
            assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
            yield server
        finally:
            server.control("stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder)


def _binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        pytest.skip("no PostgreSQL server is installed (no initdb below /usr/lib/postgresql or on the PATH)")
    if os.getuid() == 0 and "postgres" not in {user.pw_name for user in pwd.getpwall()}:
        pytest.skip("PostgreSQL does not run as root, and there is no user `postgres` to run it as")
    return found[-1].parent if found else Path(str(on_path)).resolve().parent


def _initialise(server: PostgresServer) -> None:
    password = server.folder / "password"
    password.write_text(PASSWORD, encoding="utf-8")
    password.chmod(0o644)
    run_as_postgres(
        [
            str(server.binaries / "initdb"), "-D", str(server.folder / "data"), "-U", "aflite",
            "--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", "--encoding=UTF8",
        ],
        server.folder,
    )  # fmt: skip
    password.unlink()
    with (server.folder / "data" / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write(
            f"port = {server.port}\nlisten_addresses = '127.0.0.1'\n"
            f"unix_socket_directories = '{server.folder}'\nfsync = off\n"
        )


def run_as_postgres(command: list[str], folder: Path) -> None:
    """Run a program of the server's; PostgreSQL refuses to run as root."""
    root = os.getuid() == 0
    options: dict[str, object] = {"user": "postgres", "group": "postgres", "extra_groups": []} if root else {}
    # The server keeps the streams that it is started with: a pipe would never end.
    with (folder / "commands.log").open("ab") as log:
        done = subprocess.run(command, cwd=folder, stdout=log, stderr=log, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, (folder / "commands.log").read_text()


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
