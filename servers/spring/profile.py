"""The profile `spring`: Spring Boot on Tomcat."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from servers.builds import Build
from servers.profile import Flag, Knob, Profile, Value, Values, Whole, spoken
from servers.runtimes import JAVA, JAVAC, MAVEN

_MAX_CONNECTIONS: Final = 8192
"""Spring Boot's server.tomcat.max-connections, which is left as it is."""

_PROPERTIES: Final = {
    "threads": "server.tomcat.threads.max",
    "virtual": "spring.threads.virtual.enabled",
    "accept_count": "server.tomcat.accept-count",
}

BUILD: Final = Build(
    name="spring",
    folder=Path(__file__).parent,
    sources=("pom.xml", "src"),
    tools=(JAVAC, MAVEN),
    command=lambda: [str(MAVEN.find().program), "--batch-mode", "--quiet", "-Dstyle.color=never", "package"],
    output="target/server",
    environment=lambda: {"JAVA_HOME": str(JAVAC.find().program.resolve().parent.parent)},
    takes="half a minute; the first time Maven also downloads Spring Boot, which takes some minutes on a slow network",
)


def _option(knob: Knob, value: Value) -> str:
    return f"--{_PROPERTIES[knob.name]}={spoken(value)}"


def _command(values: Values, host: str, port: int) -> list[str]:
    # A knob at its default is at Spring's own: only the others are said, as in the documents.
    knobs = [_option(knob, values[knob.name]) for knob in SPRING.knobs if values[knob.name] != knob.default]
    java, program = str(JAVA.find().program), str(BUILD.directory / "spring.jar")
    return [java, "-jar", program, f"--server.address={host}", f"--server.port={port}", *knobs]


def _limit(values: Values) -> int | None:
    threads = values["threads"]
    assert isinstance(threads, int)
    return None if values["virtual"] else min(threads, _MAX_CONNECTIONS)


def _limits(values: Values) -> str:
    limit = _limit(values)
    if limit is None:
        return "nothing but the CPU (a virtual thread a request)"
    if limit != values["threads"]:
        return f"{limit} connections accepted at once"
    return f"{limit} thread{'' if limit == 1 else 's'}"


SPRING: Final = Profile(
    name="spring",
    server="Spring Boot on Tomcat",
    knobs=(
        Knob("threads", 200, "threads", Whole(1, 10_000)),
        Knob("virtual", False, "a virtual thread for each request instead", Flag()),
        Knob("accept_count", 100, "length asked for the accept queue", Whole(1, 65_535)),
    ),
    limits=_limits,
    concurrency_limit=_limit,
    command=_command,
    option=_option,
    processes=lambda _: 1,
    # It loads some thousand classes first, and several such servers may start at once.
    ready_timeout_s=120,
    runtime=JAVA,
    build=BUILD,
)
