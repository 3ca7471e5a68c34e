"""`python -m tests.truth.pictures`: docs/findings.md with its pictures, sentences and outputs made anew from real runs.

In the page a block stands between markers, and is never edited by hand:

    <!-- picture: serial -->   a scene's picture and its `why:` sentence
    <!-- why: serial -->       the sentence alone
    <!-- output: limit -->     what a command printed

each until `<!-- /picture -->`, `<!-- /why -->`, `<!-- /output -->`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from loadgen.explain import Evidence, Finding, ServerView, explain
from loadgen.lone import send_alone
from loadgen.plan import Plan, Target, Workload
from loadgen.runner import Session
from servers.catalog import parse_spec
from servers.process import start
from tests.support import BIN
from tests.truth.drawing import drawing
from tests.truth.judge import told_limit
from tests.truth.model import Setup, simulate
from tests.truth.observe import observed

PAGE: Final = Path(__file__).parents[2] / "docs" / "findings.md"

_BLOCK: Final = re.compile(r"<!-- (picture|why|output): ([\w-]+) -->\n(.*?)<!-- /\1 -->", re.DOTALL)
_TRIES: Final = 5
_AFAR: Final = ServerView()

Key = tuple[str, str]
"""A block's kind and name."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A server, what is fired at it, and the causes that a run must have to be the picture."""

    spec: str
    path: str
    requests: int
    causes: frozenset[str]
    users: int | None = None
    timeout_s: float = 20.0
    preconnect: bool = False
    lone: bool = False
    """Whether a request is sent alone before."""
    limit: int | None = None
    """Must be told, to a tenth."""
    afar: bool = False
    """Whether it is said too what the same run looks like from another machine."""

    @property
    def title(self) -> str:
        """Server and workload in a few words."""
        fired = f"{self.requests} requests at once" if self.users is None else f"{self.requests} requests of"
        users = "" if self.users is None else f" {self.users} users"
        more = f", given up after {self.timeout_s:g} s" if self.timeout_s < 20 else ""
        return f"{self.spec}  {self.path}  {fired}{users}{more}"

    def evidence(self) -> Evidence:
        """Of a real run.

        Raises:
            LookupError: the causes did not show.
        """
        with start(parse_spec(self.spec)) as server:
            plan = Plan(
                target=Target.parse(server.url + self.path),
                workload=Workload(
                    requests=self.requests,
                    concurrency=self.users or self.requests,
                    timeout_s=self.timeout_s,
                    preconnect=self.preconnect,
                ),
            )
            lone = send_alone(plan) if self.lone else None
            shown = ""
            with Session(plan) as session:
                for number in range(1, _TRIES + 1):
                    run = session.run(number)
                    run = run if lone is None else run.explained_beside(lone.response_ns, lone.cpu_s)
                    if self._is_shown(run.findings):
                        return run.evidence
                    shown = " ".join(finding.sentence for finding in run.findings)
        raise LookupError(f"{_TRIES} runs did not show it; the last: {shown}")

    def _is_shown(self, findings: tuple[Finding, ...]) -> bool:
        limit = told_limit(findings)
        near = self.limit is None or (limit is not None and abs(limit - self.limit) <= 0.1 * self.limit)
        return near and {finding.cause for finding in findings} == self.causes


def _causes(*names: str) -> frozenset[str]:
    return frozenset(names)


SCENES: Final[Mapping[str, Scene]] = {
    "client": Scene("calibrated:service_ms=20", "/sleep", 1000, _causes("client", "overlapped")),
    "timeout": Scene(
        "calibrated:limit=20,service_ms=300", "/sleep", 100, _causes("timeout", "concurrency-limit"), timeout_s=1.05
    ),
    "shed": Scene("calibrated:limit=50,shed=true,service_ms=300", "/sleep", 200, _causes("shed")),
    "accept-queue": Scene(
        "greenlets:backlog=50", "/sleep?ms=500", 400, _causes("accept-queue", "overlapped"), afar=True
    ),
    "stall": Scene(
        "calibrated:service_ms=150,jitter_ms=60,stall=1000/300", "/sleep", 80, _causes("stall", "overlapped"), users=10
    ),
    "serial": Scene("async", "/block?ms=50", 20, _causes("serial"), afar=True),
    "concurrency-limit": Scene(
        "threads:threads=50", "/sleep?ms=300", 200, _causes("concurrency-limit"), limit=50, afar=True
    ),
    "closed": Scene("threads:threads=10", "/sleep?ms=100", 150, _causes("concurrency-limit"), users=30),
    "blurred": Scene(
        "calibrated:limit=40,service_ms=300,jitter_ms=150",
        "/sleep",
        300,
        _causes("concurrency-limit"),
        preconnect=True,
        limit=40,
    ),
    "connection-limit": Scene(
        "threads:threads=50,connections=20", "/sleep?ms=300", 100, _causes("connection-limit"), limit=20, afar=True
    ),
    "starved": Scene("calibrated:connections=50,service_ms=50", "/sleep", 800, _causes("connection-limit"), users=80),
    "cpu-shared": Scene("threads:threads=20", "/cpu?steps=400000", 10, _causes("cpu-shared"), lone=True, afar=True),
    "clock": Scene("threads:threads=20", "/block?ms=600", 10, _causes("cpu-shared"), lone=True),
    "overlapped": Scene("async", "/sleep?ms=300", 100, _causes("overlapped"), afar=True),
    "composed": Scene(
        "threads:threads=50,backlog=30",
        "/sleep?ms=700",
        200,
        _causes("accept-queue", "concurrency-limit"),
        limit=50,
        afar=True,
    ),
}


def _simulated_tail() -> Evidence:
    """20 requests at once, one of which takes ten times as long as the others: no real server of ours does so."""
    service_s = np.full(20, 0.3)
    service_s[13] = 3.1
    setup = Setup(20, 20, service_s, noise_s=2e-4)
    return observed(simulate(setup, np.random.default_rng(20)), "local")


@cache
def _scene(name: str) -> tuple[str, Evidence, bool]:
    """Title, evidence, and whether it is told from afar too."""
    if name == "unexplained":
        return "simulated  20 requests at once", _simulated_tail(), False
    scene = SCENES[name]
    return scene.title, scene.evidence(), scene.afar


def _picture(name: str) -> str:
    title, evidence, _ = _scene(name)
    return _code([title, "", *drawing(evidence)]) + "\n" + _why(name)


def _why(name: str) -> str:
    _, evidence, afar = _scene(name)
    here = explain(evidence)
    said = [f"why: {finding.sentence}" for finding in here]
    blind = replace(evidence, samples=replace(evidence.samples, resent=np.full_like(evidence.samples.resent, -1)))
    if afar:
        said += _changed("from another machine", explain(replace(evidence, server=_AFAR)), here)
    if afar and (evidence.samples.resent > 0).any():
        said += _changed("without TCP_INFO too", explain(replace(blind, server=_AFAR)), here)
    return "".join(f"> {line}\n{'>' if number < len(said) else ''}\n" for number, line in enumerate(said, 1))


def _changed(where: str, findings: tuple[Finding, ...], here: tuple[Finding, ...]) -> Iterator[str]:
    known = {finding.sentence for finding in here}
    return (f"*{where}:* {finding.sentence}" for finding in findings if finding.sentence not in known)


def _limit() -> str:
    with start(parse_spec("calibrated:limit=20,service_ms=100")) as server:
        return _code(
            ["$ loadgen limit http://127.0.0.1:8080/sleep", *_printed("loadgen", "limit", f"{server.url}/sleep")]
        )


def _compare() -> str:
    arguments = ["compare", "threads", "threads:threads=400", "--n", "400", "--runs", "3"]
    return _code([f"$ rig {' '.join(arguments)}", *_first_runs_only(_printed("rig", *arguments, "--no-save"))])


def _runs() -> str:
    with start(parse_spec("greenlets:backlog=100")) as server:
        fired = ["--n", "200", "--runs", "4"]
        printed = _printed("loadgen", f"{server.url}/sleep?ms=500", *fired)
    shown = f"$ loadgen http://127.0.0.1:8080/sleep?ms=500 {' '.join(fired)}"
    return _code([shown, *printed])


def _printed(command: str, *arguments: str) -> list[str]:
    done = subprocess.run([str(BIN / command), *arguments], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


def _first_runs_only(lines: list[str]) -> Iterator[str]:
    """Of each profile the first run; `...` for the others."""
    left_out = False
    for line in lines:
        if re.fullmatch(r"-- N=\d+ run \d+", line):
            if not left_out and not line.endswith(" 1"):
                yield "..."
            left_out = not line.endswith(" 1")
        elif not line or line.startswith("why: in "):
            left_out = False
        if not left_out:
            yield line


def _code(lines: list[str]) -> str:
    text = "\n".join(line.rstrip() for line in lines)
    return f"```\n{text}\n```\n"


OUTPUTS: Final[Mapping[str, Callable[[], str]]] = {"limit": _limit, "compare": _compare, "runs": _runs}


def keys_of(page: str) -> list[Key]:
    """The blocks of a page, in order.

    Raises:
        ValueError: a marker has no end, or no beginning.
    """
    found = [(match[1], match[2]) for match in _BLOCK.finditer(page)]
    markers = len(re.findall(r"<!-- /?(?:picture|why|output)\b", page))
    if markers != 2 * len(found):
        raise ValueError(f"{markers} markers make {len(found)} blocks; each needs a beginning and an end")
    return found


def filled(page: str, blocks: Mapping[Key, str]) -> str:
    """The page with these blocks' contents; others stay as they are."""

    def content(match: re.Match[str]) -> str:
        kind, name, old = match.groups()
        return f"<!-- {kind}: {name} -->\n{blocks.get((kind, name), old)}<!-- /{kind} -->"

    return _BLOCK.sub(content, page)


def made(key: Key) -> str:
    """A block's content, from real runs.

    Raises:
        LookupError: the runs did not show what the block is to show, or there is no such block.
    """
    kind, name = key
    if kind == "output":
        return OUTPUTS[name]()
    return _picture(name) if kind == "picture" else _why(name)


def main(arguments: list[str]) -> int:
    """Makes all blocks, or those with the names given; the exit code is 1 where one could not be made."""
    page, blocks, failed = PAGE.read_text(), {}, 0
    for key in keys_of(page):
        if arguments and key[1] not in arguments:
            continue
        try:
            blocks[key] = made(key)
            sys.stderr.write(f"{key[0]} {key[1]}: made\n")
        except LookupError as error:
            failed += 1
            sys.stderr.write(f"{key[0]} {key[1]}: left as it was: {error}\n")
    PAGE.write_text(filled(page, blocks))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
