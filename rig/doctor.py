"""What `rig doctor` makes of a machine: one Check a fact. Pure; the facts are read by `machine` and `trial`.

A check fails where loadrig cannot work, and warns where a figure or a profile would suffer; both say what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rig.trial import LIMIT, MOST_RELEASE_MS, REQUESTS, Trial

if TYPE_CHECKING:
    from loadgen.explain.evidence import KernelRules
    from servers.runtimes import Found, Runtime

SCHEMA: Final = "rig/1"

OK: Final = "ok"
WARN: Final = "warn"
FAIL: Final = "fail"

_PYTHON: Final = (3, 11)
_PORTS: Final = 10_000
_SOMAXCONN: Final = 4096
"""The longest accept queue that a profile asks for by default."""
_RESENDS_SHOWN: Final = 6
_BUSY: Final = 0.5
"""Load for each CPU from which on the times of a burst are seen to spread."""
_MEMORY: Final = 512 * 2**20
"""A Java server takes about as much."""
_CLOCK_NS: Final = 10_000
"""Steps that a loopback answer, some 100 us, is still measured well with."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `advice` says what to do; None where nothing needs to be done."""

    name: str
    status: str
    found: str
    advice: str | None = None

    @property
    def line(self) -> str:
        """Status, name and what was found, for a person; what to do last."""
        return f"{self.status:<4}  {self.name:<17}  {self.found}{f': {self.advice}' if self.advice else ''}"


@dataclass(frozen=True, slots=True)
class Library:
    """A library that an engine is made of.

    Attributes:
        name: of the module.
        use: what loadrig does with it.
        required: whether nothing can be measured without it.
    """

    name: str
    use: str
    required: bool = False


LIBRARIES: Final = (
    Library("numpy", "samples and figures", required=True),
    Library("httptools", "engine wire", required=True),
    Library("uvloop", "engine wire and profile async"),
    Library("aiohttp", "engine aiohttp"),
    Library("httpx", "engine httpx"),
    Library("h2", "HTTP/2, by engine httpx"),
)


def document(checks: Iterable[Check]) -> dict[str, Any]:
    """The JSON object."""
    return {"schema": SCHEMA, "checks": [asdict(check) for check in checks]}


def failed(checks: Iterable[Check]) -> bool:
    """Whether anything is missing that loadrig cannot work without."""
    return any(check.status == FAIL for check in checks)


def check_python(version: tuple[int, ...]) -> Check:
    """Of the running interpreter, major version first."""
    found = ".".join(map(str, version))
    if version >= _PYTHON:
        return Check("Python", OK, found)
    return Check("Python", FAIL, found, f"install Python {'.'.join(map(str, _PYTHON))} or later")


def check_library(library: Library, version: str | None, problem: str = "") -> Check:
    """`version` of the library that was imported; None where that failed by `problem`."""
    if version is not None:
        return Check(library.name, OK, f"{version} ({library.use})")
    found = f"cannot be used ({problem}), and {library.use} needs it"
    advice = f"pip install --force-reinstall {library.name}"
    return Check(library.name, FAIL if library.required else WARN, found, advice)


def check_runtime(runtime: Runtime, found: Found | None) -> Check:
    """`found` is the best of this machine, which may be too old; None where there is none."""
    if found is not None and runtime.serves(found):
        return Check(runtime.name, OK, f"{found.version} ({found.program})")
    from servers.runtimes import there

    return Check(runtime.name, WARN, f"{there(found)}, {runtime.needed} or later is needed", runtime.install)


def check_descriptors(soft: int | None, hard: int | None, room: int | None) -> Check:
    """The limits as they were found, None for none, and how many requests at once they allow."""
    limits = f"soft limit {_count(soft)}, hard limit {_count(hard)}"
    if room is None:
        return Check("descriptors", OK, f"{limits}, any number of requests at once")
    found = f"{limits}, {room:,} requests at once"
    if room >= REQUESTS:
        return Check("descriptors", OK, found)
    return Check("descriptors", WARN, found, "raise the hard limit (ulimit -Hn, as root, or in limits.conf)")


def check_ports(count: int) -> Check:
    """How many local ports there are for one destination."""
    found = f"{count:,} for each destination"
    if count >= _PORTS:
        return Check("local ports", OK, found)
    return Check("local ports", WARN, found, "sysctl -w net.ipv4.ip_local_port_range='32768 60999'")


def check_accept_queue(somaxconn: int) -> Check:
    """net.core.somaxconn."""
    found = f"no longer than {somaxconn:,}, whatever backlog is asked for (net.core.somaxconn)"
    if somaxconn >= _SOMAXCONN:
        return Check("accept queue", OK, found)
    return Check("accept queue", WARN, found, f"sysctl -w net.core.somaxconn={_SOMAXCONN}")


def check_resends(rules: KernelRules) -> Check:
    """When a SYN that found the accept queue full is sent again."""
    times = ", ".join(f"{at:g}" for at in rules.syn_resend_times_s(_RESENDS_SHOWN))
    setting = f"tcp_syn_linear_timeouts={rules.syn_linear_timeouts}"
    return Check("dropped SYNs", OK, f"are sent again after {times} s ({setting})")


def check_overflow(abort: int) -> Check:
    """net.ipv4.tcp_abort_on_overflow."""
    if not abort:
        return Check("full accept queue", OK, "drops SYNs (tcp_abort_on_overflow=0)")
    found = "resets connections instead of dropping SYNs (tcp_abort_on_overflow=1)"
    return Check("full accept queue", WARN, found, "sysctl -w net.ipv4.tcp_abort_on_overflow=0")


def check_cpus(available: int, there: int, quota: float | None) -> Check:
    """CPUs this process may run on, of those that are there, and how many CPUs' time its control group gets."""
    found = f"{available} of {there} may be used"
    if quota is not None and quota < available:
        found += f", for the time of {quota:g} (cgroup quota)"
        return Check("CPUs", WARN, found, "raise the quota (docker run --cpus): whoever uses it up stands still")
    if available < 2:
        return Check("CPUs", WARN, found, "give it 2 or more: generator and server share this one")
    return Check("CPUs", OK, found)


def check_load(load: float, cpus: int) -> Check:
    """How many processes ran or waited for a CPU, on average over the last minute."""
    found = f"{load:.1f} over the last minute, on {cpus} CPUs"
    if load < _BUSY * cpus:
        return Check("load", OK, found)
    return Check("load", WARN, found, "wait until the others are done, or end them: they take the CPU from both sides")


def check_memory(available: int, total: int) -> Check:
    """Bytes that can be had, and bytes that there are for this process."""
    found = f"{available / 2**30:.1f} of {total / 2**30:.1f} GiB free"
    if available >= _MEMORY:
        return Check("memory", OK, found)
    return Check("memory", WARN, found, "end other programs: below 0.5 GiB a server may be killed at its start")


def check_ipv6(available: bool) -> Check:
    """Whether a server can listen on ::1."""
    if available:
        return Check("loopback IPv6", OK, "::1 can be listened on")
    found = "::1 cannot be listened on"
    return Check("loopback IPv6", WARN, found, "name 127.0.0.1, or sysctl -w net.ipv6.conf.lo.disable_ipv6=0")


def check_clock(step_ns: int) -> Check:
    """The smallest step that the clock was seen to take."""
    found = f"moves in steps of {step_ns:,} ns or less"
    if step_ns <= _CLOCK_NS:
        return Check("clock", OK, found)
    return Check("clock", WARN, found, "choose a finer clock source (tsc), or trust no time near that")


def check_burst(trials: Iterable[Trial]) -> Check:
    """The best of some bursts at a server whose limit is known."""
    best = min(trials, key=lambda trial: (REQUESTS - trial.ok, not trial.right, trial.release_ms))
    released = f"{REQUESTS:,} released within {best.release_ms:.1f} ms"
    if best.ok < REQUESTS:
        found = f"{best.ok:,} of {REQUESTS:,} were answered on loopback"
        advice = f"see what is said of it: rig compare calibrated --n {REQUESTS}"
        return Check("burst", WARN if best.ok else FAIL, found, advice)
    if not best.right:
        measured = "no limit" if best.limit is None else f"a limit of {best.limit:,}"
        found = f"{released}; {measured} was found, and the server's is {LIMIT:,}"
        if not best.trusted:
            found += "; loadgen itself was too slow for its figures to be trusted"
        return Check("burst", WARN, found, "let the machine come to rest, and trust no figure of it until then")
    if best.release_ms > MOST_RELEASE_MS:
        found = f"{released}, more than {MOST_RELEASE_MS} ms, though the limit of {LIMIT:,} was found"
        return Check("burst", WARN, found, "let the machine come to rest, or fire fewer requests at once")
    return Check("burst", OK, f"{released}, and the limit of {LIMIT:,} found")


def check_no_burst(problem: str) -> Check:
    """`problem` is why there was no server to fire at."""
    return Check("burst", FAIL, problem, "see the end of its log: rig serve calibrated")


def _count(limit: int | None) -> str:
    return "none" if limit is None else f"{limit:,}"
