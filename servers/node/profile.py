"""The profile `node`: Node's own http module."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from servers.profile import Knob, Profile, Values, Whole
from servers.runtimes import NODE

_SERVER: Final = Path(__file__).with_name("server.mjs")


def _command(values: Values, host: str, port: int) -> list[str]:
    return [
        str(NODE.find().program),
        str(_SERVER),
        f"--host={host}",
        f"--port={port}",
        f"--backlog={values['backlog']}",
    ]


NODE_HTTP: Final = Profile(
    name="node",
    server="Node's http",
    knobs=(Knob("backlog", 511, "length asked for the accept queue", Whole(1, 65_535)),),
    limits=lambda _: "nothing but the CPU (one event loop)",
    concurrency_limit=lambda _: None,
    command=_command,
    runtime=NODE,
)
