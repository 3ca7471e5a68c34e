"""A server that rig has started, as the sampler of resources is to watch it."""

from __future__ import annotations

from loadgen.resources.watch import Watched
from servers.process import RunningServer
from servers.stats import LAYOUT


def watched(server: RunningServer) -> Watched:
    """The whole of its process tree, and the counters that it keeps."""
    return Watched((server.pid,), server.stats_path, LAYOUT)
