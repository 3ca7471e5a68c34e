"""What one task does: waits, computes, or spins. The same work, count and input on every executor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from loadgen.errors import UsageError
from loadgen.units import parse_duration

_ACCEPTED: Final = "sleep:TIME, cpu:STEPS or spin:TIME, as in sleep:100ms, cpu:1000000, spin:50ms"
_MOST_MS: Final = 600_000
_MOST_STEPS: Final = 10_000_000_000
_LABELS: Final = {"sleep": "I/O wait", "cpu": "CPU", "spin": "spin"}


@dataclass(frozen=True, slots=True)
class Work:
    """One task's work.

    Task i of `cpu` begins at x = i + 1 and returns the x at the end; one of `sleep` and `spin` returns i.
    """

    kind: str
    """`sleep`, `cpu` or `spin`."""
    amount: int
    """Milliseconds to wait or to spin; steps to compute."""

    @classmethod
    def parse(cls, text: str) -> Work:
        """The work of a spec such as `sleep:100ms`, `cpu:15000000` or `spin:50ms`.

        Raises:
            UsageError: it is none of these, or out of bounds.
        """
        kind, _, amount = text.strip().partition(":")
        if kind not in _LABELS or not amount:
            raise UsageError(f"work {text!r} is not accepted: {_ACCEPTED}")
        if kind == "cpu":
            steps = int(amount) if amount.isascii() and amount.isdigit() and len(amount) <= 12 else 0
            if not 1 <= steps <= _MOST_STEPS:
                raise UsageError(f"work {text!r} is not accepted: cpu takes 1 to {_MOST_STEPS:,} steps")
            return cls(kind, steps)
        ms = parse_duration(amount) * 1000
        if not 1 <= round(ms) <= _MOST_MS or abs(round(ms) - ms) > 1e-6:
            raise UsageError(f"work {text!r} is not accepted: {kind} takes 1ms to 10m, in whole milliseconds")
        return cls(kind, round(ms))

    def __str__(self) -> str:
        return f"{self.kind}:{self.amount}" + ("" if self.kind == "cpu" else "ms")

    @property
    def plain(self) -> str:
        """The spec without unit: `sleep:100`, `cpu:15000000`."""
        return f"{self.kind}:{self.amount}"

    @property
    def label(self) -> str:
        """What a line of results begins with."""
        return _LABELS[self.kind]

    @property
    def waits(self) -> bool:
        """Whether a task leaves the CPU to others meanwhile."""
        return self.kind == "sleep"

    @property
    def is_timed(self) -> bool:
        """Whether a task lasts for a given time, whatever the machine."""
        return self.kind != "cpu"

    @property
    def time_s(self) -> float:
        """How long a task waits or spins that is timed."""
        return self.amount / 1000

    def done_by(self, task: int) -> str:
        """What `tasks` of it do, for a sentence: `1,000 tasks that wait 100 ms`."""
        what = {"sleep": "wait", "cpu": "compute", "spin": "spin for"}[self.kind]
        unit = "integer steps" if self.kind == "cpu" else "ms"
        return f"{task:,} {'task' if task == 1 else 'tasks'} that {what} {self.amount:,} {unit}"

    def compute(self, task: int) -> int:
        """Does the work that keeps a processor busy, and returns the task's result; nothing of `sleep` does."""
        if self.kind == "cpu":
            from servers.work import integer_steps

            return integer_steps(self.amount, task + 1)
        if self.kind == "spin":
            from servers.work import spin

            spin(self.amount * 1_000_000)
        return task
