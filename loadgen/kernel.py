"""What the kernel knows of a connection."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Final

from loadgen.samples import MISSING

_TCP_INFO_BYTES: Final = 104
_TOTAL_RETRANS_AT: Final = 100


def total_retrans(sock: socket.socket) -> int:
    """Segments retransmitted on a connection so far, SYN included (tcpi_total_retrans).

    MISSING where the platform has none, or the socket is closed.
    """
    if sys.platform != "linux":
        return MISSING
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        return int(struct.unpack_from("=I", info, _TOTAL_RETRANS_AT)[0])
    except (OSError, struct.error):
        return MISSING
