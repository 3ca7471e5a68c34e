"""What an error of a socket means for the request on it."""

from __future__ import annotations

import errno
import ssl

from loadgen.outcome import Outcome


def not_connected(number: int) -> Outcome:
    """The outcome where connecting ended with this errno."""
    return Outcome.from_errno(number) or Outcome.RESET


def broken(error: OSError, *, was_idle: bool) -> Outcome:
    """The outcome of an error on an established connection; `was_idle`: see `closed`."""
    if isinstance(error, ssl.SSLEOFError):
        return closed(was_idle=was_idle)
    if isinstance(error, ssl.SSLError):  # after the handshake: what came was not the connection's own
        return Outcome.RESET
    if error.errno == errno.ETIMEDOUT:
        return Outcome.TIMEOUT
    outcome = Outcome.from_errno(error.errno) or Outcome.RESET
    return Outcome.STALE if outcome == Outcome.RESET and was_idle else outcome


def closed(*, was_idle: bool) -> Outcome:
    """The outcome where the server closed; `was_idle`: a connection that had stood idle, before any byte came."""
    return Outcome.STALE if was_idle else Outcome.CLOSED
