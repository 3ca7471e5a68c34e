"""A run folder as it is written: what was measured is kept as each run ends, so that a crash loses no more than one.

    result.json            replaced as a whole after each run; `complete` is true once all is done
    samples.csv.gz         rows of every request, a gzip member a run
    samples.evidence.json  what was seen beside them
    resources.csv          what server and generator took meanwhile, where that was looked at
    server-<n>-<profile>.log

Trouble with the disk ends nothing: it is kept in `trouble`, the folder stays as it was, and is not complete.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from loadgen.errors import UsageError
from loadgen.evidence_file import Key, evidence_data
from loadgen.explain import Evidence
from loadgen.redaction import Redaction
from loadgen.resources.seen import HEADER as RESOURCES_HEADER
from loadgen.resources.seen import rows as resource_rows
from loadgen.run import Run, TakeRows
from loadgen.samples import Samples
from loadgen.spool import Spool
from loadgen.store import CSV_HEADER, csv_rows, gzip_member

SCHEMA: Final = "rig-run/1"
RUNS_DIR: Final = Path("runs")

RESULT: Final = "result.json"
SAMPLES: Final = "samples.csv.gz"
EVIDENCE: Final = "samples.evidence.json"
RESOURCES: Final = "resources.csv"

_TIME: Final = "%Y%m%dT%H%M%SZ"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MOST_OF_A_NAME: Final = 40


def check_name(name: str | None) -> None:
    """Refuses what is no good as part of a folder's name.

    Raises:
        UsageError: it is not.
    """
    if name is not None and not _NAME.fullmatch(name):
        raise UsageError(
            f"--name {name!r} is not accepted: it takes up to 64 letters, digits and . _ -, and begins with one of the"
            " first two"
        )


def made_name(words: Iterable[str]) -> str:
    """A name made of words, each once, of what may stand in one."""
    text = "-".join(dict.fromkeys(re.sub(r"[^A-Za-z0-9]+", "-", word).strip("-") for word in words))
    return text[:_MOST_OF_A_NAME].strip("-") or "run"


@dataclass(frozen=True, slots=True)
class Head:
    """What a folder says of itself.

    Attributes:
        kind: `compare`, `run` or `loadgen`: what its result.json holds beside this.
        command: the command line.
        environment: as of `loadgen.environment`.
    """

    name: str
    kind: str
    command: list[str]
    environment: dict[str, object]


class RunFolder:
    """A folder that is being filled. A context manager that leaves no folder where nothing was measured.

    Attributes:
        path: where it is.
        trouble: what went wrong with writing; nothing is written after that.
    """

    def __init__(self, parent: Path, head: Head, redaction: Redaction, extra: Sequence[str] = ()) -> None:
        """Makes the folder and all above it, for rows with these `extra_columns`.

        Raises:
            OSError: it cannot be made or written to.
        """
        now = datetime.now(UTC)
        self.trouble: OSError | None = None
        self._redaction = redaction
        self._extra = extra
        self._spools: dict[str, Spool] = {}
        self._head = {
            "schema": SCHEMA,
            "loadrig": head.environment["loadrig"],
            "name": head.name,
            "kind": head.kind,
            "command": redaction.command(head.command),
            "time": now.isoformat(timespec="seconds"),
            "complete": False,
            "environment": head.environment,
        }
        self._body: dict[str, object] = {}
        self.path = _made(parent, f"{now.strftime(_TIME)}-{head.name}")
        try:
            self._replace(RESULT, self._head)
            self._append([("profile", *CSV_HEADER, *extra)])
        except OSError:
            self._discard()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._body and self.trouble is None:  # nothing came of it
            self._discard()

    @property
    def holds_runs(self) -> bool:
        """Whether anything was said of a run in it."""
        return bool(self._body)

    def log_path(self, number: int, profile: str) -> Path:
        """Where a server's log goes."""
        return self.path / f"server-{number}-{made_name([self._redaction.text(profile)])}.log"

    def taker(self, profile: str = "") -> TakeRows:
        """What takes the rows of a run that is too long for them to be kept, while it lasts."""
        return partial(self._take, self._redaction.text(profile))

    def add(self, run: Run, profile: str = "") -> None:
        """Writes the rows of a run that has ended, or waits until they are written."""
        profile = self._redaction.text(profile)
        with self._noted():
            spool = self._spools.pop(profile, None)
            if spool is not None:
                spool.close()
            if run.tally is None and self.trouble is None:
                rows = csv_rows(run.number, run.samples, extra=self._extra)
                self._append((profile, *row) for row in rows)
            if run.resources is not None and self.trouble is None:
                self._append_resources(resource_rows(profile, run))

    def keep(self, body: dict[str, object], evidence: Iterable[tuple[Key, Evidence]]) -> None:
        """Replaces what was said of the runs so far; their rows must have been added before."""
        if self.trouble is not None:
            return
        redacted = [((self._redaction.text(profile), run), seen) for (profile, run), seen in evidence]
        self._body = self._redaction.data(body)
        with self._noted():
            self._replace(EVIDENCE, evidence_data(redacted))
            self._replace(RESULT, self._head | self._body)

    def finish(self, *, complete: bool) -> None:
        """Says that all was done, if it was."""
        for spool in self._spools.values():
            with self._noted():
                spool.close()
        if complete and self.trouble is None:
            with self._noted():
                self._replace(RESULT, self._head | {"complete": True} | self._body)

    def note(self, *, quiet: bool = False) -> str | None:
        """A line for the user: where it is, and what it lacks; None where there is nothing to say."""
        if self.trouble is not None:
            reason = self.trouble.strerror or self.trouble
            return f"not all could be kept in {self.path}: {reason}; what was written until then can be read"
        return f"kept in {self.path}" if self._body and not quiet else None

    def _discard(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _take(self, profile: str, run: int, samples: Samples) -> None:
        if self.trouble is not None:
            return
        with self._noted():
            if profile not in self._spools:
                with (self.path / SAMPLES).open("ab") as file:
                    self._spools[profile] = Spool(file, "run-folder", self._extra, profile)
            self._spools[profile].write(run, samples)

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        """Keeps the first trouble."""
        try:
            yield
        except OSError as error:
            self.trouble = self.trouble or error

    def _append(self, rows: Iterable[Sequence[object]]) -> None:
        """Adds rows to the file of samples, and sees that they are on the disk: all of them, or none."""
        member = io.BytesIO()
        with gzip_member(member) as text:
            csv.writer(text, lineterminator="\n").writerows(rows)
        self._append_bytes(SAMPLES, member.getvalue())

    def _append_resources(self, rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not (self.path / RESOURCES).exists():
            writer.writerow(RESOURCES_HEADER)
        writer.writerows(rows)
        self._append_bytes(RESOURCES, text.getvalue().encode())

    def _append_bytes(self, name: str, data: bytes) -> None:
        with (self.path / name).open("ab", buffering=0) as file:
            size = file.tell()
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except BaseException:  # a Ctrl-C too
                os.truncate(file.fileno(), size)
                raise

    def _replace(self, name: str, data: object) -> None:
        """Writes a file as a whole: until all of it is on the disk the old one stands."""
        new = self.path / f"{name}.new"
        try:
            with new.open("w", encoding="utf-8") as file:
                json.dump(data, file)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path / name)
        except OSError:
            new.unlink(missing_ok=True)
            raise


def _made(parent: Path, name: str) -> Path:
    """A new folder; with a number behind its name where that is taken."""
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path
