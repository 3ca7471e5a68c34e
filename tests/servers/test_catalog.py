from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from servers.catalog import PROFILES, parse_spec
from servers.errors import UsageError
from servers.runtimes import Found, Runtime
from servers.table import described


def test_defaults_are_those_of_the_design() -> None:
    assert {name: described(profile) for name, profile in PROFILES.items()} == {
        "threads": "threads=200, backlog=1024, connections=8192",
        "gthread": "threads=200, workers=1, backlog=2048",
        "greenlets": "backlog=1024",
        "processes": "workers=2, backlog=2048",
        "async": "workers=1, backlog=2048, limit_concurrency=none",
        "async-threadpool": "tokens=40, backlog=2048",
        "node": "backlog=511",
        "spring": "threads=200, virtual=false, accept_count=100",
        "granian": "workers=1, backlog=1024, backpressure=none",
        "aiohttp": "backlog=128",
        "calibrated": "limit=0, service_ms=1000, jitter_ms=0, backlog=4096, connections=0, shed=false, stall=none",
    }


@pytest.mark.parametrize(
    ("spec", "args", "limits", "limit"),
    [
        ("threads", "", "200 threads", 200),
        ("threads:threads=400,backlog=10", "--threads=400 --backlog=10", "400 threads", 400),
        ("threads:backlog=10,threads=200", "--backlog=10 --threads=200", "200 threads", 200),
        ("threads:connections=100", "--connections=100", "100 connections accepted at once", 100),
        ("gthread:threads=1", "--threads=1", "1 thread", 1),
        ("gthread:threads=10,workers=2", "--threads=10 --workers=2", "2 processes of 10 threads", 20),
        ("greenlets", "", "nothing but the CPU (a greenlet a request, one thread)", None),
        ("processes", "", "2 processes, one request each", 2),
        ("async", "", "nothing but the CPU (one event loop)", None),
        ("async:limit_concurrency=none", "--limit-concurrency=none", "nothing but the CPU (one event loop)", None),
        ("async:limit_concurrency=50", "--limit-concurrency=50", "503 from 50 open connections on", 49),
        ("async-threadpool", "", "40 threads (AnyIO's default limiter)", 40),
        ("node:backlog=10", "--backlog=10", "nothing but the CPU (one event loop)", None),
        ("spring", "", "200 threads", 200),
        ("spring:threads=1", "--server.tomcat.threads.max=1", "1 thread", 1),
        ("spring:threads=400", "--server.tomcat.threads.max=400", "400 threads", 400),
        ("spring:threads=9000", "--server.tomcat.threads.max=9000", "8192 connections accepted at once", 8192),
        ("spring:accept_count=1000", "--server.tomcat.accept-count=1000", "200 threads", 200),
        (
            "spring:virtual=true",
            "--spring.threads.virtual.enabled=true",
            "nothing but the CPU (a virtual thread a request)",
            None,
        ),
        (
            "spring:accept_count=1000,virtual=1",
            "--server.tomcat.accept-count=1000 --spring.threads.virtual.enabled=true",
            "nothing but the CPU (a virtual thread a request)",
            None,
        ),
        ("granian", "", "1024 connections accepted at once", 1024),
        ("granian:backpressure=1", "--backpressure=1", "1 connection accepted at once", 1),
        ("granian:workers=2,backlog=200", "--workers=2 --backlog=200", "2 processes of 100 connections each", 200),
        ("aiohttp", "", "nothing but the CPU (one event loop)", None),
        ("calibrated", "", "nothing", None),
        ("calibrated:limit=7,shed=1", "--limit=7 --shed=true", "7 at once, 503 beyond", 7),
        (
            "calibrated:limit=7,connections=5",
            "--limit=7 --connections=5",
            "7 at once; 5 connections accepted at once",
            5,
        ),
        ("calibrated:stall=1000/200", "--stall=1000/200", "a stall every 1000 ms of 200 ms", None),
    ],
)
def test_spec(spec: str, args: str, limits: str, limit: int | None) -> None:
    instance = parse_spec(spec)
    assert (instance.spec, instance.args) == (spec, args)
    assert (instance.limits, instance.concurrency_limit) == (limits, limit)
    assert set(instance.values) == {knob.name for knob in instance.profile.knobs}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("thread", "no profile 'thread', did you mean threads?; profiles: threads, gthread,"),
        ("", "no profile ''; profiles: threads,"),
        ("zebra:threads=1", "no profile 'zebra'; profiles:"),
        (
            "threads:thread=1",
            "profile threads has no knob 'thread', did you mean threads?; its knobs: threads, backlog",
        ),
        ("threads:tokens=1", "its knobs: threads, backlog, connections"),
        ("threads:", "is no profile spec: a spec is name, or name:knob=value,knob=value"),
        ("threads:threads", "is no profile spec"),
        ("threads:threads=1,", "is no profile spec"),
        ("threads:=1", "is no profile spec"),
        ("threads:threads=1,threads=2", "gives threads twice"),
        ("threads:threads=0", "threads of profile threads is a whole number from 1 to 10000, not '0'"),
        ("threads:threads=10001", "a whole number from 1 to 10000"),
        ("threads:threads=1_0", "a whole number from 1 to 10000"),
        ("threads:threads=", "not ''"),
        ("threads:threads=none", "not 'none'"),
        ("async:limit_concurrency=1", "a whole number from 2 to 1000000, or none"),
        ("calibrated:shed=maybe", "shed of profile calibrated is true or false"),
        ("calibrated:stall=200/1000", "every P ms stand still for Q ms"),
        ("calibrated:stall=200", "every P ms stand still for Q ms"),
        ("threads:threads=1\n2", "not '1\\\\n2'"),
    ],
)
def test_wrong_spec_gets_one_line_saying_what_is_accepted(spec: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_spec(spec)
    assert says.replace("\\\\", "\\") in str(error.value)
    assert "\n" not in str(error.value)


def test_calibrated_command() -> None:
    words = parse_spec("calibrated:limit=5,shed=1,stall=1000/200").command("127.0.0.1", 8080)
    assert " ".join(words[2:]) == (
        "-m servers.calibrated --host 127.0.0.1 --port 8080 --limit 5 --service-ms 1000 --jitter-ms 0 --backlog 4096"
        " --connections 0 --shed --stall 1000/200"
    )
    assert {"--shed", "--stall"}.isdisjoint(parse_spec("calibrated").command("127.0.0.1", 8080))


def test_spring_is_told_only_what_differs_from_its_own_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runtime, "find", lambda _: Found(Path("java"), "25.0.1"))
    place = ["--server.address=127.0.0.1", "--server.port=8080"]
    for spec, knobs in {
        "spring": [],
        "spring:threads=200": [],
        "spring:accept_count=7,virtual=1": ["--spring.threads.virtual.enabled=true", "--server.tomcat.accept-count=7"],
    }.items():
        java, jar, program, *arguments = parse_spec(spec).command("127.0.0.1", 8080)
        assert (java, jar, Path(program).name) == ("java", "-jar", "spring.jar")
        assert arguments == place + knobs


def test_values_cannot_be_changed() -> None:
    instance = parse_spec("threads")
    with pytest.raises(TypeError):
        instance.values["threads"] = 1  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        instance.spec = "async"  # type: ignore[misc]
