"""What the kernel knows: retransmissions of a socket, and how many descriptors and ports there are."""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

from loadgen.samples import MISSING

HAS_TCP_INFO: Final = sys.platform == "linux"
"""Whether retransmissions can be seen."""

_TCP_INFO: Final = getattr(socket, "TCP_INFO", 11)
_TOTAL_RETRANS: Final = struct.Struct("=100xI")  # tcpi_total_retrans in struct tcp_info, include/uapi/linux/tcp.h
_SYSCTL: Final = Path("/proc/sys")
_PORT_RANGE: Final = _SYSCTL / "net/ipv4/ip_local_port_range"


def sysctl(name: str) -> int | None:
    """A setting of the kernel, as 'net/core/somaxconn'; None where there is no such setting."""
    try:
        return int((_SYSCTL / name).read_text())
    except (OSError, ValueError):
        return None


def total_retrans(sock: socket.socket) -> int:
    """Segments this socket has sent again so far, SYNs included; MISSING where the platform does not tell."""
    if not HAS_TCP_INFO:
        return MISSING
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _TOTAL_RETRANS.size)
        return int(_TOTAL_RETRANS.unpack(info)[0])
    except (OSError, struct.error):
        return MISSING


def available_cpus() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def raise_descriptor_limit() -> int | None:
    """Raises the soft limit on descriptors to the hard one and returns it; None where there is no such limit."""
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = max(soft, 1_048_576)
    if soft != resource.RLIM_INFINITY and soft < hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):  # some platforms' hard limit is more than they grant
            hard = soft
    return hard


def open_descriptors() -> int:
    """How many descriptors this process has open."""
    for directory in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(list(Path(directory).iterdir()))
        except OSError:
            continue
    return 3


def local_ports() -> int | None:
    """How many local ports a client has for one destination; None where the platform does not tell."""
    try:
        low, high = map(int, _PORT_RANGE.read_text().split())
    except (OSError, ValueError):
        return None
    return high - low + 1
