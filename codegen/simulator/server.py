"""`Simulator`: a local server that speaks all simulated APIs, in a thread of this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from codegen.simulator.record import Exchange, SimulatorReport
from codegen.simulator.scenario import Scenario, ScenarioError, load_scenarios
from codegen.simulator.stage import Stage
from codegen.simulator.weather import PATH

if TYPE_CHECKING:
    import uvicorn

    from codegen.simulator.app import Host

_START_SECONDS = 30.0
_GRACE_SECONDS = 2
_SETTLE_SECONDS = 1.0
"""How long a report waits for answers on their way; one that is held up by a fault is not waited for longer."""


class SimulatorUnavailable(Exception):
    """The server cannot run here. `missing` is the library that is not installed, or empty; `hint` is what to do."""

    def __init__(self, message: str, *, missing: str = "", hint: str = "") -> None:
        super().__init__(f"{message}. {hint}" if hint else message)
        self.missing = missing
        self.hint = hint


class Simulator:
    """A server with scenarios; use it as a context manager, or `start` and `stop` it.

    `scenarios` are `Scenario` values, plain data in their shape, or paths of files. Raises `ScenarioError` for what is
    none of them. `port` 0 takes any free port.
    """

    def __init__(
        self,
        scenarios: Iterable[Scenario | dict[str, Any] | str | Path] = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._stage = Stage()
        self._address = (host, port)
        self._host: Host | None = None
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None
        for scenario in scenarios:
            self.add(scenario)

    def add(self, scenario: Scenario | dict[str, Any] | str | Path) -> None:
        """Adds a scenario, or all of a file; also while the server runs."""
        if isinstance(scenario, (str, Path)):
            loaded = load_scenarios(Path(scenario))
        else:
            loaded = [scenario if isinstance(scenario, Scenario) else Scenario.parse(scenario)]
        for one in loaded:
            if self._host is not None:
                self._host.add(one)
            elif one.name in self._stage.scenarios:
                raise ScenarioError(one.name, ["a scenario of this name is already there"])
            else:
                self._stage.scenarios[one.name] = one

    def start(self) -> Simulator:
        """Starts the server and returns when it answers. Raises `SimulatorUnavailable` when it cannot."""
        if self._thread is not None:
            raise RuntimeError("the simulator is already running")
        uvicorn, app = _libraries()
        try:
            self._socket = _listen(*self._address)
        except OSError as error:
            raise SimulatorUnavailable(f"cannot listen on {self._address[0]}:{self._address[1]}: {error}") from error
        self._host = app.Host(self._stage)
        config = uvicorn.Config(
            self._host.asgi(),
            log_config=None,
            lifespan="off",
            loop="asyncio",
            http=app.Protocol,
            ws="none",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name="simulator", daemon=True)
        self._thread.start()
        self._wait_until_started()
        return self

    def _wait_until_started(self) -> None:
        assert self._server is not None and self._thread is not None
        pause = threading.Event()
        for _ in range(int(_START_SECONDS / 0.01)):
            if self._server.started:
                return
            if not self._thread.is_alive():
                break
            pause.wait(0.01)
        self.stop()
        raise SimulatorUnavailable("the server did not start")

    def stop(self) -> None:
        """Stops the server and returns when it is gone. Does nothing when it does not run."""
        if self._server is not None and self._thread is not None:
            if self._host is not None:
                self._host.stop()
            self._server.should_exit = True
            self._thread.join()
        if self._socket is not None:
            self._socket.close()
        self._server = self._thread = self._socket = None

    def __enter__(self) -> Simulator:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def wait(self) -> None:
        """Returns when the server stops."""
        if self._thread is not None:
            self._thread.join()

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT`. Raises `RuntimeError` when the server does not run."""
        if self._socket is None:
            raise RuntimeError("the simulator is not running")
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def openai_base_url(self) -> str:
        """What `OpenAI(base_url=...)` takes."""
        return f"{self.base_url}/v1"

    @property
    def oci_endpoint(self) -> str:
        """What every OCI client takes as `service_endpoint`."""
        return self.base_url

    @property
    def bedrock_endpoint(self) -> str:
        """What boto3's `bedrock-runtime` client takes as `endpoint_url`."""
        return self.base_url

    @property
    def weather_url(self) -> str:
        """The forecast service."""
        return f"{self.base_url}{PATH}"

    def report(self) -> SimulatorReport:
        """What the simulator saw so far; also after it was stopped.

        A client has the end of an answer a moment before the record has it, so answers on their way are waited for.
        """
        if self._host is None:
            return self._stage.ledger.report(list(self._stage.scenarios))
        deadline = time.monotonic() + _SETTLE_SECONDS
        while self._host.ending and time.monotonic() < deadline:
            time.sleep(0.001)
        with self._host.lock:
            return self._stage.ledger.report(list(self._stage.scenarios))

    @property
    def transcript(self) -> tuple[Exchange, ...]:
        """All requests so far, with their answers."""
        return self.report().exchanges


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `OSError` when the address cannot be used."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # Only with the protocol named does asyncio turn off Nagle's algorithm, which costs 40 ms for every answer.
    listening = socket.socket(family, kind, protocol or socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _libraries() -> tuple[Any, Any]:
    """uvicorn, and the module of the application: what needs the extra."""
    try:
        import uvicorn

        from codegen.simulator import app
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in ("uvicorn", "starlette"):
            raise
        raise SimulatorUnavailable(
            f"the simulator needs {missing}",
            missing=missing,
            hint="Install the extra: pip install 'toolgen[simulator]'",
        ) from error
    return uvicorn, app
