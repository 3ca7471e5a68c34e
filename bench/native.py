"""The two C programs, compiled when they are needed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.errors import SetupError

_SOURCES: Final = Path(__file__).parent / "reference"
_PROGRAMS: Final = Path(__file__).parent / "bin"
_FLAGS: Final = ("-O2", "-std=gnu11", "-Wall", "-Wextra")


def find_compiler() -> str | None:
    """The path of a C compiler; None where there is none."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def compile_program(name: str) -> Path:
    """The path of the program `name`, compiled if its source is newer.

    Raises:
        SetupError: no C compiler, a system without epoll, or a source that does not compile.
    """
    if sys.platform != "linux":
        raise SetupError("the reference server needs Linux (epoll)")
    compiler = find_compiler()
    if compiler is None:
        raise SetupError("the reference server is in C and no C compiler was found: install gcc or clang")
    source, program = _SOURCES / f"{name}.c", _PROGRAMS / name
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        _PROGRAMS.mkdir(exist_ok=True)
        done = subprocess.run(
            [compiler, *_FLAGS, "-o", str(program), str(source)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SetupError(f"{source.name} did not compile: {done.stderr.strip().partition(chr(10))[0]}")
    return program
