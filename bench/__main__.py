"""The command: measures, prints what was asked for beside what was measured, writes docs/performance.md."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from bench.accuracy import measure_accuracy
from bench.burst import measure_bursts
from bench.clients import PATH_VARIABLE, PEERS, find_peers
from bench.compare import measure_compare
from bench.document import render, render_table, summary
from bench.errors import BenchError
from bench.figure import Section
from bench.kept import measure_kept
from bench.machine import describe_machine
from bench.memory import measure_memory
from bench.native import compile_program
from bench.pace import measure_pace
from bench.rounds import say
from bench.settings import Settings
from bench.standstill import measure_standstill
from bench.start import measure_start
from bench.sustained import measure_sustained

DOCUMENT: Final = Path(__file__).parent.parent / "docs" / "performance.md"

_SECTIONS: Final[dict[str, Callable[[Settings], Section]]] = {
    "memory": measure_memory,  # first: a child's peak is hidden where the bench itself has grown beyond it
    "burst": measure_bursts,
    "sustained": measure_sustained,
    "pace": measure_pace,
    "accuracy": measure_accuracy,
    "standstill": measure_standstill,
    "start": measure_start,
    "compare": measure_compare,
    "kept": measure_kept,
}

_EPILOG = f"""\
Peers are looked for in the folders that {PATH_VARIABLE} names, then on PATH.
Exit codes: 0 all bounds met; 1 a bound missed; 2 usage, or no C compiler; 3 nothing could be measured;
130 interrupted. With --quick bounds are not held.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the bench and returns the exit code."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _measure(options)
    except BenchError as error:
        say(f"bench: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say("bench: interrupted; nothing was written")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures loadgen beside other clients and writes docs/performance.md.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=_positive, metavar="N", help="rounds of each figure (default 5)")
    parser.add_argument("--quick", action="store_true", help="one round of little, to try the bench; writes nothing")
    parser.add_argument("--only", choices=_SECTIONS, help="one section; writes nothing")
    parser.add_argument(
        "--peers", type=_peers, metavar="NAMES",
        help="of the peers that are installed only these, with commas between, or none (default: all)",
    )  # fmt: skip
    parser.add_argument("--no-write", action="store_true", help="print only")
    return parser


def _positive(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not accepted: 1 or more")
    return value


def _peers(text: str) -> list[str]:
    names = [] if text == "none" else text.split(",")
    known = [peer.name for peer in PEERS]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"{name!r} is not known: none, or of {', '.join(known)}")
    return names


def _measure(options: argparse.Namespace) -> int:
    settings = Settings(
        rounds=options.rounds or (1 if options.quick else 5),
        quick=options.quick,
        peers=tuple(find_peers(options.peers)),
        server=compile_program("server"),
        floor=compile_program("floor"),
    )
    machine = describe_machine(settings.peers)
    chosen = [options.only] if options.only else list(_SECTIONS)
    sections = [_SECTIONS[name](settings) for name in chosen]
    for section in sections:
        for table in section.tables:
            print(f"{section.title}\n\n{render_table(table)}")
    print(summary(sections), end="")
    if not (options.quick or options.only or options.no_write):
        DOCUMENT.parent.mkdir(exist_ok=True)
        DOCUMENT.write_text(render(machine, sections))
        say(f"written: docs/{DOCUMENT.name}")
    missed = [figure.name for section in sections for figure in section.figures if figure.met is False]
    for name in missed:
        say(f"missed: {name}")
    return 1 if missed and not options.quick else 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
