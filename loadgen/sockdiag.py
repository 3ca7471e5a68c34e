"""Listening sockets as the kernel has them, by netlink (sock_diag): accept queue, its length, the socket's inode.

/proc/net/tcp has a line for every connection, and no length of the queue; this asks for the listening ones alone. Works
without root. Source: include/uapi/linux/inet_diag.h, man 7 sock_diag.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import sys
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST_DUMP: Final = 0x301
_NLMSG_ERROR: Final = 2
_NLMSG_DONE: Final = 3
_TCP_LISTEN: Final = 10
_HEADER: Final = struct.Struct("=IHHII")
_REQUEST: Final = struct.Struct("=BBBBI48s")  # family, protocol, ext, pad, states, sockid
_ANSWER: Final = struct.Struct("=BBBB48sIIIII")  # ..., sockid, expires, rqueue, wqueue, uid, inode


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket."""

    port: int
    queue: int
    """Connections in its accept queue, established and not yet accepted."""
    queue_limit: int
    """The length asked for, cut down to net.core.somaxconn. It is full when it holds more."""
    inode: int


class SockDiag:
    """Asks the kernel for listening sockets. A context manager."""

    def __init__(self) -> None:
        """Raises OSError where the platform or a sandbox does not allow it."""
        if sys.platform != "linux":
            raise OSError("sock_diag is Linux's")
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
        self._socket.settimeout(0.2)

    def __enter__(self) -> SockDiag:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._socket.close()

    def listeners(self, port: int) -> list[Listener]:
        """The sockets that listen on a port, IPv4 and IPv6; several where processes share it (SO_REUSEPORT)."""
        found = []
        for family in (socket.AF_INET, socket.AF_INET6):
            with contextlib.suppress(OSError):
                found += [listener for listener in self._dump(family) if listener.port == port]
        return found

    def _dump(self, family: int) -> Iterator[Listener]:
        request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, 1 << _TCP_LISTEN, bytes(48))
        header = _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 1, 0)
        self._socket.send(header + request)
        while True:
            data = self._socket.recv(65536)
            while data:
                size, kind, _, _, _ = _HEADER.unpack_from(data)
                if kind in (_NLMSG_DONE, _NLMSG_ERROR):
                    return
                answer = _ANSWER.unpack_from(data, _HEADER.size)
                sockid, queue, limit, inode = answer[4], answer[6], answer[7], answer[9]
                yield Listener(int.from_bytes(sockid[:2], "big"), queue, limit, inode)
                data = data[(size + 3) & ~3 :]


def owners(inodes: Set[int], *, but: Set[int]) -> list[int]:
    """The numbers of the processes, of those that may be looked at, that have one of these sockets open."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    found = []
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit() or int(directory.name) in but:
            continue
        with contextlib.suppress(OSError):
            if any(str(link.readlink()) in wanted for link in (directory / "fd").iterdir()):
                found.append(int(directory.name))
    return found
