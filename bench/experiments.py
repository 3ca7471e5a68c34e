"""`python -m bench.experiments [NAME ...]`: docs/experiments.md, each scenario with the output of a real run.

A scenario's section stands between `<!-- scenario: NAME -->` and `<!-- /scenario -->` and is never edited by hand; with
names, only theirs are made anew. A section says itself when and on what it was measured.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill
from typing import Final

from bench.machine import describe_machine
from rig.scenario.outcome import spoken_published
from scenarios.load import load, names
from scenarios.scenario import Scenario
from servers.errors import RuntimeMissing
from servers.runtimes import JAVA, NODE, Runtime

PAGE: Final = Path(__file__).parents[1] / "docs" / "experiments.md"

_HEAD: Final = """\
# The documents' experiments

Written by `make experiments`; not to be edited by hand. Each section is a scenario (`rig run NAME`): its question, what
was published, and what it printed here, of each block the first two runs. Absolute times move from machine to machine;
counts, ratios and shapes do not. What makes a prediction hold is in [scenarios.md](scenarios.md).
"""

_SECTION: Final = re.compile(r"<!-- scenario: ([\w-]+) -->\n(.*?)<!-- /scenario -->\n", re.DOTALL)
_RUN: Final = re.compile(r"-- N=\d+ run (\d+)")
_SHOWN_RUNS: Final = 2
_WIDTH: Final = 120
_TIMEOUT_S: Final = 1800
_SERVERS: Final = ("waitress", "gunicorn", "gevent", "uvicorn", "starlette", "granian", "aiohttp")


def shortened(lines: Sequence[str]) -> Iterator[str]:
    """An output with the first runs of each block; `...` for the others."""
    left_out = False
    for line in lines:
        run = _RUN.fullmatch(line)
        if run is not None:
            if int(run[1]) > _SHOWN_RUNS and not left_out:
                yield "..."
            left_out = int(run[1]) > _SHOWN_RUNS
        elif not line or line.startswith("why: in "):
            left_out = False
        if not left_out:
            yield line


def section(scenario: Scenario, output: Sequence[str], notes: Sequence[str], measured_on: str) -> str:
    """A scenario's section: `output` is what the command printed, `notes` what it said of entries left out."""
    # The output begins with title and question, which the section has itself.
    begins = output.index("") + 1
    code = "\n".join(line.rstrip() for line in shortened(output[begins:]))
    parts = [
        f"## {scenario.title} ({scenario.source})\n",
        f"{fill(scenario.question, _WIDTH)}\n",
        "".join(f"- {line}\n" for line in _published(scenario)),
        f"{fill(measured_on, _WIDTH)}\n",
        f"```\n$ rig run {scenario.name}\n{code.strip()}\n```\n",
        "".join(f"- {note.removeprefix('rig: ')}\n" for note in notes),
        f"**{output[-1]}.**\n",
    ]
    return "\n".join(part for part in parts if part)


def page(old: str, sections: Mapping[str, str]) -> str:
    """The page with these sections; the others as they were, those of scenarios that are no more left out."""
    kept = {match[1]: match[2] for match in _SECTION.finditer(old)} | dict(sections)
    marked = (f"<!-- scenario: {name} -->\n{kept[name]}<!-- /scenario -->\n" for name in names() if name in kept)
    return "\n".join((_HEAD, *marked))


def _published(scenario: Scenario) -> Iterator[str]:
    entries = dict.fromkeys((step.title, entry) for step in scenario.steps for entry in step.entries)
    said: set[str] = set()
    for title, entry in entries:
        figures, note = spoken_published(entry.published), entry.published.note
        told = ", ".join(part for part in (figures if figures not in ("-", "see below") else "", note) if part)
        line = f"published of `{entry.spec}`: {told}"
        if told and line not in said:
            said.add(line)
            yield line if len(scenario.steps) == 1 else f"{title}: {line}"


def _measured_on() -> str:
    facts = dict(describe_machine(()))
    wanted = ("processor", "memory", "system", "Python", "load average before", "commit")
    servers = ", ".join(f"{name} {_version(name)}" for name in _SERVERS)
    runtimes = ", ".join(f"{runtime.name} {_found(runtime)}" for runtime in (NODE, JAVA))
    machine = "; ".join(f"{label} {facts[label]}" for label in wanted)
    return f"Measured {datetime.now(UTC):%Y-%m-%d %H:%M UTC}: {machine}; {servers}; {runtimes}."


def _version(library: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(library)
    except PackageNotFoundError:
        return "(missing)"


def _found(runtime: Runtime) -> str:
    try:
        return runtime.find().version
    except RuntimeMissing:
        return "(missing)"


def main(arguments: list[str]) -> int:
    """Makes all sections, or those named; the exit code is 1 where one could not be made."""
    unknown = [name for name in arguments if name not in names()]
    if unknown:
        print(f"no scenario {unknown[0]!r}; scenarios: {', '.join(names())}", file=sys.stderr)
        return 2
    failed = 0
    for name in arguments or names():
        measured_on = _measured_on()
        command = [sys.executable, "-P", "-m", "rig", "run", name, "--no-save"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        if done.returncode:
            failed += 1
            print(f"{name}: left as it was (exit {done.returncode}): {done.stderr.strip()}", file=sys.stderr)
            continue
        made = section(load(name), done.stdout.splitlines(), done.stderr.splitlines(), measured_on)
        # At once: an interruption later on loses nothing that took minutes.
        PAGE.write_text(page(PAGE.read_text() if PAGE.exists() else "", {name: made}))
        print(f"{name}: made", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
