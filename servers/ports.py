"""Ports to serve on: one that is free, or whether a given one may be had."""

from __future__ import annotations

import errno
import os
import socket

from servers.errors import PortInUse, UsageError


def bracketed(host: str) -> str:
    """`host` as it stands before `:port`: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def free_port(host: str) -> int:
    """A port that nobody has on `host`. Somebody may take it before the caller does.

    Raises:
        UsageError: `host` is no address of this machine.
    """
    return _bind(host, 0)


def check_port(host: str, port: int) -> None:
    """See that a server can listen on `host` and `port`.

    Raises:
        PortInUse: somebody has it.
        UsageError: no such port, no address of this machine, or no permission.
    """
    if not 0 < port < 65_536:
        raise UsageError(f"a port is a whole number from 1 to 65535 (0 for any free one), not {port}")
    _bind(host, port)


def says_port_in_use(log: str) -> bool:
    """Whether a server's log says that its port was taken. Some have words of their own for it."""
    words = ("Connection in use", "EADDRINUSE", "was already in use")  # gunicorn's, Node's, Spring's
    return os.strerror(errno.EADDRINUSE).lower() in log.lower() or any(their in log for their in words)


def _bind(host: str, port: int) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As the servers do: else connections of an earlier server that are in TIME_WAIT would count as somebody's.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortInUse(f"port {port} on {host} is in use: name another, or 0 for any free one") from None
            raise UsageError(f"cannot listen on {host} port {port}: {error.strerror}") from None
        bound: int = probe.getsockname()[1]
        return bound
