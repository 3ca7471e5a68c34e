"""What was seen beside the samples, kept beside their file, so that a saved run is explained as it was when it was new.

`runs.csv` has `runs.evidence.json`. Without it the samples alone are explained, and the rest is not seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from loadgen.errors import DataError
from loadgen.explain import Evidence, KernelRules, ServerView
from loadgen.samples import MISSING, Samples
from loadgen.summary import most_at_once
from loadgen.watch import ClientUse

SCHEMA: Final = "loadgen-evidence/1"

Key = tuple[str, int]
"""A profile (empty: none) and a run."""


def evidence_path(samples: Path) -> Path:
    """The file beside a file of samples."""
    return samples.with_suffix(".evidence.json")


def evidence_data(runs: Iterable[tuple[Key, Evidence]]) -> dict[str, Any]:
    """All runs' evidence but the samples, as plain data."""
    return {
        "schema": SCHEMA,
        "runs": [{"profile": profile, "run": run, **_data(evidence)} for (profile, run), evidence in runs],
    }


def read_evidence(path: Path, samples: Mapping[Key, Samples]) -> dict[Key, Evidence]:
    """The evidence of saved runs; of the samples alone for those that the file does not have, or where there is none.

    Raises:
        DataError: there is such a file, and it cannot be read.
    """
    saved: dict[Key, dict[str, Any]] = {}
    if path.exists():
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["schema"] != SCHEMA:
                raise ValueError(f"its schema is {data['schema']!r}, not {SCHEMA!r}")
            saved = {(run["profile"], run["run"]): run for run in data["runs"]}
            return {key: _evidence(rows, saved.get(key)) for key, rows in samples.items()}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(f"{path}: not a file of evidence: {error}") from None
    return {key: _evidence(rows, None) for key, rows in samples.items()}


def _data(evidence: Evidence) -> dict[str, Any]:
    plain = ("concurrency", "over_ms", "cpus", "is_open")
    nested = ("use", "kernel", "server")
    return {name: getattr(evidence, name) for name in plain} | {
        name: asdict(getattr(evidence, name)) for name in nested
    }


def _evidence(samples: Samples, saved: Mapping[str, Any] | None) -> Evidence:
    if saved is None:
        known = (samples.begun != MISSING) & (samples.done != MISSING)
        concurrency = most_at_once(samples.begun[known], samples.done[known]) if np.any(known) else len(samples)
        return Evidence(samples, concurrency=max(concurrency, 1))
    server = dict(saved["server"])
    server["queue"] = tuple((int(at), int(length)) for at, length in server["queue"])
    if server.get("collections") is not None:
        server["collections"] = tuple((int(begin), int(end)) for begin, end in server["collections"])
    return Evidence(
        samples,
        concurrency=int(saved["concurrency"]),
        over_ms=int(saved["over_ms"]),
        use=ClientUse(**_known(ClientUse, saved["use"])),
        kernel=KernelRules(**_known(KernelRules, saved["kernel"])),
        server=ServerView(**_known(ServerView, server)),
        cpus=int(saved["cpus"]),
        is_open=bool(saved.get("is_open", False)),
    )


def _known(kind: type[ClientUse | KernelRules | ServerView], data: Mapping[str, Any]) -> dict[str, Any]:
    """What of the data this version knows: a later one may have seen more."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in data.items() if name in names}
