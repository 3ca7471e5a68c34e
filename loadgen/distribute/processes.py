"""A crew of processes on this machine. They share its monotonic clock, so a moment is the same for all."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from time import perf_counter_ns
from typing import Final, Self

from loadgen.address import Address
from loadgen.distribute.crew import STOP_PATIENCE_S, Delivery, preparation_ns
from loadgen.distribute.shard import Order, Part
from loadgen.errors import LoadgenError, UsageError
from loadgen.plan import Plan
from loadgen.schedule import Shard

_START_PATIENCE_S: Final = 30.0
_END_PATIENCE_S: Final = 2.0
_LOOK_S: Final = 0.1
"""So often it is looked whether to stop."""


class Worker:
    """A child process and the pipe to it.

    Attributes:
        pid: its process's number.
    """

    def __init__(self, engine: str) -> None:
        ours, theirs = Pipe()
        with theirs:
            descriptor = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "loadgen.distribute.worker", str(descriptor), str(os.getpid()), engine],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(descriptor,),
                start_new_session=True,  # a Ctrl-C at the terminal is the generator's business
            )
        self.pipe: Connection = ours
        self.pid = self._process.pid

    def wait_ready(self) -> None:
        """Blocks until it takes orders.

        Raises:
            UsageError: it does not.
        """
        with suppress(EOFError, OSError):
            if self.pipe.poll(_START_PATIENCE_S):
                self.pipe.recv()
                return
        raise UsageError("a worker process could not be started: try fewer (--workers)")

    def send(self, message: Order | None) -> None:
        """Gives an order; None: stop. One who has died cannot be told, which is seen where his answer is awaited."""
        with suppress(OSError):
            self.pipe.send(message)

    def end(self, *, at_once: bool = False) -> None:
        """Ends the process; returns when it has ended."""
        self.pipe.close()
        if at_once:
            self._process.kill()
        try:
            self._process.wait(_END_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class ProcessCrew:
    """So many child processes, one set for all runs; one that died is replaced before the next run.

    Attributes:
        workers: those there are, by shard.
    """

    def __init__(self, size: int, engine: str) -> None:
        self._size = size
        self._engine = engine
        self.workers: dict[int, Worker] = {}

    def __enter__(self) -> Self:
        """See `Crew`."""
        self._fill_up()
        return self

    def __exit__(self, *exc_info: object) -> None:
        """See `Crew`."""
        for index in list(self.workers):
            self.workers.pop(index).end()

    def _fill_up(self) -> None:
        try:
            missing = [index for index in range(self._size) if index not in self.workers]
            for index in missing:
                self.workers[index] = Worker(self._engine)
            for index in missing:
                self.workers[index].wait_ready()
        except BaseException as error:
            for index in list(self.workers):
                self.workers.pop(index).end(at_once=True)
            if isinstance(error, OSError):
                raise UsageError(f"a worker process could not be started: {error.strerror}") from None
            raise

    @property
    def pids(self) -> tuple[int, ...]:
        """See `Crew`."""
        return tuple(worker.pid for worker in self.workers.values())

    def carry_out(self, plan: Plan, address: Address, stop: threading.Event) -> Delivery:
        """See `Crew`."""
        self._fill_up()
        release_ns = perf_counter_ns() + preparation_ns(plan.workload, self._size)
        for index, worker in self.workers.items():
            worker.send(Order(plan, address, Shard(index, self._size), release_ns))
        answers = self._gather(stop)
        for answer in answers.values():
            if isinstance(answer, LoadgenError):
                raise answer
        parts = (answers.get(index) for index in range(self._size))
        return Delivery(release_ns, tuple(part if isinstance(part, Part) else None for part in parts))

    def _gather(self, stop: threading.Event) -> dict[int, Part | LoadgenError]:
        """The answers that came, by shard. Those who gave none have been ended."""
        answers: dict[int, Part | LoadgenError] = {}
        waiting = {worker.pipe: index for index, worker in self.workers.items()}
        deadline = math.inf
        while waiting and time.monotonic() < deadline:
            if stop.is_set() and deadline == math.inf:
                deadline = time.monotonic() + STOP_PATIENCE_S
                for index in waiting.values():
                    self.workers[index].send(None)
            for pipe in wait(list(waiting), _LOOK_S):
                assert isinstance(pipe, Connection)
                index = waiting.pop(pipe)
                try:
                    answers[index] = pipe.recv()
                except (EOFError, OSError):
                    self.workers.pop(index).end(at_once=True)
        for index in waiting.values():
            self.workers.pop(index).end(at_once=True)
        return answers
