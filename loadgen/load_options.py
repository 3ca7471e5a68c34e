"""The options that describe a load, as given, and the Plan that they make. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from loadgen.errors import UsageError
from loadgen.objective import parse_objective
from loadgen.options import ArrivalsName, EngineName
from loadgen.plan import MOST_WORKERS, Plan, Share, Target
from loadgen.units import parse_duration, parse_rate, parse_stage, parse_whole_ms
from loadgen.workload import MOST_SECONDS, MOST_USERS, Stage, Workload

DEFAULT_REQUESTS: Final = 400
_MOST_OF_CLIENTS: Final = 1000
"""In flight at once through a client library, where nothing is said: each costs memory, and more they do not carry."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options that describe the load, as given."""

    n: int | None = None
    concurrency: int | None = None
    runs: int = 1
    warmup: int = 0
    pause: str = "0"
    preconnect: bool = False
    disable_keepalive: bool = False
    engine: EngineName = EngineName.WIRE
    http2: bool = False
    allow_remote: bool = False
    over: str = "1500ms"
    timeout: str = "60s"
    connect_timeout: str | None = None
    duration: str | None = None
    think: str = "0"
    rate: str | None = None
    arrivals: ArrivalsName = ArrivalsName.CONSTANT
    seed: int = 0
    max_in_flight: int | None = None
    stages: tuple[str, ...] = ()
    server_timing: bool = False
    slo: tuple[str, ...] = ()
    workers: str = "1"
    scheduler: str | None = None
    redact: tuple[str, ...] = ()

    def plan(self, target: Target, mix: tuple[Share, ...] = ()) -> Plan:
        """The plan for a target, or for several, of which it is the first.

        Raises:
            UsageError: one of them is not accepted, or two do not go together.
        """
        return Plan(
            target=target,
            workload=self.workload(),
            runs=self.runs,
            warmup=self.warmup,
            pause_s=parse_duration(self.pause),
            over_ms=parse_whole_ms("--over", self.over),
            engine=self.engine.value,
            http2=self.http2,
            allow_remote=self.allow_remote,
            server_timing=self.server_timing,
            objectives=tuple(parse_objective(text) for text in self.slo),
            workers=self._workers(),
            scheduler=self.scheduler,
            mix=mix,
            redact=self.redact,
        )

    def workload(self) -> Workload:
        """The workload alone. See `plan`."""
        self._check_together()
        stages, is_open = self._levels()
        if not is_open and (self.max_in_flight is not None or self.arrivals is not ArrivalsName.CONSTANT):
            raise UsageError("--max-in-flight and --arrivals belong to an open load: add --rate R, or stages of a rate")
        requests, concurrency = self._counts(stages, is_open=is_open)
        return Workload(
            requests=requests,
            concurrency=concurrency,
            keepalive=not self.disable_keepalive,
            preconnect=self.preconnect,
            timeout_s=parse_duration(self.timeout),
            connect_timeout_s=None if self.connect_timeout is None else parse_duration(self.connect_timeout),
            stages=stages,
            is_open=is_open,
            poisson=self.arrivals is ArrivalsName.POISSON,
            seed=self.seed,
            think_s=parse_duration(self.think),
        )

    def _check_together(self) -> None:
        """Refuses options that contradict each other."""
        if self.n is not None and self.n < 1:
            raise UsageError(f"{self.n} requests are not accepted: --n takes 1 or more")
        if self.n is not None and self.duration is not None:
            raise UsageError("-n and -z are not accepted together: give a number of requests, or a time")
        if self.rate is not None and self.concurrency is not None:
            raise UsageError(
                "--rate and -c are not accepted together: requests come at a rate, or from users;"
                " --max-in-flight bounds how many of --rate are under way"
            )
        if self.stages and any(each is not None for each in (self.rate, self.concurrency, self.n, self.duration)):
            raise UsageError("--stage says for how long and how much: leave -n, -c, -z and --rate out")
        if self.rate is None and not self.stages and self.duration is not None and self.concurrency is None:
            raise UsageError("-z needs to know how much: add -c USERS or --rate R")
        if self.max_in_flight is not None and self.max_in_flight < 1:
            raise UsageError(f"--max-in-flight takes 1 or more, not {self.max_in_flight}")

    def _levels(self) -> tuple[tuple[Stage, ...], bool]:
        """The stages, and whether they are of requests a second."""
        if self.stages:
            read = [parse_stage(text) for text in self.stages]
            if len({is_rate for _, is_rate in read}) > 1:
                raise UsageError("the stages are of one kind: requests a second (30s:100/s), or users (30s:64)")
            return tuple(stage for stage, _ in read), read[0][1]
        if self.rate is not None:
            rate = parse_rate(self.rate)
            if rate <= 0:
                raise UsageError(f"--rate {self.rate} is not accepted: it takes more than 0, as in 2000/s or 50/1m")
            if self.duration is None:
                return (Stage((self.n or DEFAULT_REQUESTS) / rate, rate, rate),), True
            return (Stage(_parse_z(self.duration), rate, rate),), True
        if self.duration is not None:
            users = float(self.concurrency or 0)
            if users < 1:
                raise UsageError(f"a concurrency of {users:.0f} is not accepted: -c takes 1 to {MOST_USERS:,}")
            return (Stage(_parse_z(self.duration), users, users),), False
        return (), False

    def _counts(self, stages: tuple[Stage, ...], *, is_open: bool) -> tuple[int | None, int]:
        """How many requests, where that is counted, and how many at once."""
        if is_open:
            return None, self.max_in_flight or self._room()
        if stages:
            return None, int(max(max(stage.first, stage.last) for stage in stages))
        requests = DEFAULT_REQUESTS if self.n is None else self.n
        return requests, requests if self.concurrency is None else self.concurrency

    def _workers(self) -> int:
        """How many; `auto` for as many as there are CPUs."""
        if self.workers == "auto":
            from loadgen.kernel import available_cpus

            return min(available_cpus(), MOST_WORKERS)
        if not self.workers.isascii() or not self.workers.isdigit():
            raise UsageError(f"--workers {self.workers} is not accepted: it takes a number of processes, or auto")
        return int(self.workers)

    def _room(self) -> int:
        """How many connections this machine has room for at once."""
        from loadgen.preflight import room

        most = room() * 9 // 10  # what else is opened until then must find room too
        return most if self.engine is EngineName.WIRE else min(most, _MOST_OF_CLIENTS)


def _parse_z(text: str) -> float:
    seconds = parse_duration(text)
    if not 0 < seconds <= MOST_SECONDS:
        raise UsageError(f"-z {text} is not accepted: it takes more than 0 and at most 24h, as in 30s or 5m")
    return seconds
