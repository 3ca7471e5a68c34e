"""`--save`: the runs of a session into a run folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadgen.environment import full_environment
from loadgen.errors import FolderError
from loadgen.explain import Evidence, Finding
from loadgen.explain.runs import limited_by
from loadgen.plan import Plan
from loadgen.redaction import Redaction
from loadgen.render.document import plan_data, run_data
from loadgen.run import Run
from loadgen.run_folder import RUNS_DIR, Head, RunFolder, check_name, made_name
from loadgen.samples import Samples


@dataclass(frozen=True, slots=True)
class SaveOptions:
    """The options that say where runs are kept, as given."""

    runs_dir: Path | None = None
    name: str | None = None

    def open(
        self,
        program: str,
        kind: str,
        words: Sequence[str],
        *,
        redact: tuple[str, ...] = (),
        extra: Sequence[str] = (),
        runtimes: dict[str, str] | None = None,
    ) -> RunFolder:
        """A new folder for rows with these `extra_columns`; `words` name it where no name was given.

        Raises:
            UsageError: the name is not accepted.
            FolderError: the folder cannot be made.
        """
        check_name(self.name)
        parent = RUNS_DIR if self.runs_dir is None else self.runs_dir
        environment = full_environment() | {"runtimes": runtimes or {}}
        redaction = Redaction(redact)
        name = self.name or made_name([redaction.text(word) for word in words])
        head = Head(name, kind, [program, *sys.argv[1:]], environment)
        try:
            return RunFolder(parent, head, redaction, extra)
        except OSError as error:
            raise FolderError(f"--runs-dir {parent}: {error.strerror}; name a folder that can be written to") from None


class FolderSink:
    """A run folder as one of the places where results go."""

    def __init__(self, plan: Plan, folder: RunFolder) -> None:
        self._plan, self._folder = plan, folder
        self._runs: list[dict[str, Any]] = []
        self._findings: list[tuple[Finding, ...]] = []
        self._evidence: list[tuple[tuple[str, int], Evidence]] = []
        self._interrupted = False

    def take(self, run: int, samples: Samples) -> None:
        """Takes rows of a run that lasts."""
        self._folder.taker()(run, samples)

    def add(self, run: Run) -> None:
        """Keeps the run."""
        self._interrupted = run.interrupted
        self._runs.append(run_data(run, self._plan))
        if not run.interrupted:
            self._findings.append(run.findings)
        self._evidence.append((("", run.number), run.evidence))
        self._folder.add(run)
        self._folder.keep(self._body(), self._evidence)

    def finish(self) -> None:
        """Says that all was done, where that is so."""
        self._folder.finish(complete=len(self._runs) == self._plan.runs and not self._interrupted)

    def _body(self) -> dict[str, Any]:
        profile = {
            "profile": "",
            "server": "",
            "args": "",
            "limits": "",
            "limited_by": limited_by(self._findings),
            "concurrency_limit": None,
            "limit_known": False,
            "plan": plan_data(self._plan),
            "runs": self._runs,
        }
        return {"profiles": [profile], "comparisons": []}
