"""From a host name to the one address a run uses, and what kind of address it is."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loadgen.plan import Target

_PROBE_TIMEOUT_S: Final = 1.0

SockAddr = tuple[str, int] | tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class Address:
    """A resolved address, ready for `socket.connect`."""

    family: socket.AddressFamily
    sockaddr: SockAddr

    @property
    def ip(self) -> str:
        """The address alone, as text."""
        return self.sockaddr[0]

    @property
    def is_public(self) -> bool:
        """Whether it lies outside the loopback, private and link-local ranges."""
        return ipaddress.ip_address(self.ip.partition("%")[0]).is_global

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine's own."""
        return ipaddress.ip_address(self.ip.partition("%")[0]).is_loopback

    def __str__(self) -> str:
        host = f"[{self.ip}]" if self.family == socket.AF_INET6 else self.ip
        return f"{host}:{self.sockaddr[1]}"


def lookup(target: Target) -> list[Address]:
    """All addresses of the target's name. Sends nothing to any of them.

    Raises:
        OSError: (socket.gaierror) the name has no address.
    """
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(Address(family, sockaddr) for family, _, _, _, sockaddr in found))  # type: ignore[arg-type]


def choose(addresses: Sequence[Address]) -> Address:
    """The address to use for a run.

    Where there are several (`localhost` is often ::1 and 127.0.0.1), the first that takes a connection is used, so
    that a server on one of them is found; the probe is closed at once. Where none does, the first.
    """
    if len(addresses) == 1:
        return addresses[0]
    return next((address for address in addresses if _accepts(address)), addresses[0])


def resolve(target: Target) -> Address:
    """The address to use for a run: `choose` of `lookup`.

    Raises:
        OSError: (socket.gaierror) the name has no address.
    """
    return choose(lookup(target))


def _accepts(address: Address) -> bool:
    try:
        with socket.socket(address.family, socket.SOCK_STREAM) as probe:
            probe.settimeout(_PROBE_TIMEOUT_S)
            probe.connect(address.sockaddr)
            return True
    except OSError:
        return False
