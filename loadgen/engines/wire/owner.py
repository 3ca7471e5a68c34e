"""What the connections of a run have in common, and what they tell it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from loadgen.engines import Job
from loadgen.engines.wire.poller import make_poller
from loadgen.engines.wire.response import Memo, ResponseReader, TimingReader
from loadgen.kernel import HAS_TCP_INFO
from loadgen.outcome import Outcome
from loadgen.request import Requests
from loadgen.samples import MISSING
from loadgen.tls import tls_context

if TYPE_CHECKING:
    from loadgen.engines.wire.connection import Connection

_READ_SIZE: Final = 65536
_ONE_SEGMENT: Final = 1200
_RESENT_ALONE_NS: Final = 190_000_000
"""A segment that is alone on its way is not sent again sooner: the least retransmission time-out is 200 ms, and a tail
loss probe then waits as long besides (tcp_schedule_loss_probe in net/ipv4/tcp_output.c). A SYN waits 1 s."""
_RESENT_NS: Final = 2_000_000
"""Of several segments, a probe for the last waits two ticks of the kernel or more."""


class Owner(ABC):
    """Of connections. They read its public attributes, and take the next row themselves where they may."""

    def __init__(self, job: Job) -> None:
        target = job.plan.target
        self.recorder = job.recorder
        self.sockaddr = job.address.sockaddr
        self.tls = tls_context(target, alpn=("http/1.1",))
        self.server_hostname = target.host
        self.reuse = job.plan.workload.reuses_connections
        self._requests = Requests(job.plan, job.schedule.shard)
        self.varies = self._requests.constant is None
        """Whether each request is to be asked for by `next_request`; else all are `request`, and `memo` is of all."""
        self.request = self._requests.constant or b""
        self.request_size = len(self.request)
        self.reader_kind = TimingReader if job.plan.server_timing else ResponseReader
        self._memos = [Memo(head_only=target.method == "HEAD") for target in job.plan.targets]
        self.memo = self._memos[0]
        self.none_resent = 0 if HAS_TCP_INFO else MISSING
        longest = self._requests.longest if self.varies else self.request_size
        self.resend_visible_ns = _RESENT_ALONE_NS if longest <= _ONE_SEGMENT else _RESENT_NS
        """Requests that were quicker are not asked how often their connection sent again."""
        self.next_index = 0
        """The row of the next request to begin."""
        self.chain_until = 0
        """Up to this row a connection takes the next request by itself, without asking."""
        self.buffer = bytearray(_READ_SIZE)
        """What is read goes here first, whatever the connection."""
        self.poller = make_poller()

    def next_request(self, index: int) -> tuple[bytes, Memo]:
        """The request that goes out for this row, where they vary, and the memo of its answers."""
        number, seq = self._requests.take()
        self.recorder.target[index] = number
        return self._requests.encoded(number, seq), self._memos[number - 1]

    @abstractmethod
    def ended(self, connection: Connection) -> None:
        """Its request has ended. If it is still open, it takes the next, now or later."""

    @abstractmethod
    def idle_lost(self, connection: Connection) -> None:
        """The server closes a connection between two requests."""

    @abstractmethod
    def preconnected(self, connection: Connection, failed: Outcome | None) -> None:
        """A connection without a request is established, or could not be."""
