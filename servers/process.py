"""Starts a server in a process group of its own, waits until it is ready, and stops all of it.

    with start(parse_spec("threads:threads=400")) as server:
        ...  # server.url, server.stats()

Several at once: `spawn` each, then `wait_ready` each.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from servers.catalog import Instance
from servers.errors import ServersError, StartError
from servers.groups import kill_group, signal_group
from servers.guarded import spawn_guarded
from servers.ports import bracketed, check_port, free_port, says_port_in_use
from servers.readiness import not_ready
from servers.stats import STATS_VARIABLE, Counters, StatsFile

STOP_GRACE_S: Final = 5.0

_POLL_S: Final = 0.015
_PORT_ATTEMPTS: Final = 3
_LOG_TAIL_LINES: Final = 20
_LOG_TAIL_BYTES: Final = 16_384
_LAST_LINE_CHARACTERS: Final = 300
# Control sequences (ECMA-48, 5.4) and the other control characters.
_NOT_TEXT: Final = r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1f\x7f]"
# Where a server listens on every address, the one it is asked at.
_WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def start(
    instance: Instance,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    directory: Path | None = None,
    ready_timeout_s: float | None = None,
) -> RunningServer:
    """A server that is ready. See `spawn` for the arguments, and `RunningServer.wait_ready`."""
    server = spawn(instance, host, port, directory=directory)
    server.wait_ready(ready_timeout_s)
    return server


def spawn(
    instance: Instance,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    directory: Path | None = None,
    log_path: Path | None = None,
) -> RunningServer:
    """A server that has begun to start; `wait_ready` is the caller's to call.

    Args:
        instance: what to start.
        host: an address of this machine. IPv6 without brackets.
        port: 0 for any that is free.
        directory: where the log and the stats file go; None for a new one in the system's place for such, which is
            removed when the server is stopped, but kept if it ended of its own.
        log_path: where the log goes instead, to stay there.

    Raises:
        PortInUse: the given port is taken.
        RuntimeMissing: what the server runs on, or is built with, is not here.
        ProgramError: it could not be built.
        UsageError: the server cannot listen on `host` and `port`.
    """
    instance.require_runtime()
    if port:
        check_port(host, port)
    instance.build()
    return RunningServer(instance, host, port, directory, log_path)


class RunningServer:
    """A server process and all its workers. A context manager that stops them.

    Attributes:
        instance: what runs.
        host: where it listens.
        port: where it listens. Final once `wait_ready` has returned.
        log_path: what the server writes, stdout and stderr together.
        stats_path: the file of its counters. See `servers.stats`.
    """

    def __init__(self, instance: Instance, host: str, port: int, directory: Path | None, log_path: Path | None) -> None:
        self.instance = instance
        self.host = host
        self._any_port = port == 0
        self.port = port or free_port(host)
        self._own_directory = directory is None
        self._directory = directory or Path(tempfile.gettempdir()) / f"loadrig-{secrets.token_hex(6)}"
        self.log_path = log_path or self._directory / "server.log"
        self.stats_path = self._directory / "stats"
        self._last_counters: Counters | None = None
        self._not_ready: str | None = None
        self._stopped = False
        # A Ctrl-C may come at any bytecode, also between this constructor's end and its caller's `with`.
        atexit.register(self._stop_at_exit)
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=not self._own_directory)
        self._launch()

    def __repr__(self) -> str:
        return f"<RunningServer {self.instance.spec} at {self.url}, pid {self.pid}, returncode {self.returncode}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where a client on this machine finds it, without a path: 'http://[::1]:8080'."""
        return f"http://{bracketed(self._reachable_host)}:{self.port}"

    @property
    def pid(self) -> int:
        """The first process of the server, which is also its process group and session."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How the first process ended, a signal as its negative number; None while it lives."""
        returncode = self._process.poll()
        if returncode is not None:
            self._kill_rest()
        return returncode

    def alive(self) -> bool:
        """Whether the first process lives. Where it died, workers it left are killed."""
        return self.returncode is None

    def stats(self) -> Counters | None:
        """What it counted until now, without a request to it; None for a server that keeps no stats file."""
        if not self._stopped and self.instance.processes:
            self._last_counters = self._stats.read()
        return self._last_counters

    def reset_peak(self) -> None:
        """Begin a new peak. See `StatsFile.reset_peak`."""
        if not self._stopped:
            self._stats.reset_peak()

    def log_tail(self) -> str:
        """The last lines that the server wrote, without what would colour or move about a terminal."""
        with contextlib.suppress(OSError), self.log_path.open("rb") as log:
            # Of a server that writes a line a request, the whole would not fit into memory.
            log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_TAIL_BYTES))
            lines = log.read(_LOG_TAIL_BYTES).decode(errors="replace").splitlines()[-_LOG_TAIL_LINES:]
            return "\n".join(re.sub(_NOT_TEXT, "", line) for line in lines)
        return ""

    def wait_ready(self, timeout_s: float | None = None) -> Self:
        """Return when every worker process is up and the ready path answers as it is to.

        `timeout_s` None leaves it at the profile's own time.

        Raises:
            StartError: it exited, or was not ready in time; it is stopped by then.
        """
        timeout_s = self.instance.profile.ready_timeout_s if timeout_s is None else timeout_s
        deadline = time.monotonic() + timeout_s
        attempts = _PORT_ATTEMPTS
        try:
            # Whoever answers where the command has ended is not what was started.
            while not (self._ready() and self.alive()):
                if not self.alive():
                    attempts -= 1
                    if not (self._any_port and attempts and says_port_in_use(self.log_tail())):
                        raise self._start_error(f"ended ({_ending(self.returncode)}) before it was ready")
                    self._relaunch()
                elif time.monotonic() > deadline:
                    raise self._start_error(f"was not ready within {timeout_s:g} s ({self._not_ready})")
                time.sleep(_POLL_S)
        except BaseException as error:
            self._stop(keep_log=isinstance(error, ServersError))
            raise
        return self

    def stop(self) -> None:
        """End it: SIGTERM to all its processes, after `STOP_GRACE_S` SIGKILL. A second call does nothing."""
        self._stop(keep_log=not self._stopped and not self.alive())

    def _stop(self, *, keep_log: bool) -> None:
        if self._stopped:
            return
        self.stats()
        self._stopped = True
        try:
            self._end_process()
        finally:  # also at a second Ctrl-C: nothing may be left behind
            self._kill_rest()
            self._stats.close()
            if self._own_directory and not (keep_log and self.log_path.parent == self._directory):
                self._remove_directory()
            atexit.unregister(self._stop_at_exit)

    def _end_process(self) -> None:
        """Ask the first process to end, and make it."""
        if self._process.poll() is not None:
            return
        signal_group(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(STOP_GRACE_S)
        except BaseException as error:
            signal_group(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def _stop_at_exit(self) -> None:
        """What nobody stopped, or not wholly, is stopped when the interpreter ends."""
        if hasattr(self, "_process"):
            self._stop(keep_log=False)
        if self._own_directory:  # interrupted while it was launched or stopped; `guard` sees to the process then
            self._remove_directory()

    def _remove_directory(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)

    def _launch(self) -> None:
        self._rest_killed = False
        limit, processes = self.instance.concurrency_limit, self.instance.processes
        self._stats = StatsFile.create(self.stats_path, limit=limit, processes=processes)
        profile = self.instance.profile
        with self.log_path.open("wb") as log:
            self._process = spawn_guarded(
                self.instance.command(self.host, self.port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=profile.directory,
                env={
                    **os.environ,
                    **self.instance.environment(self.host, self.port),
                    STATS_VARIABLE: str(self.stats_path),
                },
            )

    def _relaunch(self) -> None:
        self._stats.close()
        self.port = free_port(self.host)
        self._launch()

    @property
    def _reachable_host(self) -> str:
        return _WILDCARDS.get(self.host, self.host)

    def _ready(self) -> bool:
        workers, processes = self._stats.read().workers, self.instance.processes
        if workers < processes:
            self._not_ready = f"{workers} of its {processes} processes were"
            return False
        url = self.instance.ready_url(self.url, self._reachable_host, self.port)
        self._not_ready = not_ready(url, self.instance.profile.ready_statuses)
        return self._not_ready is None

    def _start_error(self, what: str) -> StartError:
        tail = self.log_tail()
        last = tail.rstrip().rpartition("\n")[2].strip()[:_LAST_LINE_CHARACTERS]
        message = f"{self.instance.spec} {what}{f': {last}' if last else ''}"
        return StartError(message, log_tail=tail, log_path=self.log_path)

    def _kill_rest(self) -> None:
        # Once, and at once when the first process is known to be dead: later the number may be somebody else's group.
        if not self._rest_killed:
            self._rest_killed = True
            kill_group(self._process.pid)


def _ending(returncode: int | None) -> str:
    if returncode == 0:
        return "exit status 0; a server must stay in the foreground"
    if returncode is None or returncode > 0:
        return f"exit status {returncode}"
    # Those for real-time use have no names.
    return signal.Signals(-returncode).name if -returncode in set(signal.Signals) else f"signal {-returncode}"
