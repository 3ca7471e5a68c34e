"""How a request ended: one class each, from a closed list."""

from __future__ import annotations

import enum
import errno


class Outcome(enum.IntEnum):
    """What became of a request. `OK` is the only success; every other is failed, with exactly one class.

    The number is what a samples column holds; `label` is what a user reads.
    """

    OK = 0
    """A complete, well-formed response with a status below 400."""
    DNS = 1
    REFUSED = 2
    CONNECT_TIMEOUT = 3
    """No connection within the connect timeout, or the request's own timeout ended while it still connected."""
    TLS = 4
    RESET = 5
    CLOSED = 6
    """The server closed before a complete head, or before any of the response."""
    STALE = 7
    """A kept-alive connection was already dead when the request was written to it."""
    TIMEOUT = 8
    PROTOCOL = 9
    """A malformed response, or a body shorter or longer than announced."""
    HTTP_4XX = 10
    HTTP_5XX = 11
    CLIENT = 12
    """This machine ran out of descriptors or ports."""
    CANCELLED = 13

    @property
    def label(self) -> str:
        """The class as design and output name it, such as `http-5xx`."""
        return self.name.lower().replace("_", "-")

    @classmethod
    def from_label(cls, label: str) -> Outcome:
        """The outcome of a label.

        Raises:
            KeyError: no outcome has that label.
        """
        return cls[label.upper().replace("-", "_")]

    @classmethod
    def from_status(cls, status: int) -> Outcome:
        """The outcome of a complete response with this status code."""
        if status < 400:
            return cls.OK
        return cls.HTTP_4XX if status < 500 else cls.HTTP_5XX

    @classmethod
    def from_errno(cls, number: int | None) -> Outcome | None:
        """The outcome of a system call that failed while connecting, or later on a connection; None: not known."""
        return _OF_ERRNO.get(number or 0)


_OF_ERRNO = {
    errno.ECONNREFUSED: Outcome.REFUSED,
    errno.ENETUNREACH: Outcome.REFUSED,
    errno.EHOSTUNREACH: Outcome.REFUSED,
    errno.EACCES: Outcome.REFUSED,  # a local firewall's word
    errno.EPERM: Outcome.REFUSED,
    errno.ETIMEDOUT: Outcome.CONNECT_TIMEOUT,
    errno.ECONNRESET: Outcome.RESET,
    errno.ECONNABORTED: Outcome.RESET,
    errno.EPIPE: Outcome.RESET,
    errno.EMFILE: Outcome.CLIENT,
    errno.ENFILE: Outcome.CLIENT,
    errno.ENOBUFS: Outcome.CLIENT,
    errno.ENOMEM: Outcome.CLIENT,
    errno.EADDRINUSE: Outcome.CLIENT,
    errno.EADDRNOTAVAIL: Outcome.CLIENT,
}
